"""What a model expects after each position: the few likeliest tokens and the entropy, never T x V."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from attnscope.errors import ShapeError
from attnscope.models.tokens import Token

KEPT = 50
_ROWS = 256  # rows of logits in float64 at a time: 256 x 150,000 x 8 bytes is 0.3 GB


@dataclass(frozen=True)
class Prediction:
    """What may come next: entropy of the whole distribution in nats, and its likeliest tokens."""

    entropy: float
    top: list[tuple[Token, float]]


@dataclass(frozen=True)
class Predictions:
    """The kept part of the distributions after every position."""

    entropy: Tensor  # (T)
    ids: Tensor  # (T k), likeliest first
    probabilities: Tensor  # (T k)
    name: Callable[[int], Token]

    def at(self, i: int, top: int = 8) -> Prediction:
        """Return the prediction after position `i` with its `top` likeliest tokens, at most KEPT."""
        length, kept = self.ids.shape
        if not 0 <= i < length:
            raise ShapeError(f"Position {i} is outside the text", wanted=f"0 to {length - 1} are wanted")
        pairs = zip(self.ids[i].tolist(), self.probabilities[i].tolist(), strict=True)
        chosen = [(self.name(token), p) for token, p in pairs][: max(0, min(top, kept))]
        return Prediction(float(self.entropy[i]), chosen)

    @property
    def nbytes(self) -> int:
        """Return the bytes held."""
        return sum(t.nbytes for t in (self.entropy, self.ids, self.probabilities))


def predictions_from(logits: Tensor, name: Callable[[int], Token]) -> Predictions:
    """Return the predictions of `logits` (T V); softmax and entropy are done in float64."""
    length, size = logits.shape
    kept = min(KEPT, size)
    entropy = torch.empty(length, dtype=torch.float64)
    ids = torch.empty(length, kept, dtype=torch.long)
    probabilities = torch.empty(length, kept, dtype=torch.float64)
    for start in range(0, length, _ROWS):
        rows = slice(start, min(start + _ROWS, length))
        logs = torch.log_softmax(logits[rows].double(), dim=-1)
        p = logs.exp()
        entropy[rows] = -torch.where(p > 0, p * logs, 0.0).sum(-1)
        probabilities[rows], ids[rows] = p.topk(kept, dim=-1)
    return Predictions(entropy, ids, probabilities, name)
