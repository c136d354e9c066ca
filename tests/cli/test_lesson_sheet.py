"""`attnscope lesson 2 --sheet`: a saved example is walked through, a broken one refused with its name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from attnscope.cli.sheets import word_at
from attnscope.errors import LessonError
from attnscope.lesson.walk import Sheet, first_sheet, walk


@pytest.fixture
def saved(tmp_path: Path) -> Any:
    """Return what saves the lesson's own example with some changes, and returns its file."""

    def save(**changes: Any) -> Path:
        path = tmp_path / "example.json"
        path.write_text(json.dumps(first_sheet().to_dict() | changes), "utf-8")
        return path

    return save


def test_section_2_a_saved_example_prints_every_sentence_of_its_walk(say: Any, saved: Any) -> None:
    said = say("lesson", 2, "--sheet", saved(), "--query", "sat")
    assert (said.code, said.err) == (0, "")
    steps = walk(first_sheet(), 2).steps
    assert len(steps) == 29
    at = -1
    for step in steps:
        at = said.out.index(f"  {step.text}\n", at + 1)
    assert "sat’s output: [.168, .928]" in said.out
    assert [line.split() for line in said.out.splitlines() if line.startswith("  cat ")][-1] == [
        "cat", "4", "2.83", ".808", "0", "1",
    ]  # fmt: skip


def test_section_2_the_causal_example_gives_the_causal_figures(say: Any, saved: Any) -> None:
    said = say("lesson", 2, "--sheet", saved(causal=True), "--query", 2)
    assert "a word sees itself and what stands before it" in said.out
    assert "sat’s output: [.152, .950]" in said.out
    last = [line.split() for line in said.out.splitlines() if line.startswith("  down")][-1]
    assert last[:4] == ["down", "0", "−∞", "0"]


def test_section_2_an_edited_example_is_walked_with_its_edits(say: Any, saved: Any) -> None:
    edited = {"q": [], "k": [[1, 0, 0.0], [1, 1, 2.0]], "v": []}
    said = say("lesson", 2, "--sheet", saved(edited=edited, causal=True), "--query", "sat")
    assert "sat’s output: [.752, .752]" in said.out
    rows = [line.split() for line in said.out.splitlines()[-5:-1]]
    assert [row[3] for row in rows] == [".248", ".248", ".503", "0"]


def test_the_walk_as_data_holds_the_sheet_and_every_step(say: Any, saved: Any) -> None:
    data = json.loads(say("lesson", 2, "--sheet", saved(), "--query", "-1", "--json").out)
    found = walk(first_sheet(), 3)
    assert Sheet.from_dict(data["sheet"]).to_dict() == first_sheet().to_dict()
    assert data["query"] == 3
    assert data["steps"] == [
        json.loads(json.dumps(step.to_dict() | {"text": step.text})) for step in found.steps
    ]


def test_a_word_is_named_by_itself_or_by_its_place() -> None:
    other = {"words": ["the", "3", "sat", "the"], "x": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]}
    sheet = Sheet.from_dict(first_sheet().to_dict() | other)
    assert word_at(sheet, None) == 3
    assert word_at(sheet, "sat") == 2
    assert word_at(sheet, "the") == 0
    assert word_at(sheet, "3") == 1  # the word, not the place
    assert word_at(sheet, "2") == 2
    assert word_at(sheet, "-4") == 0
    for wrong in ("4", "-5", "dog", "", "²", "1" * 50):
        with pytest.raises(LessonError, match=r"the, 3, sat, the, or a position from 0 to 3 is wanted"):
            word_at(sheet, wrong)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"", "Line 1, column 1 is not JSON (expecting value). A sheet is wanted"),
        (b"\xff{}", "Byte 0 is not UTF-8. A sheet is wanted"),
        (b'{"format": "attnscope-walk",}', "Line 1, column"),
        (b"[" * 100_000, "This is more than any sheet holds."),
        (b'{"a": ' + b"1" * 5_000 + b"}", "This is more than any sheet holds."),
        (b"[]", "This is no sheet of the walk."),
        (b'{"format": "attnscope-walk", "version": 2}', "The sheet has version 2."),
        (b" " * (2**20 + 1), "is longer than 1 MB."),
    ],
)
def test_a_broken_file_is_one_sentence_with_its_name(
    say: Any, tmp_path: Path, content: bytes, part: str
) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(content)
    said = say("lesson", 2, "--sheet", path)
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith(str(path)) and part in said.err
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"words": ["the"]}, "1 words"),
        ({"words": ["a", "b", "c", ""]}, "An empty word"),
        ({"words": list("abcdefghi")}, "9 words"),
        ({"x": [[float("nan")] * 4] * 4}, "x[0][0] is nan"),
        ({"wq": [[1, 0]]}, "wq has 1 rows"),
        ({"edited": {"q": [[9, 0, 1]]}}, "q[9, 0] is not on the sheet"),
        ({"causal": "yes"}, "causal is 'yes'"),
    ],
)
def test_a_sheet_that_does_not_fit_is_one_sentence_with_its_name(
    say: Any, saved: Any, changes: dict[str, Any], part: str
) -> None:
    path = saved(**changes)
    said = say("lesson", 2, "--sheet", path)
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith(f"{path}: ") and part in said.err and said.err.count("\n") == 1


def test_a_file_that_is_not_there_is_one_sentence(say: Any, tmp_path: Path) -> None:
    path = tmp_path / "none.json"
    assert say("lesson", 2, "--sheet", path) == (
        1, "", f"{path} cannot be read: No such file or directory.\n",
    )  # fmt: skip
    assert say("lesson", 2, "--sheet", tmp_path).err == f"{tmp_path} cannot be read: Is a directory.\n"
