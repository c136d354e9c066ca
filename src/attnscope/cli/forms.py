"""What a command prints for programs instead of for people: --json or --csv."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click


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
