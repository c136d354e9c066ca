"""What lies in a model's folder, told apart before anything is loaded from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from attnscope.errors import BrokenModel, MissingModel
from attnscope.plain import json_limit
from attnscope.recording.manifest import NAME

SHIPPED_HINT = "Models that come with attnscope: embedded, lesson, lesson-no-positions"
_TOKENIZERS = (
    "tokenizer.json",
    "tokenizer.model",
    "vocab.json",
    "vocab.txt",
    "spiece.model",
    "sentencepiece.bpe.model",
    "tiktoken.model",
    "tekken.json",
)


def check_folder(path: Path) -> None:
    """Refuse what is no folder."""
    if not path.exists():
        raise MissingModel(
            f"There is no folder {path}",
            wanted="A folder with config.json and model.safetensors is wanted",
            hint=SHIPPED_HINT,
        )
    if not path.is_dir():
        raise MissingModel(
            f"{path} is a file", wanted="The folder that holds a model's config.json is wanted"
        )


def read_config(path: Path) -> dict[str, Any]:
    """Return the config of a folder; MissingModel without one, BrokenModel where it is no JSON object."""
    file = path / "config.json"
    if not file.is_file() and (path / NAME).is_file():
        raise MissingModel(
            f"{path} is a recording",
            wanted="A model's folder is wanted",
            hint=f"attnscope info {path} and attnscope app {path} read a recording",
        )
    if not file.is_file():
        raise MissingModel(
            f"{path} has no config.json, so it holds no model",
            wanted="A folder written by `attnscope train` or by transformers' save_pretrained is wanted",
        )
    try:
        config = json.loads(file.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise _not_json(file, error) from error
    if not isinstance(config, dict):
        raise BrokenModel(f"{file} holds no object", wanted="A JSON object with the model's sizes is wanted")
    return config


def check_json(path: Path) -> None:
    """Refuse a folder of which a JSON file does not parse, naming the file."""
    for file in sorted(path.glob("*.json")):
        try:
            json.loads(file.read_text("utf-8"))
        except (ValueError, RecursionError) as error:
            raise _not_json(file, error) from error


def _not_json(file: Path, error: ValueError | RecursionError) -> BrokenModel:
    why = json_limit(error) or f" ({error})"
    return BrokenModel(f"{file} is not JSON{why}", hint="Copy or download it again")


def gguf_of(path: Path) -> str | None:
    """Return the name of a folder's one GGUF file where it has no other weights; None else."""
    if (path / "config.json").is_file() and _weights(path):
        return None
    files = sorted(path.glob("*.gguf"))
    return files[0].name if len(files) == 1 else None


def check_parts(path: Path) -> None:
    """Refuse a Hugging Face folder that lacks weights or a tokeniser."""
    if not _weights(path):
        raise BrokenModel(
            f"{path} has a config.json and no weights",
            wanted="model.safetensors, its parts, or pytorch_model.bin are wanted",
        )
    if not any((path / name).is_file() for name in _TOKENIZERS):
        raise BrokenModel(
            f"{path} has no tokeniser",
            wanted=f"One of {', '.join(_TOKENIZERS)} is wanted",
            hint="Save the tokeniser beside the model: tokenizer.save_pretrained(folder)",
        )


def _weights(path: Path) -> bool:
    return any(path.glob("*.safetensors")) or any(path.glob("pytorch_model*.bin"))
