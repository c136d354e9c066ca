"""Prints the lesson's tables: fitted to the terminal for a person, as plain aligned columns where piped."""

from __future__ import annotations

import json
import re
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from attnscope.lesson import Table

_GAP = 2  # spaces between columns
_NARROWEST = 32  # characters that a column of sentences may be squeezed to
_NUMBER = re.compile(r"[<>≤≥~]?[+−-]?[\d.,]+(e[−-]?\d+)?(/\d+)?( ?(%|bytes|[KMGT]B|m?s|nats|times))?|−?∞")
_ABSENT = {"", "–", "—", "-", "not run", "hidden"}  # what stands in a column of numbers where none is
# What an output that cannot hold the lesson's signs is given in their place.
_SPELLED = str.maketrans({
    "−": "-", "×": "x", "·": ".", "√": "sqrt ", "≤": "<=", "≥": ">=", "∞": "inf", "’": "'", "‘": "'",
    "“": '"', "”": '"', "–": "-", "—": "-", "→": "->", "←": "<-", "÷": "/", "…": "...", "±": "+-", "✓": "yes",
    "Σ": "sum", "Δ": "delta", "↵": "\\n", "␣": "_", "⇥": "\\t", "°": "deg", "ᵀ": "^T",
})  # fmt: skip


def print_tables(tables: Sequence[Table]) -> None:
    """Print tables one under the other, each with its title and note."""
    if sys.stdout.isatty():
        _print_rich(tables)
        return
    for table in tables:
        echo(f"\n{table.title}" if table.title else "")
        for line in aligned(table):
            echo(f"  {line}".rstrip())
        if table.note:
            echo(f"  {table.note}")


def print_heading(heading: str, says: str) -> None:
    """Print a section's title and its sentence."""
    echo(click.style(heading, bold=True))
    echo(textwrap.fill(says, shutil.get_terminal_size().columns) if sys.stdout.isatty() else says)


def echo(text: str) -> None:
    """Print a line, in other words where the output has no room for the lesson's signs."""
    click.echo(spelled(text, getattr(sys.stdout, "encoding", None) or "utf-8"))


def echo_json(value: Any) -> None:
    """Print JSON, its signs as escapes where the output has no room for them."""
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower()
    whole = encoding.replace("-", "") == "utf8"
    click.echo(json.dumps(value, ensure_ascii=not whole, allow_nan=False, indent=1))


def spelled(text: str, encoding: str) -> str:
    """Return `text` as it stands where `encoding` can hold it, else with − as -, √ as sqrt and so on.

    >>> spelled("−2 × √d", "utf-8"), spelled("−2 × √d", "ascii")
    ('−2 × √d', '-2 x sqrt d')
    """
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_SPELLED).encode(encoding, "replace").decode(encoding)
    return text


def is_numbers(cells: Sequence[str]) -> bool:
    """Return whether a column holds numbers, which stand at the right and are never broken.

    >>> is_numbers([".048", "−1", ""]), is_numbers(["16 KB", "4 MB"]), is_numbers(["the", "cat"])
    (True, True, False)
    """
    there = [cell for cell in cells if cell not in _ABSENT]
    return bool(there) and all(_NUMBER.fullmatch(cell) for cell in there)


def aligned(table: Table) -> list[str]:
    """Return a table as lines of aligned columns, however wide."""
    widths = _widths(table)
    numbers = [is_numbers(column) for column in _columns(table)]
    lines = [table.columns, *_rows(table)] if any(table.columns) else _rows(table)
    return [_line(cells, widths, numbers) for cells in lines]


def parts(table: Table, width: int) -> list[list[int]]:
    """Return which columns stand side by side in `width` characters: the first again before each part.

    A column of numbers keeps its width; one of sentences may be squeezed to 32 characters.
    """
    columns = _columns(table)
    needed = [
        least if is_numbers(column) else min(least, max(_NARROWEST, _longest_word(column)))
        for column, least in zip(columns, _widths(table), strict=True)
    ]
    found, taken = [[0]], needed[0]
    for at in range(1, len(columns)):
        if taken + _GAP + needed[at] > width and len(found[-1]) > 1:
            found.append([0])
            taken = needed[0]
        found[-1].append(at)
        taken += _GAP + needed[at]
    return found


def widths(table: Table, part: Sequence[int], width: int) -> list[int]:
    """Return the widths of columns that stand side by side: what is too wide for `width` is taken from the
    widest columns of words, as evenly as it goes.
    """
    columns = _columns(table)
    found = [_widths(table)[at] for at in part]
    words = [n for n, at in enumerate(part) if not is_numbers(columns[at])]
    while words and sum(found) + _GAP * (len(part) - 1) > width:
        widest = max(words, key=lambda n: found[n])
        if found[widest] == 1:
            break
        found[widest] -= 1
    return found


def _print_rich(tables: Sequence[Table]) -> None:
    from rich.console import Console
    from rich.table import Table as Drawn
    from rich.text import Text

    wide, high = shutil.get_terminal_size()
    # Its size is stated: rich takes a terminal that calls itself dumb for one of 80 columns.
    console = Console(highlight=False, width=wide, height=high)
    with console.capture() as captured:
        for table in tables:
            console.print()
            if table.title:
                console.print(Text(table.title, style="bold"))
            columns = _columns(table)
            for n, part in enumerate(parts(table, console.width)):
                if n:
                    console.print()
                drawn = Drawn(
                    box=None, pad_edge=False, padding=(0, _GAP, 0, 0), show_header=any(table.columns),
                    header_style="dim",
                )  # fmt: skip
                for at, fitted in zip(part, widths(table, part, console.width), strict=True):
                    numbers = is_numbers(columns[at])
                    drawn.add_column(
                        Text(table.columns[at]), justify="right" if numbers else "left", no_wrap=numbers,
                        width=fitted, overflow="fold",
                    )  # fmt: skip
                for row in _rows(table):
                    drawn.add_row(*(Text(row[at]) for at in part))
                console.print(drawn)
            if table.note:
                console.print(Text(table.note, style="dim"))
    echo(captured.get().rstrip("\n"))


def _rows(table: Table) -> list[tuple[str, ...]]:
    """Return the rows, filled up to the number of columns: a causal row ends at its own word."""
    return [row + ("",) * (len(table.columns) - len(row)) for row in table.rows]


def _columns(table: Table) -> list[list[str]]:
    rows = _rows(table)
    return [[row[at] for row in rows] for at in range(len(table.columns))]


def _widths(table: Table) -> list[int]:
    from rich.cells import cell_len

    heads = [[head, *column] for head, column in zip(table.columns, _columns(table), strict=True)]
    return [max(cell_len(cell) for cell in cells) for cells in heads]


def _longest_word(cells: Sequence[str]) -> int:
    from rich.cells import cell_len

    return max((cell_len(word) for cell in cells for word in cell.split()), default=0)


def _line(cells: Sequence[str], widths: Sequence[int], numbers: Sequence[bool]) -> str:
    from rich.cells import cell_len

    padded = [
        " " * (width - cell_len(cell)) + cell if right else cell + " " * (width - cell_len(cell))
        for cell, width, right in zip(cells, widths, numbers, strict=True)
    ]
    return (" " * _GAP).join(padded).rstrip()
