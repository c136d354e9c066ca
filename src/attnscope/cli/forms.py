"""What several commands share: --json and --csv, --seed, and a number with its noun."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click


def seed_option(help: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return what adds --seed to a command, 0 where it is not given."""
    return click.option(
        "--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, metavar="N", help=help
    )


def counted(number: int, word: str) -> str:
    """Return so many of a thing in words: 1 head, 2 heads."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def form_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --json and --csv to a command, which is handed `form`: "json", "csv", or None for people."""

    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    @click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
    @functools.wraps(command)
    def formed(*, as_json: bool, as_csv: bool, **given: Any) -> Any:
        if as_json and as_csv:
            raise click.UsageError("--json and --csv exclude each other.")
        return command(form="json" if as_json else "csv" if as_csv else None, **given)

    return formed
