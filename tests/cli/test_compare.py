"""`attnscope compare`: two recordings as a ranked list, a file, and three pictures of a head."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from attnscope.comparison import compare
from attnscope.listen import record
from attnscope.models import open_model

A, B = "the cat sat on the mat.", "the black cat, the mat!"


@pytest.fixture(scope="module")
def two(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    subject, where = open_model(str(folder)), tmp_path_factory.mktemp("compared")
    return subject.run(A).recording.save(where / "a"), subject.run(B).recording.save(where / "b")


def test_a_list_ranks_the_heads_and_says_how_they_were_aligned(say: Any, two: tuple[Path, Path]) -> None:
    said = say("compare", *two, "-n", 4)
    found = compare(*two)
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0].startswith(f"A: {two[0]}, ") and lines[1].startswith(f"B: {two[1]}, ")
    first = found.heads[0]
    assert lines[2] == (
        f"aligned by token: {first.rows} rows compared, {first.rows_a} of A and {first.rows_b} of B "
        "without a fellow; lost: weight on keys without a fellow"
    )
    assert lines[4].split()[:4] == [
        str(first.layer), str(first.head), f"{first.mean:.7f}", f"{first.largest:.7f}"
    ]  # fmt: skip
    assert len(lines) == 9 and lines[-1] == "2 heads more; -n says how many"


@pytest.mark.parametrize("by", ["mean", "largest"])
def test_a_file_holds_every_head(by: str, say: Any, two: tuple[Path, Path], tmp_path: Path) -> None:
    found = compare(*two, "position").ordered(by)
    for name in ("list.csv", "list.json"):
        out = tmp_path / name
        said = say("compare", *two, "--align", "position", "--by", by, "-o", out)
        assert (said.code, said.out) == (0, f"{out}: 6 heads\n")
    rows = list(csv.DictReader((tmp_path / "list.csv").read_text("utf-8").splitlines()[1:]))
    told = json.loads((tmp_path / "list.json").read_text("utf-8"))["heads"]
    for one, row, entry in zip(found, rows, told, strict=True):
        assert (int(row["layer"]), int(row["head"]), float(row["mean"])) == (one.layer, one.head, one.mean)
        assert entry["largest"] == one.largest
    assert json.loads(say("compare", *two, "--align", "position", "--by", by, "--json").out)["heads"] == told


@pytest.mark.parametrize("name", ["one.svg", "one.png"])
def test_a_picture_has_both_heads_and_a_difference_with_its_sign(
    name: str, say: Any, two: tuple[Path, Path], tmp_path: Path
) -> None:
    out = tmp_path / name
    said = say("compare", *two, "--site", 1, "--head", 2, "-o", out)
    assert (said.code, said.err) == (0, "") and said.out == f"{out}: layers.1.attention, head 2\n"
    if name.endswith("png"):
        assert out.read_bytes().startswith(b"\x89PNG")
        return
    told = out.read_text("utf-8")
    for words in (
        "layer 1, head 2",
        "orange where B has more",
        "a pixel is B − A",
        "+.01",
        "−1",
        "aligned by token",
    ):
        assert words in told, words


def test_models_of_two_shapes_are_told_how_to_be_compared(
    say: Any, two: tuple[Path, Path], tmp_path: Path
) -> None:
    from attnscope.gpt import GPT, CharacterTokenizer, GPTConfig
    from attnscope.gpt.store import save_model

    letters = "".join(sorted(set(A + B)))
    save_model(GPT(GPTConfig(len(letters), 40, 1, 2, 8), CharacterTokenizer(letters), seed=1), tmp_path / "m")
    other = open_model(str(tmp_path / "m")).run(A).recording.save(tmp_path / "other")
    said = say("compare", two[0], other)
    assert said.code == 1 and "the second 1 layers of 2 heads" in said.err
    assert "--pair 3.5=2.1" in said.err
    lines = say("compare", two[0], other, "--pair", "1.2=0.1", "--pair", "0.0=0.0").out.splitlines()
    assert lines[3].split()[:5] == ["layer", "head", "of", "B", "mean"] and len(lines) == 6


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--pair", "1-2"], "--pair 1-2: LAYER.HEAD=LAYER.HEAD is wanted, such as 3.5=2.1."),
        (["--site", 0], "--site and --head go together."),
        (["--site", 0, "--head", 0], "--site and --head want -o FILE"),
        (["-o", "x.png"], "a name in .csv or .json is wanted (a picture wants --site and --head)."),
        (["--site", 0, "--head", 0, "-o", "x.csv"], "a name in .png or .svg is wanted."),
        (["--json", "--csv"], "--json and --csv exclude each other."),
    ],
)
def test_words_that_do_not_go_together_are_refused(
    words: list[Any], sentence: str, say: Any, two: tuple[Path, Path]
) -> None:
    said = say("compare", *two, *words)
    assert said.code == 2 and sentence in " ".join(said.err.split())


def test_two_runs_of_one_recording_are_told_apart(say: Any, folder: Path, tmp_path: Path) -> None:
    assert say("record", folder, "--text", A, "--text", B, "-o", tmp_path / "both").code == 0
    said = say("compare", tmp_path / "both", tmp_path / "both", "--run", 0, "--run-b", 1, "--csv")
    alone = compare(tmp_path / "both", tmp_path / "both", run=(0, 1))
    rows = list(csv.DictReader(said.out.splitlines()))
    assert [float(row["mean"]) for row in rows] == [one.mean for one in alone.heads]
    lines = say("compare", tmp_path / "both", tmp_path / "both", "--run-b", 0).out.splitlines()
    assert [line.split(", ")[1] for line in lines[:2]] == ["run 1", "run 0"]


def test_two_texts_of_a_batch_are_compared(say: Any, tmp_path: Path) -> None:
    layer = torch.nn.TransformerEncoderLayer(8, 2, batch_first=True).eval()
    with torch.no_grad(), record(layer) as batch:
        layer(torch.randn(2, 5, 8))
    batch.save(tmp_path / "batch")
    said = say("compare", tmp_path / "batch", tmp_path / "batch", "--batch-b", 1, "--json")
    wanted = compare(batch, batch, batch=(0, 1))
    assert [one["mean"] for one in json.loads(said.out)["heads"]] == [one.mean for one in wanted.heads]
    lines = say("compare", tmp_path / "batch", tmp_path / "batch", "--batch", 1).out.splitlines()
    assert lines[0].split(", ")[1] == "text 1" and float(lines[4].split()[2]) == 0


def test_what_is_not_there_is_named(say: Any, two: tuple[Path, Path], tmp_path: Path) -> None:
    assert say("compare", *two, "--run-b", 4).err == "There is no run 4. 0 to 0.\n"
    assert say("compare", two[0], tmp_path / "none").code == 1
    said = say("compare", *two, "--site", 7, "--head", 0, "-o", tmp_path / "x.png")
    assert said.code == 1 and said.err.startswith("There is no site 7 in run 0.")
    assert not list(tmp_path.iterdir())
