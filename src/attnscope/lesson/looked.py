"""One language model on one line: every head's weights, its habits, and what it expects next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from attnscope.gpt import GPT
from attnscope.lesson.habits import Habit
from attnscope.listen import record
from attnscope.models.tokens import Token, of_text
from attnscope.plain import plain

TOP = 5  # next characters that are told


@dataclass(frozen=True, eq=False)
class Looked:
    """One model on the line. weights (layers h t t); next: after each position its likeliest characters.

    habits: name of a habit to (layers h), the mean weight that each head spends on it.
    """

    name: str
    title: str
    says: str
    weights: Tensor
    habits: dict[str, Tensor]
    next: tuple[tuple[tuple[Token, float], ...], ...]

    def strongest(self, habit: str) -> tuple[int, int, float]:
        """Return layer, head and mean weight of the head with most of a habit."""
        found = self.habits[habit]
        layer, head = divmod(int(found.argmax()), found.shape[1])
        return layer, head, float(found[layer, head])

    def last(self) -> tuple[int, int, int, float]:
        """Return layer, head, key and weight of the largest weight in any head's last row."""
        rows = self.weights[:, :, -1]
        layer, head, key = (int(at) for at in torch.unravel_index(rows.argmax(), rows.shape))
        return layer, head, key, float(rows[layer, head, key])

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values; of every grid the visible cells alone, row after row."""
        t = self.weights.shape[-1]
        i, j = torch.tril_indices(t, t)
        return {
            "name": self.name,
            "title": self.title,
            "says": self.says,
            "weights": plain(self.weights[..., i, j]),
            "habits": plain(self.habits),
            "next": [[{"token": token.to_dict(), "p": p} for token, p in after] for after in self.next],
        }


@torch.no_grad()
def look(
    model: GPT, text: str, habits: Sequence[Habit] = (), *, name: str = "", title: str = "", says: str = ""
) -> Looked:
    """Run a model over a text and look: weights as `record` gives them. Raises TextError."""
    ids = model.tokenizer.encode(text)
    with record(model) as recording:
        logits = model(torch.tensor([ids]))
    heads = range(model.config.n_heads)
    weights = torch.stack([torch.stack([site.weights(head) for head in heads]) for site in recording.sites])
    best = logits[0].softmax(dim=-1).topk(TOP, dim=-1)
    following = tuple(
        tuple((of_text(at, model.tokenizer.decode([at])), p) for at, p in zip(ids, ps, strict=True))
        for ids, ps in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    )
    return Looked(name, title, says, weights, {one.name: one.share(weights) for one in habits}, following)


def at_head(layer: int, head: int) -> str:
    """Return the name of a head as Explore writes it, counted from 0."""
    return f"layer {layer} head {head}"


def shown(token: Token) -> str:
    """Return a character as one reads it: its own sign, or its name where the eye sees none."""
    return token.text if token.kind == "text" else token.spoken
