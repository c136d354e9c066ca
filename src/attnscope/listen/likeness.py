"""What stands where softmax over the keys would: softmax along another axis of scores, or another function
of them. It is no softmax attention; where nothing else was heard, the error names it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from attnscope.listen.ears import follows
from attnscope.listen.frames import here

_NAMES: dict[Callable[..., Any], str] = {
    **dict.fromkeys(
        (torch.log_softmax, F.log_softmax, Tensor.log_softmax, torch.special.log_softmax), "log_softmax"
    ),
    **dict.fromkeys((torch.sigmoid, F.sigmoid, Tensor.sigmoid, Tensor.sigmoid_), "sigmoid"),
}


@follows
def likeness(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], _: Any) -> None:
    """Notes a function of what was computed from a product cell by cell."""
    if function in _NAMES:
        _note(args[0] if args else kwargs.get("input"), f"{_NAMES[function]} of scores {{}}")


def along(dim: Any, scores: Tensor) -> None:
    """Notes a softmax along an axis that is not that of the keys."""
    _note(scores, f"softmax along axis {dim} of scores {{}}, not over the keys,")


def _note(scores: Any, said: str) -> None:
    frame = here.top
    if frame is not None and isinstance(scores, Tensor) and here.products.of(scores) is not None:
        frame.session.missing.likenesses.setdefault(
            frame.name, f"{said.format(tuple(scores.shape))} was heard, which is no softmax attention"
        )
