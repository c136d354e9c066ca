"""Command lines that nobody means: each is refused in a sentence, by one rule in every command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest

from attnscope.cli.lazy import LazyGroup
from attnscope.models import open_model

HOSTILE = (
    "", "-1", "-99", "1.5", "nan", "1e999", "99999999999999999999", "٣", "½", "~nosuchuser/x", "a\0b",
    "x" * 5_000, "/dev/null/x", ".", "0:0", "5:1", "[", "中",
)  # fmt: skip
"""What is given for each option in turn."""

LINES = {
    "cells": ["SAVED", "-n", "2"],
    "compare": ["SAVED", "SAVED"],
    "export": ["SAVED", "-o", "OUT/a.csv", "--site", "0"],
    "heads": ["SAVED"],
    "info": ["SAVED"],
    "knockout": ["MODEL", "--text", "But, so", "--site", "0", "--head", "1"],
    "look": ["MODEL", "--text", "But, so", "--layer", "0", "--head", "1"],
    "map": ["SAVED", "--site", "0", "--head", "1", "-o", "OUT/a.png"],
    "record": ["MODEL", "--text", "But, so", "-o", "OUT/made"],
    "verify": ["SAVED"],
}
"""A line that works, for each command that may be given anything without long work."""

HEADS = {
    "cells": [], "export": [], "look": [], "knockout": [],
    "map": ["-o", "OUT/b.png"], "compare": ["--site", "0", "-o", "OUT/b.png"],
}  # fmt: skip
"""What else goes with --head."""


@pytest.fixture(scope="module")
def saved(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return open_model(str(folder)).run("But, so").recording.save(tmp_path_factory.mktemp("bad") / "saved")


@pytest.fixture
def line(folder: Path, saved: Path, tmp_path: Path) -> Any:
    """Return what puts real places into a line of words."""

    def one(*words: str) -> list[str]:
        put = {"SAVED": str(saved), "MODEL": str(folder)}
        return [put.get(word, word.replace("OUT", str(tmp_path))) for word in words]

    return one


def test_the_lines_work_as_they_are(say: Any, line: Any) -> None:
    for name, words in LINES.items():
        assert say(*line(name, *words)).code == 0, name


@pytest.mark.parametrize("name", list(LINES))
def test_whatever_an_option_is_given_is_refused_in_a_sentence(
    say: Any, line: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = LazyGroup().get_command(click.Context(LazyGroup()), name)
    assert command is not None
    for option in command.params:
        if not isinstance(option, click.Option) or option.is_flag or option.is_eager:
            continue
        for value in HOSTILE:
            _plain(say(*line(name, *LINES[name], option.opts[0], value)), name, option.opts[0], value)
    for value in HOSTILE:
        _plain(
            say(name, *line(*[value if word in ("SAVED", "MODEL") else word for word in LINES[name]])), name
        )


def _plain(said: Any, *where: str) -> None:
    assert said.code in (0, 1, 2), where
    assert "did not expect" not in said.err and "Traceback" not in said.err, (where, said.err)
    assert said.code == 0 or (said.err + said.out).strip(), where


@pytest.mark.parametrize("name", list(HEADS))
def test_heads_are_counted_from_0_by_every_command(say: Any, line: Any, name: str) -> None:
    said = say(*line(name, *LINES[name], *HEADS[name], "--head", "-1"))
    assert (said.code, said.out) == (1, "") and said.err.startswith("There is no head -1."), said.err


@pytest.mark.parametrize("name", ["cells", "compare", "export", "map"])
@pytest.mark.parametrize(("option", "what"), [("--run", "run"), ("--batch", "text")])
def test_runs_and_texts_are_counted_from_0_by_every_command(
    say: Any, line: Any, name: str, option: str, what: str
) -> None:
    said = say(*line(name, *LINES[name], option, "-1"))
    assert said.code == 1 and f"no {what} -1." in said.err, said.err


def test_a_text_of_no_length_is_refused_by_whatever_writes(say: Any, line: Any) -> None:
    for words in (["sample", "embedded", "--length", "0"], ["record", *LINES["record"], "--generate", "0"]):
        said = say(*line(*words))
        assert (said.code, said.out) == (2, "") and "0 is not in the range x>=1" in said.err, words
