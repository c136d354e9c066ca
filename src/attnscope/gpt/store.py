"""A model as a folder: config.json, vocabulary.json and model.safetensors. Nothing is ever unpickled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as read_tensors
from safetensors.torch import save as tensor_bytes
from torch import Tensor

from attnscope.errors import BrokenModel, MissingModel
from attnscope.gpt.config import GPTConfig
from attnscope.gpt.files import make_folder, write_whole
from attnscope.gpt.model import GPT
from attnscope.gpt.tokenizer import CharacterTokenizer

CONFIG, VOCABULARY, WEIGHTS = "config.json", "vocabulary.json", "model.safetensors"


def save_model(model: GPT, folder: Path, *, dtype: torch.dtype = torch.float32) -> None:
    """Write the three files; weights are rounded to `dtype`."""
    make_folder(folder)
    weights = {name: x.detach().to(dtype).contiguous() for name, x in model.state_dict().items()}
    write_whole(folder / WEIGHTS, tensor_bytes(weights, metadata={"format": "pt"}))
    write_whole(folder / VOCABULARY, _json({"characters": model.tokenizer.characters}))
    write_whole(folder / CONFIG, _json(model.config.to_dict()))


def load(folder: str | Path) -> GPT:
    """The model in a folder that `attnscope train` wrote, in float32, in eval mode.

    Raises MissingModel where there is no such folder, BrokenModel where a file is missing, cut short, of
    another kind of model, or holds a NaN.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise MissingModel(f"There is no folder {folder}", wanted="A folder that `attnscope train` wrote")
    for name in (CONFIG, VOCABULARY, WEIGHTS):
        if not (folder / name).is_file():
            hint = "" if name == CONFIG else "Was the training stopped? The same `attnscope train` ends it"
            wanted = "The folder of a finished training"
            raise BrokenModel(f"{folder} holds no {name}", wanted=wanted, hint=hint)
    config = GPTConfig.from_dict(_read_json(folder / CONFIG))
    vocabulary = _read_json(folder / VOCABULARY)
    characters = vocabulary.get("characters") if isinstance(vocabulary, dict) else None
    if not isinstance(characters, str) or len(characters) != config.vocabulary:
        raise BrokenModel(
            f"{folder / VOCABULARY} is not this model's vocabulary", wanted=f"{config.vocabulary} characters"
        )
    model = GPT(config, CharacterTokenizer(characters))
    weights = _read_weights(folder / WEIGHTS)
    _check(folder / WEIGHTS, weights, model.state_dict())
    model.load_state_dict(weights)
    return model.eval()


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BrokenModel(f"{path} is not JSON ({error})") from None


def _read_weights(path: Path) -> dict[str, Tensor]:
    try:
        return {name: x.float() for name, x in read_tensors(path.read_bytes()).items()}
    except (SafetensorError, OSError) as error:
        raise BrokenModel(
            f"{path} is not a whole safetensors file ({error})", hint="Copy it again, or train again"
        ) from None


def _check(path: Path, weights: dict[str, Tensor], wanted: dict[str, Tensor]) -> None:
    missing, foreign = sorted(set(wanted) - set(weights)), sorted(set(weights) - set(wanted))
    if missing or foreign:
        what = f"lacks {missing[0]}" if missing else f"holds {foreign[0]}, which this model has not"
        raise BrokenModel(f"{path} {what}", wanted="The weights that belong to the config.json beside it")
    for name, x in weights.items():
        if x.shape != wanted[name].shape:
            raise BrokenModel(
                f"{name} in {path} is {tuple(x.shape)}",
                wanted=f"{tuple(wanted[name].shape)}, by the config.json beside it",
            )
        bad = int((~x.isfinite()).sum())
        if bad:
            raise BrokenModel(
                f"{name} in {path} holds {bad} numbers that are NaN or infinite",
                hint="The training diverged or the file is damaged: train again, or take another checkpoint",
            )


def _json(given: dict[str, Any]) -> bytes:
    return (json.dumps(given, indent=2, ensure_ascii=False) + "\n").encode()
