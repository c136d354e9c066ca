"""What a model answers, as one tensor: logits after each position, or its last hidden states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor, nn

from attnscope.errors import ModelError

Kind = Literal["logits", "states"]


@dataclass(frozen=True, eq=False)
class Answer:
    """values: (b positions n); one position where a model gives one answer a text."""

    values: Tensor = field(repr=False)
    kind: Kind

    def bit_equal(self, other: Answer) -> bool:
        """Whether both are the same bits, so that a NaN equals itself."""
        one, two = (x.values.contiguous() for x in (self, other))
        same = one.dtype == two.dtype and one.shape == two.shape
        return same and torch.equal(one.view(torch.uint8), two.view(torch.uint8))

    def farthest(self, other: Answer) -> float:
        """The largest difference of a number; inf where the shapes differ."""
        if self.values.shape != other.values.shape:
            return float("inf")
        return max(
            (float((a.double() - b.double()).abs().max())
             for a, b in zip(self.values, other.values, strict=True) if a.numel()), default=0.0,
        )  # fmt: skip


def answer_of(model: nn.Module, output: Any) -> Answer:
    """The answer in what a model's forward returned: what it calls logits, else its last hidden state, else
    its first tensor, which are logits where it is as wide as the vocabulary.

    Raises ModelError where there is none.
    """
    logits, states = (_named(output, name) for name in ("logits", "last_hidden_state"))
    if logits is not None:
        return Answer(_three(logits), "logits")
    if states is not None:
        return Answer(_three(states), "states")
    first = output[0] if isinstance(output, tuple | list) and output else output
    if not isinstance(first, Tensor) or first.dim() not in (2, 3):
        raise ModelError(
            f"The {type(model).__name__} gave a {type(output).__name__}",
            wanted="logits, a last_hidden_state, or a tensor (batch, positions, n)",
        )
    tables = [module.num_embeddings for module in model.modules() if isinstance(module, nn.Embedding)]
    return Answer(_three(first), "logits" if first.shape[-1] in tables else "states")


def _named(output: Any, name: str) -> Tensor | None:
    found = output.get(name) if isinstance(output, Mapping) else getattr(output, name, None)
    return found if isinstance(found, Tensor) else None


def _three(x: Tensor) -> Tensor:
    return x if x.dim() == 3 else x.reshape(x.shape[0], 1, -1)
