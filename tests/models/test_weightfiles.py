"""Weights that are not whole are named before anything runs on them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from attnscope.errors import BrokenModel
from attnscope.models.weightfiles import check_finite, check_safetensors, weight_file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_file({"a": torch.zeros(100), "b": torch.ones(3, 4)}, tmp_path / "model.safetensors")
    return tmp_path


def test_a_whole_file_passes(folder: Path) -> None:
    check_safetensors(folder)


@pytest.mark.parametrize("kept", [0, 5, 40, -1])
def test_a_file_cut_anywhere_is_named(folder: Path, kept: int) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(BrokenModel, match=r"model\.safetensors"):
        check_safetensors(folder)


@pytest.mark.parametrize("header", [b"not json!", b"[1, 2]   ", b'{"a": 7}  ', b'{"a": {}}  '])
def test_a_file_with_another_header_is_named(folder: Path, header: bytes) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(len(header).to_bytes(8, "little") + header + bytes(100))
    with pytest.raises(BrokenModel, match="its header does not parse"):
        check_safetensors(folder)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_counted_and_named(bad: float) -> None:
    model = nn.Linear(4, 3)
    with torch.no_grad():
        model.weight[1, 2] = bad
    with pytest.raises(BrokenModel, match=r"model\.safetensors holds 1 of 12 numbers in weight that are NaN"):
        check_finite(model, Path("model.safetensors"))


def test_large_weights_that_are_numbers_pass() -> None:
    model = nn.Linear(2, 2, bias=False)
    with torch.no_grad():
        model.weight.fill_(3e38)
    check_finite(model, "x")


def test_the_file_of_a_tensor_is_read_from_the_index(tmp_path: Path) -> None:
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    assert weight_file(tmp_path, "a").name == "model-00001-of-00002.safetensors"
    assert weight_file(tmp_path, "b") == tmp_path
