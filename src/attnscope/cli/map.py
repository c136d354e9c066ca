"""`attnscope map`: one head of a saved recording as a labelled picture."""

from __future__ import annotations

from pathlib import Path

import click

from attnscope.cli.progress import line
from attnscope.cli.sites import open_run, recording_options, site_of, stretch


@click.command()
@click.argument("recording", metavar="FOLDER")
@click.option(
    "--site", required=True, metavar="S", help="The call of attention: its number in the run, or its name."
)
@click.option("--head", type=int, required=True, metavar="H", help="The query head, counted from 0.")
@click.option("-o", "--out", required=True, metavar="FILE", help="The picture: a name in .png or .svg.")
@click.option("--rows", metavar="A:B", help="Queries A to B - 1 alone. Default: all.")
@click.option("--cols", metavar="C:D", help="Keys C to D - 1 alone. Default: all.")
@click.option(
    "--reduce",
    type=click.Choice(["max", "mean", "sum"]),
    default="max",
    show_default=True,
    help="What a pixel shows of its cells.",
)
@click.option(
    "--scale",
    type=click.Choice(["log", "linear"]),
    default="log",
    show_default=True,
    help="How a weight becomes a colour.",
)
@click.option(
    "--values", is_flag=True, help="Weight times the length of the key's value in place of weights."
)
@recording_options
def command(
    *,
    recording: str,
    site: str,
    head: int,
    out: str,
    rows: str | None,
    cols: str | None,
    reduce: str,
    scale: str,
    values: bool,
    run: int | None,
    batch: int,
) -> None:
    """Draw one head of a saved recording, or any part of it.

    The whole grid is drawn, however long the text. Weights are the model's own; a head whose certificate was
    refused is not drawn. With --values a cell is its weight times the length of its key's value after W_O,
    which the picture says with its unit.
    """
    form = Path(out).suffix.lower().removeprefix(".")
    if form not in ("png", "svg"):
        raise click.UsageError(f"-o {out}: a name in .png or .svg is wanted.")
    opened, of_run = open_run(recording, run, batch)
    chosen = site_of(of_run, site)

    from attnscope.cli.rows import check_head
    from attnscope.errors import RecordingError
    from attnscope.exports.about import about
    from attnscope.exports.picture import Wish, draw
    from attnscope.files import place_of, write_new
    from attnscope.looks.drawing import png, svg
    from attnscope.maps import Pyramid, of_site

    check_head(chosen, head)
    wish = Wish(stretch(rows, chosen.tq, "rows"), stretch(cols, chosen.tk, "cols"), reduce, scale)
    path = place_of(out, RecordingError)
    pyramid = Pyramid(of_site(chosen, head, batch=batch, values=values))
    show = line()
    if show is not None:
        pyramid.build(lambda done, total: show(f"row {done:,} of {total:,}", done, total))
    made = draw(opened, chosen, pyramid, wish, head=head, batch=batch)
    seal = about(opened, [(chosen, head)], batch=batch, values=values)
    write_new(path, (png if form == "png" else svg)(made, about=seal), RecordingError)
    click.echo(f"{path}: site {of_run.sites.index(chosen)} {chosen.name}, head {head}")
