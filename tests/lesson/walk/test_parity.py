"""The page's interpreter against Python: the same numbers, steps and sentences on 200 random sheets."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

import attnscope.web
from attnscope.lesson.walk import Sheet, Walk, change, first_sheet, recipe, walk
from tests.lesson.walk.sheets import sheet as random_sheet

SHEETS = 200
_CODE = Path(attnscope.web.__file__).parent / "static" / "js" / "pure" / "walk"
_TINY = 1e-290  # where float64 runs out of digits, so do these tests

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node runs the page's code")


@cache
def cases() -> list[tuple[Sheet, int, Sheet]]:
    """The sheets, the position that asks on each, and the sheet that it was before an edit."""
    made = []
    for seed in range(SHEETS):
        sheet, random = random_sheet(seed), Random(-1 - seed)
        made.append((sheet, random.randrange(sheet.n), _before(sheet, random)))
    return made


def _before(sheet: Sheet, random: Random) -> Sheet:
    """A sheet near by, from which an edit leads to this one."""
    way = random.choice(("mask", "scale", "cell", "matrix", "word", "other", "edits", "none"))
    if way == "mask":
        return replace(sheet, causal=not sheet.causal)
    if way == "scale":
        return replace(sheet, scale=not sheet.scale, causal=random.random() < 0.5)
    if way == "cell":
        return replace(sheet, edited=sheet.edited[1:])
    if way == "edits":
        return replace(sheet, edited=())
    if way == "matrix":
        name = random.choice(("x", "wq", "wk", "wv"))
        rows = [list(row) for row in getattr(sheet, name)]
        rows[random.randrange(len(rows))][0] += 1.0 if abs(rows[0][0]) < 1e5 else 0.0
        return replace(sheet, **{name: rows})
    if way == "word":
        at = random.randrange(sheet.n)
        twin = sheet.words.count(sheet.words[at]) > 1
        words = tuple("dog" if i == at else word for i, word in enumerate(sheet.words))
        return sheet if twin else replace(sheet, words=words)
    return sheet if way == "none" else random_sheet(random.randrange(10_000))


@cache
def page() -> list[dict[str, Any]]:
    """What the page makes of the cases."""
    asked = {
        "recipe": recipe(),
        "fresh": first_sheet().to_dict(),
        "cases": [
            {"sheet": sheet.to_dict(), "query": query, "before": before.to_dict()}
            for sheet, query, before in cases()
        ],
    }
    script = Path(__file__).with_name("interpreter.mjs")
    done = subprocess.run(
        ["node", str(script), str(_CODE)],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


@cache
def walks() -> list[Walk]:
    """The same cases in Python."""
    return [walk(sheet, query) for sheet, query, _ in cases()]


def _flat(value: Any) -> Iterator[float]:
    if isinstance(value, list):
        for one in value:
            yield from _flat(one)
    else:
        yield float(value)


def test_every_number_of_the_page_is_pythons_to_1e_12() -> None:
    for found, there in zip(walks(), page(), strict=True):
        for name, grid in found.values.grids.items():
            here = list(_flat(grid.tolist()))
            other = list(_flat(there["grids"][name]))
            assert len(here) == len(other), name
            for one, two in zip(here, other, strict=True):
                assert one == two or abs(one - two) <= 1e-12 * max(abs(one), _TINY), (
                    name,
                    found.sheet,
                    one,
                    two,
                )


def test_every_step_and_every_sentence_is_pythons_letter_by_letter() -> None:
    letters = 0
    for found, there in zip(walks(), page(), strict=True):
        here = [step.to_dict() for step in found.steps]
        assert len(here) == 6 * found.sheet.n + 5
        for step, other in zip(here, there["steps"], strict=True):
            assert step == other, found.sheet
        letters += sum(len(piece["text"]) for step in here for piece in step["sentence"])
    assert letters > 300_000


def test_what_an_edit_did_is_said_in_the_same_words() -> None:
    said = set()
    for (sheet, query, before), there in zip(cases(), page(), strict=True):
        here = change(before, sheet, query)
        assert here == there["change"], (before, sheet)
        said.add(here.split()[0])
    assert len(said) > 10


def test_words_that_stand_twice_get_the_same_labels() -> None:
    for found, there in zip(walks(), page(), strict=True):
        assert list(found.values.labels) == there["labels"]
        assert len(set(there["labels"])) == found.sheet.n


def test_a_sheet_comes_back_from_the_pages_file_and_from_its_address() -> None:
    for (sheet, *_), there in zip(cases(), page(), strict=True):
        assert Sheet.from_dict(there["file"]) == sheet
        assert Sheet.from_dict(there["address"]) == sheet
