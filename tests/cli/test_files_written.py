"""What a command writes: refused before the work where it cannot be, and each file says what it is of."""

from __future__ import annotations

import csv
import json
import os
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from attnscope.comparison import compare as compared
from attnscope.models import open_model

A, B = "the cat sat on the mat.", "the black cat, the mat!"
OUT = "FILE"
WRITERS = {
    "export": ["export", "a", "--site", 1, "--head", 2, "-o", OUT],
    "map": ["map", "a", "--site", 1, "--head", 2, "-o", OUT],
    "compare": ["compare", "a", "b", "-o", OUT],
    "compare, a picture": ["compare", "a", "b", "--site", 1, "--head", 2, "-o", OUT],
    "heads": ["heads", "a", "--draws", 0, "-o", OUT],
}
ENDS = {"map": "png", "compare, a picture": "svg"}


@pytest.fixture(scope="module")
def two(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    subject, where = open_model(str(folder)), tmp_path_factory.mktemp("written")
    for name, text in (("a", A), ("b", B)):
        subject.run(text).recording.save(where / name)
    return where


def _words(name: str, two: Path, out: Path) -> list[Any]:
    found = [two / word if word in ("a", "b") else out if word == OUT else word for word in WRITERS[name]]
    return [found[0], *found[1:]]


@pytest.mark.parametrize("name", WRITERS)
def test_a_folder_in_the_place_of_a_file_is_refused(name: str, say: Any, two: Path, tmp_path: Path) -> None:
    out = tmp_path / f"there.{ENDS.get(name, 'csv')}"
    out.mkdir()
    said = say(*_words(name, two, out))
    wanted = f"{out} is a folder. The name of a file. Choose another name.\n"
    assert (said.code, said.out, said.err) == (1, "", wanted)


@pytest.mark.parametrize("name", WRITERS)
def test_the_folder_of_a_file_is_made(name: str, say: Any, two: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "er é" / f"one.{ENDS.get(name, 'csv')}"
    said = say(*_words(name, two, out))
    assert (said.code, said.err) == (0, "") and out.stat().st_size > 100


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_above_it_is_refused(name: str, say: Any, two: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    said = say(*_words(name, two, tmp_path / "file" / f"one.{ENDS.get(name, 'csv')}"))
    assert said.code == 1 and f"{tmp_path / 'file'} is no folder. Choose another folder." in said.err


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to the administrator")
def test_a_folder_in_which_one_may_not_write_is_refused(say: Any, two: Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    said = say(*_words("compare", two, tmp_path / "one.csv"))
    assert said.code == 1 and "is a folder in which you may not write" in said.err


def test_nothing_is_compared_for_a_file_that_cannot_be(
    say: Any, two: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["attnscope.comparison.compare"], "compared", None)
    (tmp_path / "d.csv").mkdir()
    assert say("compare", two / "a", two / "b", "-o", tmp_path / "d.csv").err.startswith(str(tmp_path))


def test_a_comparison_says_of_which_models_versions_and_certificates_it_is(
    say: Any, two: Path, tmp_path: Path
) -> None:
    for out in ("list.csv", "list.json", "one.png", "one.svg"):
        head = ["--site", 1, "--head", 2] if out.startswith("one") else []
        assert say("compare", two / "a", two / "b", *head, "-o", tmp_path / out).code == 0
    first, *lines = (tmp_path / "list.csv").read_text("utf-8").splitlines()
    assert first.startswith("# attnscope {") and len(list(csv.DictReader(lines))) == 6
    with Image.open(tmp_path / "one.png") as image:
        picture = json.loads(image.info["attnscope"])
    drawn = ElementTree.parse(tmp_path / "one.svg").iter("{http://purl.org/dc/elements/1.1/}description")
    assert json.loads(next(drawn).text or "") == picture
    found = json.loads((tmp_path / "list.json").read_text("utf-8"))
    assert found["about"] == json.loads(first.removeprefix("# attnscope "))
    for told, heads in ((found["about"], 6), (picture, 1)):
        for side in ("a", "b"):
            assert told[side]["versions"]["torch"] and told[side]["model"]["class"]
            assert [one["certificate"]["verdict"] for one in told[side]["heads"]] == ["passed"] * heads
    order = [(one.layer, one.head) for one in compared(two / "a", two / "b").heads]
    assert [(one["layer"], one["head"]) for one in found["about"]["b"]["heads"]] == order


def test_a_map_says_what_it_is_of(say: Any, two: Path, tmp_path: Path) -> None:
    assert say("map", two / "a", "--site", 1, "--head", 2, "-o", tmp_path / "map.png").code == 0
    with Image.open(tmp_path / "map.png") as image:
        told = json.loads(image.info["attnscope"])
    assert told["heads"][0]["head"] == 2 and told["heads"][0]["certificate"]["verdict"] == "passed"


def test_a_part_of_all_heads_is_drawn_as_that_part(say: Any, two: Path, tmp_path: Path) -> None:
    for name, words in (("whole.png", []), ("part.png", ["--rows", "0:5", "--cols", "0:5"])):
        assert say("export", two / "a", *words, "-o", tmp_path / name).code == 0
    assert (tmp_path / "whole.png").read_bytes() != (tmp_path / "part.png").read_bytes()


@pytest.mark.parametrize("rows", ["5:5", "9:3", "0:999"])
def test_rows_that_are_not_there_are_refused(rows: str, say: Any, two: Path, tmp_path: Path) -> None:
    said = say("export", two / "a", "--site", 1, "--rows", rows, "-o", tmp_path / "x.csv")
    assert said.code == 1 and said.err == f"There are no rows {rows}. first:end within 0:{len(A)}.\n"


@pytest.mark.parametrize("limit", ["nan", "inf"])
def test_a_limit_that_is_no_number_is_refused(limit: str, say: Any, two: Path, tmp_path: Path) -> None:
    said = say("export", two / "a", "--limit", limit, "-o", tmp_path / "x.html")
    assert said.code == 2 and "--limit" in said.err


@pytest.mark.parametrize("form", ["--json", "--csv"])
def test_printing_and_a_file_exclude_each_other(form: str, say: Any, two: Path, tmp_path: Path) -> None:
    said = say("compare", two / "a", two / "b", form, "-o", tmp_path / "x.csv")
    assert said.code == 2 and f"{form} prints, and -o writes a file" in said.err


def test_cells_of_a_recording_without_weights_say_that_none_were_kept(
    say: Any, folder: Path, tmp_path: Path
) -> None:
    assert say("record", folder, "--text", A, "--keep", "summary", "-o", tmp_path / "sums").code == 0
    said = say("cells", tmp_path / "sums")
    assert (said.code, said.out) == (1, "") and "was not kept" in said.err and said.err.count("\n") == 1


@pytest.mark.parametrize("rows", ["9:3", "4:4", "-2:-5"])
def test_a_knock_out_of_no_row_is_refused(rows: str, say: Any, folder: Path) -> None:
    said = say("knockout", folder, "--text", A, "--site", 0, "--head", 0, f"--rows={rows}")
    assert said.code == 2 and "holds no place" in said.err


@pytest.mark.parametrize(
    ("raw", "advice"),
    [
        (b"\xff\xfeT\0", "iconv -f UTF-16 -t UTF-8 'a b.txt' turns it into UTF-8"),
        (b"caf\xe9", "iconv -f LATIN1 -t UTF-8 'a b.txt' turns an older encoding into it"),
    ],
)
def test_a_text_of_another_encoding_says_what_turns_it(
    raw: bytes, advice: str, say: Any, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a b.txt").write_bytes(raw)
    said = say("look", folder, "--file", "a b.txt", "--layer", 0, "--head", 0)
    assert said.code == 1 and advice in said.err
