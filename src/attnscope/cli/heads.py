"""`attnscope heads`: what each head of a model does, as a table in the terminal or as a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from attnscope.cli.forms import seed_option
from attnscope.cli.progress import line
from attnscope.cli.texts import model_options, once, read_text

if TYPE_CHECKING:
    from attnscope.measure import HeadRow, HeadTable
    from attnscope.models import Subject
    from attnscope.recording import Recording

SHOWN = ("previous_token", "induction_stripe", "duplicate_token", "sink", "entropy")
"""The scores that the terminal has room for, beside the one it is sorted by."""


@click.command()
@click.argument("model")
@click.option(
    "--texts", multiple=True, metavar="FILE",
    help="A plain text to measure on, UTF-8; give it several times. Default: passages of our own.",
)  # fmt: skip
@click.option(
    "-o", "--out", multiple=True, callback=once, metavar="FILE",
    help="Write the whole table: a name in .csv, .json, .parquet or .html.",
)  # fmt: skip
@click.option("--sort", metavar="SCORE", help="Print the heads by this score, largest first.")
@click.option("-n", "number", type=click.IntRange(min=1), metavar="N", help="Print N heads alone.")
@click.option(
    "--draws", type=click.IntRange(min=0), default=4, show_default=True, metavar="N",
    help="Texts of random tokens, of each of two kinds.",
)  # fmt: skip
@seed_option("Of all that is drawn.")
@click.option(
    "--folder",
    metavar="DIR",
    help="Keep each finished text there; a survey that was stopped goes on from it.",
)
@model_options
def command(
    *,
    model: str,
    texts: tuple[str, ...],
    out: str | None,
    sort: str | None,
    number: int | None,
    draws: int,
    seed: int,
    folder: str | None,
    dtype: str | None,
    attention: str | None,
) -> None:
    """Say what each head of a model does: scores, baselines, classes.

    MODEL is embedded, lesson, lesson-no-positions, a folder, a Hugging Face hub id, or the folder of a
    recording. Under torchrun the texts are divided among its processes, and the table is the same.
    """
    path = None if out is None else _path(out)
    _check_score(sort)
    given = [read_text(None, file) for file in texts] or None
    from attnscope.measure import heads

    opened = _opened(model, dtype, attention)
    table = heads(opened, given, draws=draws, seed=seed, folder=folder or None, progress=line())  # type: ignore[arg-type]
    if not _first():
        return
    if path is not None:
        _write(table, path)
        click.echo(f"{path}: {len(table.rows):,} heads, {len(table.texts):,} texts")
        return
    _print(table, sort, number)


def _path(out: str) -> Path:
    from attnscope.errors import RecordingError
    from attnscope.files import place_of

    path = place_of(out, RecordingError)
    if path.suffix.lower() not in (".csv", ".json", ".parquet", ".html"):
        raise click.UsageError(f"-o {out}: a name in .csv, .json, .parquet or .html is wanted.")
    return path


def _check_score(name: str | None) -> None:
    from attnscope.measure.scores import NAMES

    if name is not None and name not in NAMES:
        raise click.UsageError(f"--sort {name}: one of {', '.join(NAMES)} is wanted.")


def _opened(model: str, dtype: str | None, attention: str | None) -> Subject | Recording:
    from attnscope.errors import RecordingError
    from attnscope.files import home_made
    from attnscope.measure.survey import is_recording
    from attnscope.models import open_model
    from attnscope.recording import load

    if is_recording(model):
        return load(home_made(model, RecordingError))
    return open_model(model, dtype=dtype, attention=attention)


def _first() -> bool:
    """Whether this process is the one that speaks: of those of torchrun, the first."""
    import os

    return os.environ.get("RANK", "0") == "0"


def _write(table: HeadTable, path: Path) -> None:
    if path.suffix.lower() == ".html":
        from attnscope.web.alone.heads import write_heads

        write_heads(table, path)
    else:
        table.save(path)


def _print(table: HeadTable, sort: str | None, number: int | None) -> None:
    from attnscope.cli.tables import print_tables
    from attnscope.lesson import Table

    rows = list(table.rows) if sort is None else table.ranked(sort)
    shown = list(dict.fromkeys([*([sort] if sort else []), *SHOWN]))
    lines = tuple(
        (
            str(row.layer),
            str(row.head),
            ", ".join(row.classes) or "no class",
            *(_said(row, name) for name in shown),
        )
        for row in rows[:number]
    )
    level = tuple(_uniform(table, name) for name in shown)
    title = str(table.model.get("label") or table.model.get("class") or "a recording")
    lines = (("", "", "a uniform head", *level), *lines)
    print_tables([Table(title, ("layer", "head", "class", *shown), lines, "; ".join(table.notes))])


def _said(row: HeadRow, name: str) -> str:
    from attnscope.looks.numbers import number

    value = row.scores[name].value
    return "–" if value != value else number(value, 3)


def _uniform(table: HeadTable, name: str) -> str:
    from attnscope.looks.numbers import number

    level = [row.scores[name].uniform for row in table.rows]
    there = [one for one in level if one == one]
    return number(there[0], 3) if there and min(there) == max(there) else "–"
