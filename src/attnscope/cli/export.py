"""`attnscope export`: heads of a saved recording as a page, a picture, a table or arrays."""

from __future__ import annotations

from pathlib import Path

import click

from attnscope.cli.sites import open_run, recording_options, site_of, stretch

_FORMS = ("html", "png", "svg", "csv", "parquet", "npz")


@click.command()
@click.argument("recording", metavar="FOLDER")
@click.option(
    "-o", "--out", required=True, metavar="FILE",
    help="The file: a name in .html, .png, .svg, .csv, .parquet or .npz.",
)  # fmt: skip
@click.option("--site", metavar="S", help="One call of attention alone: its number in the run, or its name.")
@click.option("--head", type=int, metavar="H", help="One query head alone, counted from 0.")
@click.option("--rows", metavar="A:B", help="Queries A to B - 1 alone. Default: all.")
@click.option("--cols", metavar="C:D", help="Keys C to D - 1 alone; not for .html. Default: all.")
@click.option(
    "--limit", type=click.FloatRange(0.1, 1e6), metavar="MB",
    help="The largest .html; what has no room is named. Default: 5.",
)  # fmt: skip
@click.option(
    "--values", is_flag=True,
    help="Pictures of weight times the length of the key's value; in tables and arrays both.",
)  # fmt: skip
@recording_options
def command(
    *,
    recording: str,
    out: str,
    site: str | None,
    head: int | None,
    rows: str | None,
    cols: str | None,
    limit: float | None,
    values: bool,
    run: int | None,
    batch: int,
) -> None:
    """Write heads of a saved recording: a page, pictures, tables, arrays.

    Each file says what model, versions and certificates it is of. Weights are the model's own, float32; a
    head whose certificate was refused is not written.
    """
    form = Path(out).suffix.lower().removeprefix(".")
    if form not in _FORMS:
        raise click.UsageError(f"-o {out}: a name in .{', .'.join(_FORMS[:-1])} or .{_FORMS[-1]} is wanted.")
    if limit is not None and limit != limit:
        raise click.UsageError("--limit is not a number; megabytes are wanted, such as 20.")
    for name, given in (("cols", cols), ("limit", limit)):
        if given is not None and (form == "html") != (name == "limit"):
            raise click.UsageError(f"--{name} does not go with .{form}.")
    from attnscope.cli.rows import check_head

    opened, of_run = open_run(recording, run, batch)
    chosen = None if site is None else site_of(of_run, site)
    sites = of_run.sites if chosen is None else [chosen]
    if head is not None:
        for one in sites:
            check_head(one, head)
    down = None if rows is None else stretch(rows, max(one.tq for one in sites), "rows")
    across = None if cols is None else stretch(cols, max(one.tk for one in sites), "cols")

    if form == "html":
        from attnscope.notebook import show
        from attnscope.web.alone.recording import LIMIT

        most = LIMIT if limit is None else int(limit * 1e6)
        made = show(opened, chosen, head, down, run=of_run.index, batch=batch, limit=most, values=values)
        path = made.save(out)
        if made.left:
            click.echo(made.left, err=True)
    else:
        from attnscope.exports import write

        path = write(
            opened, out, chosen, head, rows=down, cols=across, run=of_run.index, batch=batch, values=values
        )
    click.echo(str(path))
