"""`attnscope export` writes what the name of the file says, and refuses what it cannot write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attnscope.models import open_model
from attnscope.recording import load
from attnscope.recording.mixes import OLDER

TEXT = "ROMEO:\nBut, so me light"


@pytest.fixture(scope="module")
def saved(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    look = open_model(str(folder)).run(TEXT)
    return look.recording.save(tmp_path_factory.mktemp("export") / "look")


@pytest.mark.parametrize(
    ("form", "begins"),
    [
        ("html", b"<!doctype html>"), ("png", b"\x89PNG"), ("svg", b"<?xml"), ("csv", b"# attnscope {"),
        ("npz", b"PK"),
    ],
)  # fmt: skip
def test_the_name_says_the_form(form: str, begins: bytes, say: Any, saved: Path, tmp_path: Path) -> None:
    out = tmp_path / f"head.{form}"
    said = say("export", saved, "--site", 1, "--head", 2, "-o", out)
    assert (said.code, said.out, said.err) == (0, f"{out}\n", "")
    assert out.read_bytes().startswith(begins)


def test_a_part_is_that_of_the_recording(say: Any, saved: Path, tmp_path: Path) -> None:
    out = tmp_path / "part.npz"
    assert say("export", saved, "--site", 1, "--rows", "4:9", "--cols", ":6", "-o", out).code == 0
    with np.load(out) as held:
        wanted = load(saved).site(1).weights(2, slice(4, 9), slice(0, 6))
        assert np.array_equal(held["weights"][2], wanted.numpy())


def test_what_a_page_has_no_room_for_is_said(say: Any, saved: Path, tmp_path: Path) -> None:
    assert say("export", saved, "-o", tmp_path / "whole.html").err == ""
    least = (tmp_path / "whole.html").stat().st_size - 6_000
    said = say("export", saved, "-o", tmp_path / "small.html", "--limit", str(least / 1e6))
    assert said.code == 0 and "has no room for more" in said.err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["-o", "x.xls"], 2, "a name in .html, .png, .svg, .csv, .parquet or .npz is wanted"),
        (["-o", "x.csv", "--limit", "3"], 2, "--limit does not go with .csv"),
        (["-o", "x.html", "--cols", "3:4"], 2, "--cols does not go with .html"),
        (["-o", "x.csv", "--site", "9"], 1, "There is no site 9"),
        (["-o", "x.csv", "--site", "0", "--head", "7"], 1, "There is no head 7"),
    ],
)
def test_what_cannot_be_written_is_refused(
    words: list[str], code: int, message: str, say: Any, saved: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    said = say("export", saved, *words)
    assert said.code == code and message in said.err
    assert list(tmp_path.iterdir()) == []


def test_values_are_exported_beside_the_weights_and_named(say: Any, saved: Path, tmp_path: Path) -> None:
    site = load(saved).site(1)
    mixes = site.mixes(2)
    out = tmp_path / "values.npz"
    assert say("export", saved, "--site", 1, "--head", 2, "--values", "-o", out).code == 0
    with np.load(out) as held:
        assert np.array_equal(held["weights"][0], site.weights(2).numpy())
        assert np.array_equal(held["value_lengths"][0], mixes.lengths.numpy())
        assert np.array_equal(held["weights_times_lengths"][0], mixes.values.numpy())
        assert "in the unit of the hidden states" in str(held["attnscope"])
    page = tmp_path / "values.html"
    assert say("export", saved, "--site", 1, "--head", 2, "--values", "-o", page).code == 0
    assert '"values":true' in page.read_text()
    drawn = tmp_path / "values.svg"
    assert say("export", saved, "--site", 1, "--head", 2, "--values", "-o", drawn).code == 0
    assert "weight × |v W_O|" in drawn.read_text()


@pytest.mark.parametrize("form", ["html", "png", "csv", "npz"])
def test_lengths_that_are_not_known_are_refused_with_their_reason(
    form: str, say: Any, folder: Path, tmp_path: Path
) -> None:
    look = open_model(str(folder)).run(TEXT)
    for site in look.recording.sites:
        object.__setattr__(site.shelf, "lengths", OLDER)
    old = look.recording.save(tmp_path / "old")
    said = say("export", old, "--site", 1, "--head", 2, "--values", "-o", tmp_path / f"x.{form}")
    assert said.code != 0 and not (tmp_path / f"x.{form}").exists()
    assert "layers.1.attention has no lengths of values: the recording is from before" in said.err
