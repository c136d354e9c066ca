"""Our own models as subjects: the three that ship, and folders that `attnscope train` wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from attnscope import gpt
from attnscope.errors import BrokenModel
from attnscope.files import reading
from attnscope.gpt.config import FORMAT, GPTConfig
from attnscope.models.codecs import CharacterCodec
from attnscope.models.encoded import Encoded
from attnscope.models.folders import read_config
from attnscope.models.subject import Description, Subject
from attnscope.models.weightfiles import check_finite, check_safetensors, weight_file
from attnscope.models.writing import OwnWriter

SHIPPED = {
    "embedded": "embedded · Shakespeare",
    "lesson": "lesson · Shakespeare, small",
    "lesson-no-positions": "lesson · without positions",
}


def is_own(config: dict[str, Any]) -> bool:
    """Return whether a folder's config says that `attnscope train` wrote it."""
    return config.get("format") == FORMAT


def is_there(name: str) -> bool:
    """Return whether this build has a model that ships."""
    return (gpt.shipped_folder(name) / "config.json").is_file()


def describe_shipped(name: str) -> Description:
    """Return the description of a model that ships, from its config alone."""
    return _describe(GPTConfig.from_dict(read_config(gpt.shipped_folder(name))), name, SHIPPED[name])


def open_shipped(name: str, *, dtype: torch.dtype | None = None) -> Subject:
    """Return a model that ships with attnscope."""
    return open_own(gpt.shipped_folder(name), name=name, label=SHIPPED[name], dtype=dtype)


def open_own(folder: Path, *, name: str, label: str, dtype: torch.dtype | None = None) -> Subject:
    """Return the model of a folder of `attnscope train`; MissingModel or BrokenModel with the file."""
    with reading(folder, BrokenModel):
        check_safetensors(folder)
    model = gpt.load(folder)
    check_finite(model, weight_file(folder, ""))
    model.eval()
    if dtype is not None:
        model.to(dtype)
    source = name if name in SHIPPED else str(folder.resolve())
    return own_subject(model, name=name, label=label, source=source)


def own_subject(model: gpt.GPT, *, name: str, label: str, source: str | None = None) -> Subject:
    """Return a model of ours that is loaded, with its own characters; `source` is what opens it again."""
    numbers = {character: number for number, character in enumerate(model.tokenizer.characters)}

    def forward(encoded: Encoded) -> Tensor:
        return cast(Tensor, model(encoded.inputs["ids"])[0])

    codec = CharacterCodec(numbers, model.context)
    description = _describe(model.config, name, label)
    return Subject(
        description, model, codec, forward, predicts=True, writer=OwnWriter(model, codec), source=source
    )


def _describe(config: GPTConfig, name: str, label: str) -> Description:
    return Description(
        id=name,
        label=label,
        context=config.context,
        unit="character",
        layers=config.n_layers,
        heads=config.n_heads,
        kind="causal",
    )
