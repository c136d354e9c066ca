"""A model as a folder: config.json, vocabulary.json and model.safetensors. Nothing is ever unpickled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save as tensor_bytes

from attnscope.errors import BrokenModel, MissingModel, TrainingError
from attnscope.files import make_folder, reading, write_whole
from attnscope.gpt.config import GPTConfig
from attnscope.gpt.model import GPT
from attnscope.gpt.tokenizer import CharacterTokenizer
from attnscope.gpt.weights import read_weights

CONFIG, VOCABULARY, WEIGHTS = "config.json", "vocabulary.json", "model.safetensors"


def save_model(model: GPT, folder: Path, *, dtype: torch.dtype = torch.float32) -> None:
    """Write the three files; weights are rounded to `dtype`."""
    make_folder(folder, TrainingError, "Choose another --out")
    weights = {name: x.detach().to(dtype).contiguous() for name, x in model.state_dict().items()}
    write_whole(folder / WEIGHTS, tensor_bytes(weights, metadata={"format": "pt"}), TrainingError)
    write_whole(folder / VOCABULARY, _json({"characters": model.tokenizer.characters}), TrainingError)
    write_whole(folder / CONFIG, _json(model.config.to_dict()), TrainingError)


def load(folder: str | Path) -> GPT:
    """The model in a folder that `attnscope train` wrote, in float32, in eval mode.

    Raises MissingModel where there is no such folder, BrokenModel where a file is missing, unreadable,
    cut short, of another kind of model, or holds a NaN.
    """
    folder = Path(folder)
    with reading(folder, BrokenModel):
        _check_files(folder)
    config = GPTConfig.from_dict(_read_json(folder / CONFIG))
    tokenizer = _read_vocabulary(folder / VOCABULARY, config.vocabulary)
    weights = read_weights(folder / WEIGHTS, config, tokenizer)
    model = GPT(config, tokenizer)
    model.load_state_dict(weights)
    return model.eval()


def _check_files(folder: Path) -> None:
    if not folder.is_dir():
        raise MissingModel(f"There is no folder {folder}", wanted="A folder that `attnscope train` wrote")
    for name in (CONFIG, VOCABULARY, WEIGHTS):
        if not (folder / name).is_file():
            hint = "" if name == CONFIG else "Was the training stopped? The same `attnscope train` ends it"
            wanted = "The folder of a finished training"
            raise BrokenModel(f"{folder} holds no {name}", wanted=wanted, hint=hint)


def _read_vocabulary(path: Path, count: int) -> CharacterTokenizer:
    vocabulary = _read_json(path)
    characters = vocabulary.get("characters") if isinstance(vocabulary, dict) else None
    if not isinstance(characters, str) or len(characters) != count:
        raise BrokenModel(f"{path} is not this model's vocabulary", wanted=f"{count} characters")
    if any("\ud800" <= character <= "\udfff" for character in characters):
        raise BrokenModel(f"{path} holds half a character (a lone surrogate)", wanted=f"{count} characters")
    return CharacterTokenizer(characters)


def _read_json(path: Path) -> Any:
    with reading(path, BrokenModel):
        content = path.read_bytes()
    try:
        return json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise BrokenModel(f"{path} is not JSON ({error})") from None


def _json(given: dict[str, Any]) -> bytes:
    return (json.dumps(given, indent=2, ensure_ascii=False) + "\n").encode()
