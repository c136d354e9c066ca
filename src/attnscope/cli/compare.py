"""`attnscope compare`: two recordings head against head, as a ranked list or as one head's three pictures."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attnscope.cli.progress import line
from attnscope.cli.sites import site_of
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
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@click.option("--run", type=int, metavar="R", help="Which run of each, counted from 0. Default: the last.")
@click.option("--run-b", type=int, metavar="R", help="Which run of B, where it is another.")
@click.option("--batch", type=int, default=0, show_default=True, metavar="T", help="Which text of each.")
@click.option("--batch-b", type=int, metavar="T", help="Which text of B, where it is another.")
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
    as_json: bool,
    as_csv: bool,
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
    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other.")
    form = _form(out, drawn=site is not None or head is not None)
    if (site is None) != (head is None):
        raise click.UsageError("--site and --head go together.")
    if site is not None and out is None:
        raise click.UsageError("--site and --head want -o FILE, a picture in .png or .svg.")
    named = [_pair(given) for given in pairs] or None
    if "" in (a, b):
        raise click.UsageError("A folder's name is empty; the folder of a saved recording is wanted.")

    from attnscope.comparison.compare import compared
    from attnscope.comparison.side import side_of

    sides = (
        side_of(a, run, batch),
        side_of(b, run if run_b is None else run_b, batch if batch_b is None else batch_b),
    )
    if site is not None and head is not None and out is not None:
        _draw(sides, align, named, site, head, out, scale)
        return
    found = compared(*sides, align, pairs=named, progress=line())
    if out is not None:
        _write(found, by, out, form)
    else:
        _print(found, by, number, "json" if as_json else "csv" if as_csv else "")


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
    out: str,
    scale: str,
) -> None:
    from attnscope.cli.contrast import draw
    from attnscope.cli.rows import check_head
    from attnscope.comparison.compare import Aligned
    from attnscope.comparison.pairing import pairs_of
    from attnscope.errors import RecordingError
    from attnscope.gpt.files import home_made, write_whole
    from attnscope.lesson.drawing import png, svg

    chosen = site_of(sides[0].run, site)
    check_head(chosen, head)
    pairs = [pair for pair in pairs_of(*sides, named)[0] if pair.site_a is chosen and pair.head_a == head]
    if not pairs:
        raise RecordingError(
            f"Head {head} of {chosen.name} has no fellow in the second recording", hint="Name it with --pair"
        )
    path = home_made(out, RecordingError)
    made = draw(sides, pairs[0], Aligned(*sides, align).contrast(pairs[0]), scale)
    form = png if path.suffix.lower() == ".png" else svg
    write_whole(path, form(made), RecordingError)
    click.echo(f"{path}: {pairs[0]}")


def _write(found: Comparison, by: str, out: str, form: str) -> None:
    from attnscope.errors import RecordingError
    from attnscope.gpt.files import home_made, write_whole

    path = home_made(out, RecordingError)
    text = _csv(found, by) if form == "csv" else _json(found, by)
    write_whole(path, text.encode(), RecordingError)
    click.echo(f"{path}: {len(found.heads):,} heads")
    _left_out(found)


def _print(found: Comparison, by: str, number: int, form: str) -> None:
    if form == "json":
        click.echo(_json(found, by), nl=False)
        return
    if form == "csv":
        click.echo(_csv(found, by), nl=False)
    else:
        for said in _lines(found, by, number):
            click.echo(said)
    _left_out(found)


def _left_out(found: Comparison) -> None:
    for said in found.left_out:
        click.echo(f"left out: {said}", err=True)


def _json(found: Comparison, by: str) -> str:
    from dataclasses import replace

    told = replace(found, heads=tuple(found.ordered(by))).to_dict()
    return json.dumps(told, ensure_ascii=False, indent=1) + "\n"


def _csv(found: Comparison, by: str) -> str:
    from dataclasses import asdict

    from attnscope.cli.printing import csv_of

    lines = [asdict(one) for one in found.ordered(by)]
    return csv_of(list(lines[0]), [[_plain(value) for value in one.values()] for one in lines])


def _plain(value: Any) -> Any:
    """Return what stands in a table: nothing for a row or a mean that is not there."""
    return "" if value is None or value != value else value


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
    told = [
        f"A: {found.label_a}",
        f"B: {found.label_b}",
        _aligned_by(found.how, first.rows, first.rows_a, first.rows_b),
    ]
    more = [f"{len(heads) - number:,} heads more; -n says how many"] if len(heads) > number else []
    return [*told, *aligned(Table("", columns, rows)), *more]


def _aligned_by(how: str, rows: int, alone_a: int, alone_b: int) -> str:
    said = f"aligned by {how}: {rows:,} rows compared"
    if alone_a or alone_b:
        said += f", {alone_a:,} of A and {alone_b:,} of B without a fellow"
    return f"{said}; lost: weight on keys without a fellow"
