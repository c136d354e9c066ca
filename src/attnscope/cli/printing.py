"""Prints a row of weights or a cell's arithmetic: for a person, as JSON, or as CSV."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from typing import Any

import click

from attnscope.cli.forms import counted
from attnscope.exports.about import certified
from attnscope.models.tokens import shown

_BAR = 24  # characters of a weight of 1


def print_row(row: dict[str, Any], form: str | None) -> None:
    """Print what `rows.row` returned; `form` is "json", "csv" or None for a person."""
    if form == "json":
        click.echo(_json(row))
    elif form == "csv":
        head = ["key", "id", "kind", "token", *_numbers(row)]
        lines = [
            [k["j"], k["token"]["id"], k["token"]["kind"], shown(k["token"]),
             *(_plain(k[name]) for name in _numbers(row))]
            for k in row["row"]
        ]  # fmt: skip
        click.echo(_certified(head, lines, row), nl=False)
    else:
        click.echo(f"{_title(row)} looks at")
        _print_table(row)
        click.echo(_facts(row))


def print_cell(cell: dict[str, Any], form: str | None) -> None:
    """Print what `rows.cell` returned."""
    fields = cell["cell"]
    if form == "json":
        click.echo(_json(cell))
    elif form == "csv":
        numbered = zip(range(fields["d"]), fields["q"], fields["k"], fields["terms"], strict=True)
        lines = [[_plain(x) for x in line] for line in numbered]
        click.echo(_certified(["d", "q", "k", "term"], lines, cell), nl=False)
    else:
        click.echo(f"{_title(cell)}, key {cell['j']} {_quoted(cell['key'])}")
        for line in [*_receipt(fields), *_value_lines(cell)]:
            click.echo(line)
        click.echo(f"  {certified(cell['certificate'], cell['route'])}")


def print_cells(cells: list[dict[str, Any]], left_out: list[str], form: str | None) -> None:
    """Print a list of cells, largest first; `left_out` says which heads it does not speak of."""
    if form == "json":
        click.echo(_json({"cells": cells, "left_out": left_out}))
    elif form == "csv":
        first = [*_of_cells(cells), "site", "layer", "head", "i"]
        lines = [
            [*(cell[name] for name in first), shown(cell["query"]), cell["j"], shown(cell["key"]),
             _plain(cell["back"])]
            for cell in cells
        ]  # fmt: skip
        click.echo(csv_of([*first, "query", "j", "key", "back"], lines), nl=False)
    else:
        for line in _cell_lines(cells):
            click.echo(line)
    for line in left_out if form != "json" else []:
        click.echo(f"left out: {line}", err=True)


def _cell_lines(cells: list[dict[str, Any]]) -> list[str]:
    from attnscope.cli.tables import aligned
    from attnscope.lesson import Table

    if not cells:
        return ["no cell has any weight"]
    names, times = _of_cells(cells), {cell.get("times", "") for cell in cells}
    product = times.pop() if len(times) == 1 else "weight × length"
    titles = ("weight", product.removeprefix("weight × "), product)[: len(names)]
    columns = (*titles, "site", "layer", "head", "query i", "", "key j", "", "back")
    rows = tuple(
        (
            *(weight_of(cell[name]) for name in names),
            *(str(cell[name]) for name in ("site", "layer", "head")),
            f"{cell['i']:,}", shown(cell["query"]), f"{cell['j']:,}", shown(cell["key"]),
            "–" if cell["back"] is None else f"{cell['back']:,}",
        )
        for cell in cells
    )  # fmt: skip
    return aligned(Table("", columns, rows))


def _of_cells(cells: list[dict[str, Any]]) -> list[str]:
    """Return the names of the numbers of listed cells."""
    return _numbers(cells[0] if cells else {})


def _print_table(row: dict[str, Any]) -> None:
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False)
        table.add_column("key", justify="right")
        table.add_column("token")
        for title in _titles(row):
            table.add_column(title, justify="right")
        table.add_column("")
        last = _numbers(row)[-1]
        most = max((key[last] or 0.0 for key in row["row"]), default=0.0) if "times" in row else 1.0
        for key in row["row"]:
            numbers = (weight_of(key[name]) for name in _numbers(row))
            bar = _bar((key[last] or 0.0) / (most or 1.0))
            table.add_row(str(key["j"]), Text(shown(key["token"])), *numbers, bar)
        Console(highlight=False).print(table)
        return
    wide = 14 if "times" in row else 11
    if "times" in row:
        click.echo("    key  " + "".join(f"{title:>{wide}}  " for title in _titles(row)) + "token")
    for key in row["row"]:
        told = "".join(f"{weight_of(key[name]):>{wide}}  " for name in _numbers(row))
        click.echo(f"{key['j']:>7}  {told}{shown(key['token'])}")


def _numbers(row: dict[str, Any]) -> list[str]:
    """Return the names of the numbers that a key of a row has."""
    return ["weight", "value_length", "weight_times_length"] if "times" in row else ["weight"]


def _titles(row: dict[str, Any]) -> list[str]:
    return ["weight", row["times"].removeprefix("weight × "), row["times"]] if "times" in row else ["weight"]


def _value_lines(cell: dict[str, Any]) -> list[str]:
    """Return a cell's weight times length, where lengths were asked for."""
    if "times" not in cell:
        return []
    weight, length = cell["cell"]["shown"], cell["cell"]["length"]
    return [
        f"  {cell['times']}: {weight:.7g} × {length:.7g} = {weight * length:.7g}",
        f"  {cell['value_length']}",
    ]


def _title(place: dict[str, Any]) -> str:
    stack = ""
    if place["model"]["kind"] == "encoder-decoder":
        stack = "cross, " if place["kind"] == "cross" else f"{place['stack']}, "
    return (
        f"{place['model']['label']}, {stack}layer {place['layer']}, head {place['head']}: "
        f"query {place['i']} {_quoted(place['query'])}"
    )


def _facts(row: dict[str, Any]) -> str:
    facts = [
        f"{counted(row['seen'], 'word' if row.get('words') else 'key')} visible",
        f"entropy {abs(row['entropy']):.4f} nats",
    ]
    if row["sink"]:
        facts.append(f"{row['sink']:.4f} of the row goes to a learned sink")
    if "times" in row:
        facts.append(row["value_length"])
    facts.append(certified(row["certificate"], row["route"]))
    equal = {True: "logits bit-equal with and without looking", False: "logits differ when looked at"}
    return "; ".join([*facts, *([equal[row["bit_equal"]]] if row["bit_equal"] is not None else [])])


def _certified(head: list[str], lines: list[list[Any]], place: dict[str, Any]) -> str:
    """Return CSV in which every line also carries the certificate of its head."""
    names = ["verdict", "z", "allowed_z", "t", "allowed_t"]
    found = place["certificate"] or dict.fromkeys(names)
    more = [*(_plain(found[name]) for name in names), place["route"]]
    return csv_of([*head, *names, "route"], [[*line, *more] for line in lines])


def _receipt(cell: dict[str, Any]) -> list[str]:
    order = sorted(range(cell["d"]), key=lambda d: -abs(cell["terms"][d]))
    lines = [
        f"  d {d:<4} {cell['q'][d]:>10.4f} × {cell['k'][d]:>10.4f}  {cell['terms'][d]:>12.4f}" for d in order
    ]
    steps: list[tuple[str, Any]] = [
        ("sum, q·k", cell["products"]),
        (f"× {cell['scale']:.6g}, scaled", cell["scaled"]),
    ]
    if cell["softcap"] is not None:
        steps.append((f"softcap {cell['softcap']:g}", cell["capped"]))
    if cell["bias"] is not None:
        steps.append(("bias", cell["bias"]))
    steps += [
        ("score", cell["score"]),
        ("lse of the row", cell["lse"]),
        ("weight, float64", cell["recomputed"]),
    ]
    lines += [f"  {name:<28} {_step(value):>15}" for name, value in steps]
    seen = "visible" if cell["visible"] else "not visible"
    lines.append(f"  {seen}: {cell['why']}")
    rank = f", {cell['rank']} of {cell['row_keys']} in its row" if cell["rank"] else ""
    lines.append(f"  weight {weight_of(cell['shown'])}{rank}")
    word = "re-add to" if cell["readds"] else "DO NOT re-add to"
    lines.append(
        f"  the terms {word} the weight: difference {cell['difference']:.2g}, "
        f"rounding allows {cell['allowed']:.2g}"
    )
    return lines


def _step(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.7g}"


def weight_of(value: float | None) -> str:
    """Return a weight to seven places; never 0 for what is only small."""
    if value is None:
        return "not visible"
    return f"{value:.2e}" if 0 < value < 5e-7 else f"{value:.7f}"


def _bar(value: float | None) -> str:
    return "█" * round(_BAR * (value or 0.0))


def _quoted(token: dict[str, Any]) -> str:
    return f"“{shown(token)}”"


def _plain(value: Any) -> Any:
    return "" if value is None else value


def _json(value: dict[str, Any]) -> str:
    return json.dumps(_finite(value), ensure_ascii=False, indent=1, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    return [_finite(entry) for entry in value] if isinstance(value, list) else value


def csv_of(head: list[str], lines: list[list[Any]]) -> str:
    """Return lines as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(lines)
    return out.getvalue()
