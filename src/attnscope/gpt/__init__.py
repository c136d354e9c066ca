"""A character-level language model: small enough to train here, whole enough to look into."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnscope.gpt.config import GPTConfig as GPTConfig
    from attnscope.gpt.model import GPT as GPT
    from attnscope.gpt.sampling import generate as generate
    from attnscope.gpt.shipped import load_shipped as load_shipped
    from attnscope.gpt.shipped import shipped_folder as shipped_folder
    from attnscope.gpt.store import load as load
    from attnscope.gpt.tokenizer import CharacterTokenizer as CharacterTokenizer

_HOME = {
    "CharacterTokenizer": "tokenizer",
    "GPT": "model",
    "GPTConfig": "config",
    "generate": "sampling",
    "load": "store",
    "load_shipped": "shipped",
    "shipped_folder": "shipped",
}

__all__ = ["GPT", "CharacterTokenizer", "GPTConfig", "generate", "load", "load_shipped", "shipped_folder"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'attnscope.gpt' has no attribute {name!r}")
    return getattr(import_module(f"attnscope.gpt.{_HOME[name]}"), name)
