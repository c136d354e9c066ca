"""A model as a folder, and everything that can be wrong with one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from attnscope.errors import BrokenModel, MissingModel
from attnscope.gpt import load
from attnscope.gpt.store import CONFIG, VOCABULARY, WEIGHTS, save_model
from tests.gpt.tiny import small


@pytest.fixture
def folder(model_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(model_folder, tmp_path / "model"))


def test_a_model_read_back_is_the_same(tmp_path: Path) -> None:
    model = small("lesson").float()
    save_model(model, tmp_path / "deep" / "folder")
    again = load(tmp_path / "deep" / "folder")
    ids = torch.tensor([[0, 3, 1, 6]])
    assert torch.equal(again(ids), model(ids))
    assert again.config == model.config
    assert again.tokenizer.characters == "abcdefg"
    assert not again.training


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingModel, match=r"There is no folder .*nowhere\. A folder that `attnscope train`"):
        load(tmp_path / "nowhere")


@pytest.mark.parametrize("name", [CONFIG, VOCABULARY, WEIGHTS])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(BrokenModel, match=f"holds no {name}"):
        load(folder)


def change(name: str, **values: object) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        path = folder / name
        path.write_text(json.dumps(json.loads(path.read_text()) | values))

    return apply


def reweigh(edit: Callable[[dict[str, torch.Tensor]], object]) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        weights = load_file(folder / WEIGHTS)
        edit(weights)
        save_file(weights, folder / WEIGHTS)

    return apply


def cut_short(folder: Path) -> None:
    (folder / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes()[:-7])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (cut_short, r"model\.safetensors is not a whole safetensors file .*Copy it again"),
        (lambda folder: (folder / WEIGHTS).write_bytes(b"\x80\x04pickle"), "not a whole safetensors file"),
        (lambda folder: (folder / CONFIG).write_text("{"), r"config\.json is not JSON"),
        (change(CONFIG, format="x", model_type="bert"), "is of a bert model"),
        (change(CONFIG, n_layers=3), r"lacks layers\.2\."),
        (change(CONFIG, n_layers=1), r"holds layers\.1\..*, which this model has not"),
        (change(CONFIG, d_model=18), r"weight in .* is \(.*12.*\)\. \(.*18.*\), by the config"),
        (change(VOCABULARY, characters="ab"), r"vocabulary\.json is not this model's vocabulary"),
        (reweigh(lambda w: w["head.weight"].fill_(torch.nan)),
         r"head\.weight in .* holds \d+ numbers that are NaN"),
        (reweigh(lambda w: w["norm.weight"][3:].fill_(torch.inf)), r"norm\.weight in .* holds 9 numbers"),
        (reweigh(lambda w: w.pop("norm.weight")), r"lacks norm\.weight"),
    ],
)  # fmt: skip
def test_damage_is_named(folder: Path, damage: Callable[[Path], object], message: str) -> None:
    damage(folder)
    with pytest.raises(BrokenModel, match=message):
        load(folder)
