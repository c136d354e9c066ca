"""One line on standard error that says what is under way, and nothing where nobody watches."""

from __future__ import annotations

import sys
from collections.abc import Callable

import click

Progress = Callable[[str, int, int], None]
"""Called with the step, how many are done, and of how many."""


def line() -> Progress | None:
    """Return what shows progress on a terminal; None elsewhere, where it would only be noise."""
    if not sys.stderr.isatty():
        return None

    def show(step: str, done: int, total: int) -> None:
        ended = "\r\x1b[K" if done >= total else ""
        click.echo(f"\r\x1b[K{step}{ended}", nl=False, err=True)

    return show
