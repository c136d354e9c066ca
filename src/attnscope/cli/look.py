"""`attnscope look`: one row of weights, or the receipt of one cell, in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from attnscope.cli.forms import form_options
from attnscope.cli.progress import line
from attnscope.cli.texts import model_options, read_text, text_options

if TYPE_CHECKING:
    from attnscope.models import Look


@click.command()
@click.argument("model")
@text_options
@click.option("--layer", type=int, required=True, metavar="L", help="The layer, counted from 0.")
@click.option("--head", type=int, required=True, metavar="H", help="The query head, counted from 0.")
@click.option(
    "--stack",
    type=click.Choice(["encoder", "decoder", "cross"]),
    help="Of an encoder with a decoder: whose attention. Default: the decoder's own.",
)
@click.option(
    "--query", type=int, default=-1, show_default=True, metavar="I", help="The position; -1 is the last."
)
@click.option("--key", type=int, metavar="J", help="Print the arithmetic of the one cell (I, J) instead.")
@click.option(
    "--top", type=click.IntRange(min=1), metavar="N", help="Print the N largest weights, largest first."
)
@click.option("--values", is_flag=True, help="Also weight times the length of the key's value.")
@click.option(
    "--words", is_flag=True, help="From word to word: sums over key tokens, means over query tokens."
)
@click.option("--fold-specials", is_flag=True, help="With --words: all special tokens as one.")
@click.option(
    "--cut", is_flag=True, help="Where the text is too long, take as much of its beginning as fits."
)
@click.option(
    "--save", metavar="FOLDER", help="Also save the whole recording; `attnscope info FOLDER` reads it."
)
@form_options
@model_options
def command(
    *,
    model: str,
    text: str | None,
    file: str | None,
    layer: int,
    head: int,
    stack: str | None,
    query: int,
    key: int | None,
    top: int | None,
    values: bool,
    words: bool,
    fold_specials: bool,
    cut: bool,
    save: str | None,
    form: str | None,
    dtype: str | None,
    attention: str | None,
) -> None:
    """Print where one token of a text looks: a row of weights.

    MODEL is embedded, lesson, lesson-no-positions, a folder, or a Hugging Face hub id. Weights are the
    model's own; a key that the query does not see has none. With --values each weight stands beside the
    length of its key's value after W_O, and --top is of weight times length.
    """
    _check_words(words, key, values)
    if top is not None and key is not None:
        raise click.UsageError("--top and --key exclude each other: --top is for a row, --key for one cell.")
    if fold_specials and not words:
        raise click.UsageError("--fold-specials goes with --words.")
    if save == "":
        raise click.UsageError("--save wants the name of a folder.")
    given = read_text(text, file)
    if given is None:
        raise click.UsageError("A text is wanted: --text T or --file FILE.")
    from attnscope.cli import printing, rows
    from attnscope.cli.record import say_replaced
    from attnscope.errors import RecordingError
    from attnscope.files import home_made
    from attnscope.recording.writing import check_place

    folder = None if save is None else home_made(save, RecordingError)
    if folder is not None:
        check_place(folder)
        say_replaced(folder)
    look = _run(model, given, cut, dtype=dtype, attention=attention)
    if folder is not None:
        look.recording.save(folder)
    site = rows.site(look.recording, layer, stack)
    rows.check_head(site, head)
    i = rows.position(query, site.tq, "query")
    if words:
        row = rows.word_row(look, site, head, i, specials="fold" if fold_specials else "mark", top=top)
        printing.print_row(row, form)
    elif key is not None:
        cell = rows.cell(look, site, head, i, rows.position(key, site.tk, "key"), values=values)
        printing.print_cell(cell, form)
    else:
        printing.print_row(rows.row(look, site, head, i, top=top, values=values), form)


def _check_words(words: bool, key: int | None, values: bool) -> None:
    if words and key is not None:
        raise click.UsageError("--words and --key exclude each other: a word's weight is a sum of cells.")
    if words and values:
        raise click.UsageError(
            "--words and --values exclude each other: a word is several tokens, each with a value of its own."
        )


def _run(model: str, text: str, cut: bool, *, dtype: str | None, attention: str | None) -> Look:
    from attnscope.errors import TextTooLong
    from attnscope.models import open_model

    subject = open_model(model, dtype=dtype, attention=attention)
    try:
        subject.encode(text)
    except TextTooLong as error:
        if not cut:
            raise TextTooLong(
                error.what, length=error.length, limit=error.limit, wanted=error.wanted,
                hint=f"{error.hint}; --cut takes them",
            ) from error  # fmt: skip
        text = subject.codec.fitting(text)
    return subject.run(text, progress=line())
