"""`attnscope lesson`: the lesson's experiments in the terminal, as data, as figures, and as one file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from attnscope.lesson import Experiment
    from attnscope.lesson.contents import Section
    from attnscope.lesson.measuring.measure import Progress


@click.command()
@click.argument("number", metavar="[N]", type=int, required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--figures", metavar="DIR", help="Write every figure into DIR as PNG and SVG; of one section with N."
)
@click.option("--export", metavar="FILE", help="Write the whole lesson, alive, as one HTML file.")
@click.option("--sheet", metavar="FILE", help="With N = 2: walk through an example saved from the page.")
@click.option(
    "--query", metavar="WORD", help="With --sheet: the word that asks, or its position counted from 0."
)
@click.option("--measure", is_flag=True, help="With N = 7: measure time and memory on this machine.")
@click.option(
    "--budget",
    type=click.IntRange(32, 65_536),  # as measure_cost, which is not imported before it is needed
    metavar="MB",
    help="With --measure: the most memory that is taken, 32 to 65,536; 256 where not given.",
)
def command(
    *,
    number: int | None,
    as_json: bool,
    figures: str | None,
    export: str | None,
    sheet: str | None,
    query: str | None,
    measure: bool,
    budget: int | None,
) -> None:
    """Print the lesson's experiments, or write the lesson as one file.

    Without N it lists the sections; with N it runs the experiments of one and prints every number. The page
    Walk of `attnscope app` shows the same.
    """
    ways = {"--figures": figures, "--export": export, "--sheet": sheet, "--measure": measure or None}
    _check(number, as_json, {name: given for name, given in ways.items() if given is not None})
    if query is not None and sheet is None:
        raise click.UsageError("--query is for --sheet: the word whose walk is printed.")
    if budget is not None and not measure:
        raise click.UsageError("--budget is for --measure: the memory it may take.")
    if export is not None:
        _export(export)
    elif figures is not None:
        _figures(number, figures)
    elif sheet is not None:
        _walk(sheet, query, as_json)
    elif measure:
        _measure(budget, as_json)
    elif number is None:
        _contents(as_json)
    else:
        _section(number, as_json)


def _check(number: int | None, as_json: bool, ways: dict[str, str | bool]) -> None:
    """Refuse options that do not go together and names that are empty."""
    if len(ways) > 1:
        raise click.UsageError(f"{' and '.join(ways)} exclude each other.")
    for name, given in ways.items():
        if given == "":
            raise click.UsageError(
                f"{name} wants the name of a {'folder' if name == '--figures' else 'file'}."
            )
        if as_json and name in ("--figures", "--export"):
            raise click.UsageError(f"{name} and --json exclude each other.")
    if "--export" in ways and number is not None:
        raise click.UsageError("--export writes the whole lesson; leave the number away.")
    if "--sheet" in ways and number != 2:
        raise click.UsageError("--sheet is for section 2: attnscope lesson 2 --sheet FILE.")
    if "--measure" in ways and number != 7:
        raise click.UsageError("--measure is for section 7: attnscope lesson 7 --measure.")


def _contents(as_json: bool) -> None:
    from attnscope.cli.tables import print_tables
    from attnscope.lesson import SECTIONS, Table

    if as_json:
        _print_json([{"number": one.number, "title": one.title, "says": one.says} for one in SECTIONS])
        return
    rows = tuple((str(one.number), one.title, one.says) for one in SECTIONS)
    note = "attnscope lesson N prints one; attnscope app shows them on the page Walk."
    print_tables([Table("The lesson", ("N", "section", "what it shows"), rows, note)])


def _section(number: int, as_json: bool) -> None:
    from attnscope.lesson import section

    found = section(number)
    if as_json:
        _print_json(found.to_dict())
        return
    _heading(found)
    for _, experiment in found.run():
        _print(experiment)


def _heading(one: Section) -> None:
    from attnscope.cli.tables import print_heading

    print_heading(f"{one.number}  {one.title}", one.says)


def _print(experiment: Experiment) -> None:
    from attnscope.cli.tables import print_tables

    print_tables(experiment.tables())


def _export(file: str) -> None:
    from attnscope.cli.progress import line
    from attnscope.web.alone.lesson import write_lesson

    path = write_lesson(file, progress=line())
    click.echo(
        f"{path}: {path.stat().st_size / 2**20:.1f} MB, opens in a browser without a server or network"
    )


def _figures(number: int | None, folder: str) -> None:
    from attnscope.cli.figures import write_figures
    from attnscope.cli.progress import line
    from attnscope.lesson import SECTIONS, section

    chosen = SECTIONS if number is None else (section(number),)
    for path in write_figures(chosen, folder, progress=line()):
        click.echo(path)


def _walk(file: str, query: str | None, as_json: bool) -> None:
    from attnscope.cli.sheets import print_walk, read_sheet, word_at

    sheet = read_sheet(file)
    print_walk(sheet, word_at(sheet, query), as_json)


def _measure(budget: int | None, as_json: bool) -> None:
    from attnscope.cli.progress import line
    from attnscope.lesson import measure_cost

    show = line()

    def told(now: Progress) -> None:
        if show is not None:
            left = "" if now.seconds_left is None else f", about {max(1, round(now.seconds_left))} s left"
            show(now.text + left, round(now.done * 100), max(1, round(now.total * 100)))

    given: dict[str, Any] = {} if budget is None else {"budget_mb": budget}
    try:
        found = measure_cost(progress=told, **given)
    finally:
        if show is not None:
            show("", 1, 1)
    if as_json:
        _print_json(found.to_dict())
    else:
        _print(found)


def _print_json(value: Any) -> None:
    from attnscope.cli.tables import echo_json

    echo_json(value)
