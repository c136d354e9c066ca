"""`attnscope verify`: whether every byte of a saved recording is as it was written."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from attnscope.cli.forms import counted

if TYPE_CHECKING:
    from attnscope.recording import Verified
    from attnscope.recording.reading import Read


@click.command()
@click.argument("recording", metavar="FOLDER")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(recording: str, *, as_json: bool) -> int:
    """Compare every file of a saved recording with its checksums, reading all of it.

    Each file that is not as it was written is named with its fault. Exit code 0 where all is well, else 1.
    """
    if recording == "":
        raise click.UsageError("FOLDER is empty; the folder of a saved recording is wanted.")
    from attnscope.errors import RecordingError
    from attnscope.files import home_made
    from attnscope.recording import verify

    with _bar() as progress:
        found = verify(home_made(recording, RecordingError), progress=progress)
    if as_json:
        click.echo(json.dumps(_facts(found), ensure_ascii=False, indent=1))
    else:
        for line in _lines(found):
            click.echo(line)
    return 0 if found.whole else 1


@contextmanager
def _bar() -> Iterator[Read]:
    """A bar on standard error for as long as it takes; nothing where nobody watches."""
    with click.progressbar(length=1, label="Reading", file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:

        def show(done: int, total: int) -> None:
            bar.length = max(total, 1)
            bar.update(done - bar.pos)

        yield show


def _facts(found: Verified) -> dict[str, Any]:
    return {
        "folder": str(found.folder),
        "whole": found.whole,
        "version": found.version,
        "files": found.files,
        "bytes": found.bytes,
        "faults": [vars(fault) for fault in found.faults],
    }


def _lines(found: Verified) -> list[str]:
    from attnscope.recording.room import size

    lines = [f"{fault.file}: {fault.fault}" for fault in found.faults]
    bad = len({fault.file for fault in found.faults})
    if found.version is None:
        return [*lines, f"{found.folder}: no recording that can be read"]
    files = counted(found.files, "file")
    said = (
        f"{bad:,} of {files} not as written"
        if bad
        else f"{files}, {size(found.bytes)}, every byte as written"
    )
    return [*lines, f"{found.folder}: format {found.version}, {said}"]
