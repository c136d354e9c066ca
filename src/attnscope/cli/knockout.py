"""`attnscope knockout`: a model run on a text without a weight, rows or a whole head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from attnscope.cli.progress import line
from attnscope.cli.texts import model_options, read_text, text_options

if TYPE_CHECKING:
    from attnscope.lesson import Table


class Places(click.ParamType):  # type: ignore[type-arg]
    """One place, or a stretch of them: 9, -1, 4:12, :12."""

    name = "places"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | slice:
        """Return an index or a slice; fails with what was wanted."""
        if isinstance(value, int | slice):
            return value
        words = [word.strip() for word in str(value).split(":")]
        if len(words) > 2 or not all(_is_whole(word) for word in words if word or len(words) == 1):
            self.fail(f"{value!r:.40} is no place; 9, or first:end such as 4:12, is wanted.", param, ctx)
        if len(words) == 1:
            return int(words[0])
        first, end = (int(word) if word else None for word in words)
        if first is not None and end is not None and first >= end and (first < 0) == (end < 0):
            self.fail(f"{value!r:.40} holds no place; first:end such as 4:12 is wanted.", param, ctx)
        return slice(first, end)


PLACES = Places()


@click.command()
@click.argument("model")
@text_options
@click.option(
    "--site", required=True, metavar="S", help="The call of attention: its number in the run, or its name."
)
@click.option("--head", type=int, required=True, metavar="H", help="The query head, counted from 0.")
@click.option("--rows", type=PLACES, metavar="A:B", help="Queries A to B - 1, or one. Default: all.")
@click.option("--cols", type=PLACES, metavar="C:D", help="Keys C to D - 1, or one. Default: whole rows.")
@click.option(
    "--how", type=click.Choice(["renormalise", "zero", "mean"]), default="renormalise", show_default=True,
    help="Whether the other weights share the part, stay, or the head's mean output takes the place.",
)  # fmt: skip
@click.option(
    "--position", type=int, metavar="I",
    help="Tell of what is expected after position I. Default: of the one row, else of the last.",
)  # fmt: skip
@click.option("--top", type=click.IntRange(1, 50), default=8, show_default=True, help="How many tokens.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with the numbers of all positions.")
@model_options
def command(
    *,
    model: str,
    text: str | None,
    file: str | None,
    site: str,
    head: int,
    rows: int | slice | None,
    cols: int | slice | None,
    how: Any,
    position: int | None,
    top: int,
    as_json: bool,
    dtype: str | None,
    attention: str | None,
) -> None:
    """Run a model on a text without a weight, rows or a whole head.

    MODEL is embedded, lesson, lesson-no-positions, a folder, or a Hugging Face hub id. A row and a key are
    one weight; a row alone is the head's whole output there; neither is the whole head. That a knock-out of
    nothing changes nothing is checked each time.
    """
    given = read_text(text, file)
    if given is None:
        raise click.UsageError("A text is wanted: --text T or --file FILE.")
    from attnscope.cli.tables import echo_json, print_tables
    from attnscope.errors import ShapeError
    from attnscope.knocking import Cut
    from attnscope.knocking.of_text import bench_of, told_of
    from attnscope.models import open_model

    if head < 0:
        raise ShapeError(f"There is no head {head}", wanted="Heads are counted from 0")
    cut = Cut(int(site) if site.isdecimal() and len(site) < 8 else site, head, rows, cols, how)
    subject = open_model(model, dtype=dtype, attention=attention)
    found = bench_of(subject, given, progress=line()).without(cut)
    told = told_of(subject, found, position, top=top)
    if as_json:
        echo_json(told)
    else:
        print_tables([_table(told, f"{found.nothing} {told['warning']}")])


def _table(told: dict[str, Any], note: str) -> Table:
    from attnscope.lesson import Table
    from attnscope.looks.numbers import number
    from attnscope.models.tokens import shown

    title = "\n".join(one["words"] for one in told["taken_out"])
    at = told["next"]["position"]
    if told["answers"] == "states":
        share = told["share"][at]
        moved = "not a number" if share is None else number(share, 4)
        rows: tuple[tuple[str, ...], ...] = ((str(at), moved),)
        return Table(title, ("position", "its last state moved by"), rows, f"Of its own length. {note}")
    seen: dict[int, tuple[str, ...]] = {}
    for token in (*told["next"]["before"], *told["next"]["after"]):
        cells = (number(token["before"], 4), number(token["after"], 4))
        seen.setdefault(token["id"], (shown(token["token"]), *cells))
    realised = told["next"]["realised"]
    said = f"KL {number(told['next']['kl'], 4)} nats, total variation {number(told['next']['variation'], 4)}"
    if realised is not None:
        said += f", log-probability of the token that stands next {'+' * (realised > 0)}{number(realised, 4)}"
    return Table(
        title, (f"after position {at}", "before", "without it"), tuple(seen.values()), f"{said}. {note}"
    )


def _is_whole(word: str) -> bool:
    digits = word.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 10
