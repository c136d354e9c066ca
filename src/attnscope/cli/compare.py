"""`attnscope compare`: two recordings head against head, as a ranked list or as one head's three pictures."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attnscope.cli.forms import counted, form_options
from attnscope.cli.progress import line
from attnscope.cli.sites import open_run, recording_options, site_of
from attnscope.cli.texts import once

if TYPE_CHECKING:
    from attnscope.comparison import Comparison
    from attnscope.comparison.pairing import Head
    from attnscope.comparison.side import Side

TABLES, PICTURES = ("csv", "json"), ("png", "svg")
_PAIR = re.compile(r"(\d{1,5})\.(\d{1,5})=(\d{1,5})\.(\d{1,5})")


@click.command()
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option(
    "--align", type=click.Choice(["auto", "position", "token", "text"]), default="auto", show_default=True,
    help="What stands for the same: the n-th token, equal tokens, or the same letters.",
)  # fmt: skip
@click.option(
    "--pair", "pairs", multiple=True, metavar="L.H=L.H",
    help="Compare this layer and head of A with that of B; may be given more than once.",
)  # fmt: skip
@click.option(
    "--by", type=click.Choice(["mean", "largest"]), default="mean", show_default=True,
    help="Rank by the mean or by the largest difference of a row.",
)  # fmt: skip
@click.option(
    "-n", "number", type=click.IntRange(min=1), default=20, show_default=True, metavar="N",
    help="How many heads are printed; a file holds all.",
)  # fmt: skip
@click.option("--site", metavar="S", help="With --head: draw one head; the call's number in A, or its name.")
@click.option("--head", type=int, metavar="H", help="The query head of A, counted from 0.")
@click.option(
    "-o", "--out", multiple=True, callback=once, metavar="FILE",
    help="The whole list in .csv or .json; with --site and --head a picture in .png or .svg.",
)  # fmt: skip
@click.option(
    "--scale", type=click.Choice(["log", "linear"]), default="log", show_default=True,
    help="Of the picture: how a number becomes a colour.",
)  # fmt: skip
@form_options
@recording_options
@click.option("--run-b", type=int, metavar="R", help="Which run of B, where it is another.")
@click.option("--batch-b", type=int, metavar="B", help="Which text of B, where it is another.")
def command(
    *,
    a: str,
    b: str,
    align: str,
    pairs: tuple[str, ...],
    by: str,
    number: int,
    site: str | None,
    head: int | None,
    out: str | None,
    scale: str,
    form: str | None,
    run: int | None,
    run_b: int | None,
    batch: int,
    batch_b: int | None,
) -> None:
    """Compare two saved recordings, head by head.

    A and B are folders: two texts under one model, two models on one text, a model before and after training,
    or in two precisions. Two runs or texts of one recording are compared by naming it twice. Heads are ranked
    by the total variation of their rows: 0 for equal rows, 1 for rows that share nothing.
    """
    if form is not None and out is not None:
        raise click.UsageError(f"--{form} prints, and -o writes a file: one of the two is wanted.")
    form = form or _form(out, drawn=site is not None or head is not None)
    if (site is None) != (head is None):
        raise click.UsageError("--site and --head go together.")
    if site is not None and out is None:
        raise click.UsageError("--site and --head want -o FILE, a picture in .png or .svg.")
    named = [_pair(given) for given in pairs] or None

    from attnscope.comparison.compare import compared
    from attnscope.errors import RecordingError
    from attnscope.files import place_of

    path = None if out is None else place_of(out, RecordingError)
    sides = (
        _side(a, run, batch),
        _side(b, run if run_b is None else run_b, batch if batch_b is None else batch_b),
    )
    if site is not None and head is not None and path is not None:
        _draw(sides, align, named, site, head, path, scale)
        return
    found = compared(*sides, align, pairs=named, progress=line())
    if path is not None:
        _write(found, by, path, form)
    elif form:
        click.echo(_encoded(found, by, form), nl=False)
    else:
        _print(found, (a, b), by, number)
    _left_out(found)


def _side(folder: str, run: int | None, batch: int) -> Side:
    from attnscope.comparison.side import side_of

    recording, of_run = open_run(folder, run, batch)
    return side_of(recording, of_run.index, batch)


def _form(out: str | None, *, drawn: bool) -> str:
    """Return the ending of the file to write. Raises UsageError for another than is written there."""
    if out is None:
        return ""
    form, known = Path(out).suffix.lower().removeprefix("."), PICTURES if drawn else TABLES
    if form not in known:
        more = "" if drawn else " (a picture wants --site and --head)"
        raise click.UsageError(f"-o {out}: a name in .{known[0]} or .{known[1]} is wanted{more}.")
    return form


def _pair(given: str) -> tuple[Head, Head]:
    found = _PAIR.fullmatch(given.strip())
    if found is None:
        raise click.UsageError(f"--pair {given:.40}: LAYER.HEAD=LAYER.HEAD is wanted, such as 3.5=2.1.")
    a, head_a, b, head_b = map(int, found.groups())
    return (a, head_a), (b, head_b)


def _draw(
    sides: tuple[Side, Side],
    align: str,
    named: list[tuple[Head, Head]] | None,
    site: str,
    head: int,
    path: Path,
    scale: Any,
) -> None:
    from attnscope.cli.rows import check_head
    from attnscope.comparison.compare import Aligned
    from attnscope.comparison.pairing import pairs_of
    from attnscope.errors import RecordingError
    from attnscope.exports.compared import picture
    from attnscope.files import write_new

    chosen = site_of(sides[0].run, site)
    check_head(chosen, head)
    pairs = [pair for pair in pairs_of(*sides, named)[0] if pair.site_a is chosen and pair.head_a == head]
    if not pairs:
        raise RecordingError(
            f"Head {head} of {chosen.name} has no fellow in the second recording", hint="Name it with --pair"
        )
    contrast = Aligned(*sides, align).contrast(pairs[0])
    form: Any = path.suffix.lower().removeprefix(".")
    write_new(path, picture(sides, pairs[0], contrast, form, scale), RecordingError)
    click.echo(f"{path}: {pairs[0]}")


def _write(found: Comparison, by: str, path: Path, form: str) -> None:
    from attnscope.errors import RecordingError
    from attnscope.files import write_new

    write_new(path, _encoded(found, by, form, sealed=True).encode(), RecordingError)
    click.echo(f"{path}: {counted(len(found.heads), 'head')}")


def _encoded(found: Comparison, by: str, form: str, *, sealed: bool = False) -> str:
    from attnscope.exports.compared import csv_list, json_list

    return csv_list(found, by, sealed=sealed) if form == "csv" else json_list(found, by)


def _left_out(found: Comparison) -> None:
    for said in found.left_out:
        click.echo(f"left out: {said}", err=True)


def _print(found: Comparison, folders: tuple[str, str], by: str, number: int) -> None:
    for letter, folder, side in zip("AB", folders, found.sides, strict=True):
        click.echo(f"{letter}: {_name(folder, side)}")
    for said in _lines(found, by, number):
        click.echo(said)


def _name(folder: str, side: Side) -> str:
    """Return what a side is called: its folder, which run and text where there are several, its model."""
    runs, texts = len(side.recording.runs), max(site.batch for site in side.run.sites)
    which = [
        f"{what} {at}"
        for what, at, of in (("run", side.run.index, runs), ("text", side.batch, texts))
        if of > 1
    ]
    return ", ".join([folder, *which, side.label])


def _lines(found: Comparison, by: str, number: int) -> list[str]:
    from attnscope.cli.printing import weight_of
    from attnscope.cli.tables import aligned
    from attnscope.lesson import Table

    heads = found.ordered(by)
    same = all((one.layer, one.head) == (one.layer_b, one.head_b) for one in heads)
    fellow = () if same else ("of B", "")
    columns = ("layer", "head", *fellow, "mean", "largest", "at row", "lost of A", "of B")
    rows = tuple(
        (
            str(one.layer), str(one.head),
            *(() if same else (str(one.layer_b), str(one.head_b))),
            *(weight_of(value) for value in (one.mean, one.largest)),
            "–" if one.row_a is None else f"{one.row_a:,}",
            *(weight_of(value) for value in (one.lost_a, one.lost_b)),
        )
        for one in heads[:number]
    )  # fmt: skip
    first = heads[0]
    told = _aligned_by(found.how, first.rows, first.rows_a, first.rows_b)
    rest = len(heads) - number
    more = [f"{counted(rest, 'head')} more; -n says how many"] if rest > 0 else []
    return [told, *aligned(Table("", columns, rows)), *more]


def _aligned_by(how: str, rows: int, alone_a: int, alone_b: int) -> str:
    said = f"aligned by {how}: {rows:,} rows compared"
    if alone_a or alone_b:
        said += f", {alone_a:,} of A and {alone_b:,} of B without a fellow"
    return f"{said}; lost: weight on keys without a fellow"
