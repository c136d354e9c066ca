"""Opens a model by its name: one that ships with attnscope, a folder, or a name on the Hugging Face hub."""

from __future__ import annotations

import torch

from attnscope.errors import DtypeError, MissingModel, ModelError
from attnscope.files import home_made
from attnscope.models.folders import SHIPPED_HINT, check_folder, gguf_of, read_config
from attnscope.models.hub import find_on_hub, is_hub_id
from attnscope.models.huggingface import open_huggingface
from attnscope.models.own import SHIPPED, describe_shipped, is_own, is_there, open_own, open_shipped
from attnscope.models.subject import Description, Subject

_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def open_model(name: str, *, dtype: torch.dtype | str | None = None, attention: str | None = None) -> Subject:
    """Return the model of that name together with its tokeniser, ready to run a text.

    `name` is "embedded", "lesson", "lesson-no-positions", a folder (ours or Hugging Face), or a hub id, which
    is looked for in the local cache first. `dtype` ("float32", "bfloat16", "float16" or torch's own) None
    keeps the one of the files; `attention` is transformers' attn_implementation. Raises MissingModel,
    BrokenModel.
    """
    wanted = _dtype(dtype)
    _check_name(name)
    if name in SHIPPED:
        _check_attention(name, attention)
        return open_shipped(name, dtype=wanted)
    folder = home_made(name, ModelError)
    if not folder.exists() and is_hub_id(name):
        return open_huggingface(find_on_hub(name), name=name, label=name, dtype=wanted, attention=attention)
    check_folder(folder)
    label = folder.resolve().name or str(folder)
    if gguf_of(folder) is None and is_own(read_config(folder)):
        _check_attention(label, attention)
        return open_own(folder, name=label, label=label, dtype=wanted)
    return open_huggingface(folder, name=label, label=label, dtype=wanted, attention=attention)


def shipped_models() -> list[Description]:
    """Return what ships with attnscope, without reading its weights; a source tree may have none yet."""
    return [describe_shipped(name) for name in SHIPPED if is_there(name)]


def _dtype(dtype: torch.dtype | str | None) -> torch.dtype | None:
    if dtype is None or isinstance(dtype, torch.dtype):
        return dtype
    if dtype not in _DTYPES:
        raise DtypeError(f"dtype {dtype!r} is unknown", wanted=f"One of {', '.join(_DTYPES)} is wanted")
    return _DTYPES[dtype]


def _check_attention(name: str, attention: str | None) -> None:
    """Refuse a choice that one of our own models does not have."""
    if attention not in (None, "sdpa"):
        raise ModelError(
            f"{name} has no attention named {attention!r}",
            wanted="Our own models compute it in one way, sdpa; the choice is for Hugging Face models",
        )


def _check_name(name: str) -> None:
    """Refuse a name that can be neither a model that ships, nor a folder, nor a name on the hub."""
    if not name.strip() or "\0" in name:
        raise MissingModel("The model's name is empty or holds a NUL", hint=SHIPPED_HINT)
