"""The weights file of a model, held to its config before anything of the config's size is made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load as read_tensors
from torch import Tensor

from attnscope.errors import BrokenModel
from attnscope.files import reading
from attnscope.gpt.config import GPTConfig
from attnscope.gpt.model import GPT
from attnscope.gpt.tokenizer import CharacterTokenizer

Shape = tuple[int, ...]
_DAMAGE = (SafetensorError, OSError, KeyError, TypeError, ValueError)
_BESIDE = "by the config.json beside it"


def read_weights(path: Path, config: GPTConfig, tokenizer: CharacterTokenizer) -> dict[str, Tensor]:
    """The tensors of a file in float32. Raises BrokenModel where they are not those of the config, or not
    finite; names and shapes are judged by the file's header alone."""
    _check_shapes(path, _header(path), config, tokenizer)
    with reading(path, BrokenModel):
        content = path.read_bytes()
    try:
        weights = read_tensors(content)
    except _DAMAGE as error:
        raise _not_whole(path, error) from None
    for name, x in weights.items():
        if not x.is_floating_point():
            raise BrokenModel(f"{name} in {path} is of {x.dtype}", wanted="Floating point numbers")
        bad = int((~x.float().isfinite()).sum())
        if bad:
            raise BrokenModel(
                f"{name} in {path} holds {bad} numbers that are NaN or infinite",
                hint="The training diverged or the file is damaged: train again, or take another checkpoint",
            )
    return {name: x.float() for name, x in weights.items()}


def _header(path: Path) -> dict[str, Shape]:
    """The shape of every tensor of a file; no tensor is read."""
    with reading(path, BrokenModel):
        path.open("rb").close()
    try:
        with safe_open(path, framework="pt") as file:
            return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
    except _DAMAGE as error:
        raise _not_whole(path, error) from None


def _not_whole(path: Path, error: Exception) -> BrokenModel:
    return BrokenModel(
        f"{path} is not a whole safetensors file ({error})", hint="Copy it again, or train again"
    )


def _check_shapes(
    path: Path, held: dict[str, Shape], config: GPTConfig, tokenizer: CharacterTokenizer
) -> None:
    """Stops at the first tensor that is not held, so that a config of a billion layers costs no more."""
    belongs, known = "The weights that belong to the config.json beside it", set()
    for name, shape in _wanted(config, tokenizer):
        if name not in held:
            raise BrokenModel(f"{path} lacks {name}", wanted=belongs)
        if held[name] != shape:
            raise BrokenModel(f"{name} in {path} is {held[name]}", wanted=f"{shape}, {_BESIDE}")
        known.add(name)
    if foreign := sorted(set(held) - known):
        raise BrokenModel(f"{path} holds {foreign[0]}, which this model has not", wanted=belongs)


def _wanted(config: GPTConfig, tokenizer: CharacterTokenizer) -> Iterator[tuple[str, Shape]]:
    """Name and shape of every tensor of a model, from one layer without storage that stands for all."""
    with torch.device("meta"):
        one = GPT(replace(config, n_layers=1), tokenizer).state_dict()
    layer = {name: x for name, x in one.items() if name.startswith("layers.0.")}
    yield from ((name, tuple(x.shape)) for name, x in one.items() if name not in layer)
    for i in range(config.n_layers):
        for name, x in layer.items():
            yield f"layers.{i}.{name.removeprefix('layers.0.')}", tuple(x.shape)
