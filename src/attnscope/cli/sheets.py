"""Reads an example that was saved from the page's walk, and prints the walk of one of its words."""

from __future__ import annotations

import json
from typing import Any

from attnscope.cli.tables import echo_json, print_heading, print_tables
from attnscope.errors import LessonError
from attnscope.files import home_made, reading
from attnscope.lesson import Table
from attnscope.lesson.walk import Sheet, Walk, walk
from attnscope.looks.numbers import typed, weight

LARGEST = 2**20  # bytes; eight words of width eight are some thousand
_WANTED = "A sheet is wanted, as the page Walk saves it"


def read_sheet(file: str) -> Sheet:
    """Return the sheet of a file. Raises LessonError with the file's name and what does not fit."""
    path = home_made(file, LessonError)
    with reading(path, LessonError), path.open("rb") as opened:
        raw = opened.read(LARGEST + 1)
    if len(raw) > LARGEST:
        raise LessonError(f"{path} is longer than {LARGEST // 2**20} MB", wanted=_WANTED)
    try:
        return Sheet.from_dict(_json(raw))
    except LessonError as error:
        raise LessonError(f"{path}: {error.what}", wanted=error.wanted, hint=error.hint) from None


def word_at(sheet: Sheet, query: str | None) -> int:
    """Return the position of the word that asks: the word itself, or its position counted from 0.

    A negative position counts from the end, and without one it is the last word. Of a word that stands twice
    the first is meant. Raises LessonError where there is no such word.
    """
    if query is None:
        return sheet.n - 1
    if query in sheet.words:
        return sheet.words.index(query)
    digits = query.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits) < 4 and -sheet.n <= int(query) < sheet.n:
        return int(query) % sheet.n
    listed = ", ".join(sheet.words)
    raise LessonError(
        f"There is no word {query!r:.40} on the sheet",
        wanted=f"One of {listed}, or a position from 0 to {sheet.n - 1} is wanted",
    )


def print_walk(sheet: Sheet, query: int, as_json: bool) -> None:
    """Print every step of the walk of the word at position `query`, then its row in one table."""
    found = walk(sheet, query)
    if as_json:
        echo_json(_data(found))
        return
    print_heading(f"The walk of {sheet.words[query]}", _settings(sheet))
    rows = tuple((str(step.number), step.stage, step.text) for step in found.steps)
    print_tables([Table("Step by step", ("step", "stage", "what happens"), rows), _row(found)])


def _settings(sheet: Sheet) -> str:
    mask = "a word sees itself and what stands before it" if sheet.causal else "every word sees every word"
    scale = "products are divided by √d" if sheet.scale else "nothing is divided"
    return f"{' '.join(sheet.words)}: d = {sheet.d}; {mask}; {scale}."


def _row(found: Walk) -> Table:
    """Return the row of the query: each key with its product, its score, its weight and its value."""
    sheet, i, at = found.sheet, found.query, found.values.at
    rows = tuple(
        (
            word,
            typed(at("products", i, j)),
            typed(at("scores", i, j)),
            weight(at("weights", i, j)),
            " ".join(typed(at("v", j, c), 3) for c in range(sheet.d)),
        )
        for j, word in enumerate(sheet.words)
    )
    out = ", ".join(weight(at("out", i, c)) for c in range(sheet.d))
    note = f"{sheet.words[i]}’s output: [{out}]"
    return Table("Its row", ("key", "q·k", "score", "weight", "value"), rows, note)


def _data(found: Walk) -> dict[str, Any]:
    steps = [step.to_dict() | {"text": step.text} for step in found.steps]
    return {"sheet": found.sheet.to_dict(), "query": found.query, "steps": steps}


def _json(raw: bytes) -> Any:
    try:
        return json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise LessonError(f"Byte {error.start:,} is not UTF-8", wanted=_WANTED) from None
    except json.JSONDecodeError as error:
        raise LessonError(
            f"Line {error.lineno}, column {error.colno} is not JSON ({error.msg.lower()})", wanted=_WANTED
        ) from None
    except (ValueError, RecursionError):  # a number of thousands of digits, a list a thousand deep
        raise LessonError("This is more than any sheet holds", wanted=_WANTED) from None
