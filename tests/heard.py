"""What tests of several parts listen with: a model that was recorded, and a mode of somebody else's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

import attnscope as ats
from attnscope import gpt
from attnscope.recording import Recording


def embedded(text: str, tokens: Sequence[str] | None = None) -> Recording:
    """The embedded model's recording of a text; its tokens are its characters, where they are not given."""
    model = gpt.load_shipped("embedded")
    with torch.no_grad(), ats.record(model, tokens=list(text if tokens is None else tokens)) as made:
        model(torch.tensor([model.tokenizer.encode(text)]))
    return made


class Counting(TorchFunctionMode):
    """Hears what is called, and hands it on."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Any] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls.append(func)
        return func(*args, **kwargs or {})
