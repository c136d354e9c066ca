"""`attnscope map` and `attnscope cells`: a head as a picture, and the largest weights with their tokens."""

from __future__ import annotations

import csv
import io
import json
import re
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from attnscope.models import open_model
from attnscope.recording import load
from attnscope.recording.mixes import OLDER
from attnscope.recording.shelf import InMemory

TEXT = "ROMEO:\nBut, so me light, so me b:\nso me"
T = len(TEXT)


@pytest.fixture(scope="module")
def saved(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    look = open_model(str(folder)).run(TEXT)
    return look.recording.save(tmp_path_factory.mktemp("map") / "look")


def words(path: Path) -> str:
    """The text of an SVG, a line for each piece."""
    from xml.etree import ElementTree

    return "\n".join(text for node in ElementTree.parse(path).iter() if (text := (node.text or "").strip()))


def test_a_picture_says_what_it_shows(say: Any, saved: Path, tmp_path: Path) -> None:
    out = tmp_path / "head.svg"
    said = say("map", saved, "--site", 1, "--head", 2, "-o", out)
    assert (said.code, said.err) == (0, "")
    assert said.out == f"{out}: site 1 layers.1.attention, head 2\n"
    told = words(out)
    for line in (
        "layer 1, head 2", "entropy, nats", "received", "≤ 1e−5",
        "a pixel is the weight of one cell; logarithmic",
        f"{T} queries, {T} keys; hatch: not visible, exactly 0", "receives the most", "certificate passed",
    ):  # fmt: skip
        assert line in told, line
    assert "M\nE\nO" not in told
    assert {"R 0", "O 1", "↵ 6", "␣ 11"} <= set(told.splitlines())


def test_a_part_is_drawn_with_its_numbers(say: Any, saved: Path, tmp_path: Path) -> None:
    out = tmp_path / "part.svg"
    place = ["--site", "layers.0.attention", "--head", 0, "--rows", "20:30", "--cols", "2:9"]
    assert say("map", saved, *place, "-o", out, "--scale", "linear", "--reduce", "mean").code == 0
    told = words(out)
    assert f"queries 20 to 29, keys 2 to 8 of {T} queries, {T} keys" in told
    weight = float(load(saved).site(0).weights(0, 24, 5))
    assert f"{weight:.3f}".removeprefix("0") in told.splitlines()
    assert "a pixel is the weight of one cell; linear" in told


def test_a_png_is_a_png_and_is_the_same_each_time(say: Any, saved: Path, tmp_path: Path) -> None:
    outs = [tmp_path / name for name in ("one.png", "two.PNG")]
    for out in outs:
        assert say("map", saved, "--site", 0, "--head", 1, "-o", out, "--reduce", "sum").code == 0
    one, two = (out.read_bytes() for out in outs)
    assert one == two and one.startswith(b"\x89PNG")
    assert struct.unpack(">I", one[16:20])[0] == 9 * 144


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--site", 7, "--head", 0], "There is no site 7 in run 0. One of 0 layers.0.attention, 1 lay"),
        (["--site", 0, "--head", 9], "There is no head 9. 0 to 2 is wanted."),
        (["--site", 0, "--head", 0, "--rows", "5"], f"--rows 5. first:end within 0:{T}, as in --rows 0:{T}."),
        (["--site", 0, "--head", 0, "--cols", "9:9"], f"There are no columns 9:9. first:end within 0:{T}."),
        (["--site", 0, "--head", 0, "--run", 3], "There is no run 3. 0 to 0."),
        (["--site", 0, "--head", 0, "--batch", 2], "Run 0 has no text 2. 0 to 0."),
    ],
)  # fmt: skip
def test_what_is_not_there_is_refused(
    words: list[Any], sentence: str, say: Any, saved: Path, tmp_path: Path
) -> None:
    said = say("map", saved, *words, "-o", tmp_path / "x.png")
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith(sentence)
    assert not list(tmp_path.iterdir())


def test_a_picture_needs_a_name_that_says_its_form(say: Any, saved: Path, tmp_path: Path) -> None:
    said = say("map", saved, "--site", 0, "--head", 0, "-o", tmp_path / "x.jpg")
    assert said.code == 2 and "a name in .png or .svg is wanted" in said.err


def test_a_refused_head_is_not_drawn_and_is_named_in_the_list(say: Any, saved: Path, tmp_path: Path) -> None:
    recording = load(saved)
    site = recording.sites[1]
    assert site.certificate is not None
    refused = replace(site.certificate, verdict=[["passed", "passed", "refused"]])
    tensors = {name: getattr(site, name) for name in "qkv"}
    shelf = InMemory(tensors, site.scoring, site.normaliser, refused)
    recording.runs[0].sites[1] = replace(site, shelf=shelf)
    where = recording.save(tmp_path / "refused")
    said = say("map", where, "--site", 1, "--head", 2, "-o", tmp_path / "x.png")
    assert said.code == 1 and said.err.startswith("Head 2 of layers.1.attention failed its certificate")
    listed = say("cells", where, "-n", 500, "--json")
    found = json.loads(listed.out)
    assert {(cell["site"], cell["head"]) for cell in found["cells"]} <= {
        (0, 0),
        (0, 1),
        (0, 2),
        (1, 0),
        (1, 1),
    }
    assert len(found["left_out"]) == 1 and found["left_out"][0].startswith(
        "layers.1.attention, head 2: Head 2"
    )


@pytest.mark.parametrize("skip", [[], ["--skip-first", "--skip-near", 2]])
def test_the_list_holds_the_largest_weights_of_all_heads(skip: list[Any], say: Any, saved: Path) -> None:
    found = json.loads(say("cells", saved, "-n", 40, "--json", *skip).out)["cells"]
    grid = torch.stack([site.weights(head) for site in load(saved).sites for head in range(3)])
    if skip:
        i, j = torch.arange(T)[:, None], torch.arange(T)
        grid = grid.masked_fill((j == 0) | (i - j < 2), 0.0)
    assert [cell["weight"] for cell in found] == grid.flatten().sort(descending=True).values[:40].tolist()
    for cell in found:
        assert cell["weight"] == float(grid[cell["site"] * 3 + cell["head"], cell["i"], cell["j"]])
        assert (cell["query"]["text"], cell["key"]["text"]) == (TEXT[cell["i"]], TEXT[cell["j"]])
        assert cell["back"] == cell["i"] - cell["j"]


def test_the_list_of_one_head_is_read_by_a_person_or_a_script(say: Any, saved: Path) -> None:
    place = ["--site", 1, "--head", 2, "-n", 4, "--skip-first"]
    told = say("cells", saved, *place).out.splitlines()
    rows = list(csv.DictReader(io.StringIO(say("cells", saved, *place, "--csv").out)))
    assert told[0].split() == ["weight", "site", "layer", "head", "query", "i", "key", "j", "back"]
    assert len(told) == 5 and len(rows) == 4
    for line, row in zip(told[1:], rows, strict=True):
        assert line.split()[0] == f"{float(row['weight']):.7f}"
        assert (row["site"], row["layer"], row["head"]) == ("1", "1", "2")
        assert line.split()[-1] == row["back"]


def test_the_list_of_values_is_of_weight_times_length_and_tells_both(say: Any, saved: Path) -> None:
    sites = load(saved).sites
    grid = torch.stack([site.mixes(head).values for site in sites for head in range(3)])
    found = json.loads(say("cells", saved, "-n", 30, "--values", "--json").out)["cells"]
    want = grid.flatten().sort(descending=True).values[:30].tolist()
    assert [cell["weight_times_length"] for cell in found] == want
    for cell in found:
        site, place = sites[cell["site"]], (cell["head"], cell["i"], cell["j"])
        assert cell["weight"] == float(site.weights(*place))
        assert cell["value_length"] == float(site.mixes(*place).lengths)
        assert cell["times"] == "weight × |v W_O|"
    told = say("cells", saved, "-n", 3, "--values").out.splitlines()
    assert re.split(" {2,}", told[0].strip())[:4] == ["weight", "|v W_O|", "weight × |v W_O|", "site"]
    rows = list(csv.DictReader(io.StringIO(say("cells", saved, "-n", 3, "--values", "--csv").out)))
    assert [float(row["weight_times_length"]) for row in rows] == want[:3]


def test_a_list_of_values_names_the_heads_whose_lengths_are_not_known(
    say: Any, folder: Path, tmp_path: Path
) -> None:
    recording = open_model(str(folder)).run(TEXT).recording
    object.__setattr__(recording.sites[1].shelf, "lengths", OLDER)
    said = say("cells", recording.save(tmp_path / "old"), "--values", "-n", 4)
    assert said.code == 0 and said.err.count("layers.1.attention has no lengths of values") == 3
    alone = say("cells", tmp_path / "old", "--site", 1, "--values")
    assert alone.code == 1 and "the recording is from before" in alone.err


def test_a_list_that_cannot_be_is_refused(say: Any, saved: Path) -> None:
    assert say("cells", saved, "-n", 0).err == "n=0. 1 to 10,000 cells.\n"
    assert say("cells", saved, "--head", 5).err == "There is no head 5. 0 to 2 is wanted.\n"
    assert say("cells", saved, "--json", "--csv").code == 2
    assert say("cells", saved / "nowhere").code == 1


def test_a_picture_of_values_says_what_its_numbers_are(say: Any, saved: Path, tmp_path: Path) -> None:
    out = tmp_path / "values.svg"
    place = ["--site", 1, "--head", 2, "--rows", "20:30", "--cols", "2:9"]
    said = say("map", saved, *place, "--values", "--scale", "linear", "-o", out)
    assert (said.code, said.err) == (0, "")
    told = words(out)
    mixes = load(saved).site(1).mixes(2)
    assert "weight × |v W_O|" in told and "received\n× |v W_O|" in told
    assert "a pixel is the weight × |v W_O| of one cell; linear" in told
    assert "|v W_O|: the length of the key's value after W_O, layers.1.attention" in told
    assert f"in the unit of the hidden states, {float(mixes.lengths.max()):.3f}".rstrip("0") in told
    assert "gives the most" in told and "of all weight × |v W_O|" in told
    assert f"{float(mixes.values[24, 5]):.3f}".removeprefix("0") in told.splitlines()
