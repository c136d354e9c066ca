"""A sheet: what it holds, how it is saved, and what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from attnscope.errors import LessonError
from attnscope.lesson.walk import Sheet, first_sheet
from attnscope.lesson.walk.sheet import Edit

WRONG = json.loads(Path(__file__).with_name("wrong_sheets.json").read_text("utf-8"))


def test_a_sheet_is_saved_and_read_again() -> None:
    sheet = replace(
        first_sheet(), causal=True, scale=False, edited=(Edit("v", 3, 1, -0.25), Edit("q", 0, 0, 1e6))
    )
    data = json.loads(json.dumps(sheet.to_dict()))
    assert list(data) == ["format", "version", "words", "x", "wq", "wk", "wv", "edited", "causal", "scale"]
    assert data["edited"] == {"q": [[0, 0, 1e6]], "k": [], "v": [[3, 1, -0.25]]}
    assert Sheet.from_dict(data) == sheet


def test_what_a_file_may_leave_out_has_its_usual_value() -> None:
    data = first_sheet().to_dict()
    for name in ("edited", "causal", "scale"):
        del data[name]
    assert Sheet.from_dict(data) == first_sheet()


def test_two_spellings_of_one_word_are_one_word() -> None:
    words = ("café", "cafe\u0301")
    sheet = Sheet(words, [[1.0]], [[1.0]], [[1.0]], [[1.0]])  # type: ignore[arg-type]
    assert sheet.distinct == ("café",)
    assert sheet.row(0) == sheet.row(1) == 0


def test_no_number_is_minus_zero() -> None:
    sheet = replace(first_sheet(), wq=((-0.0, 1.0),) * 4, edited=(Edit("k", 0, 0, -0.0),))
    assert str(sheet.wq[0][0]) == "0.0"
    assert str(sheet.edited[0].value) == "0.0"


@pytest.mark.parametrize("case", WRONG, ids=[case["name"] for case in WRONG])
def test_a_file_that_is_no_sheet_is_refused_with_a_reason(case: dict[str, Any]) -> None:
    with pytest.raises(LessonError) as caught:
        Sheet.from_dict(first_sheet().to_dict() | case["with"])
    assert caught.value.what.startswith(case["python"])
    assert caught.value.wanted


@pytest.mark.parametrize("data", [None, 3, [], "words", {}, {"format": "other"}])
def test_anything_else_is_no_sheet(data: Any) -> None:
    with pytest.raises(LessonError, match="This is no sheet of the walk"):
        Sheet.from_dict(data)


def test_a_sheet_without_its_words_is_refused() -> None:
    data = first_sheet().to_dict()
    del data["words"]
    with pytest.raises(LessonError, match="The sheet lacks words"):
        Sheet.from_dict(data)
