"""Habits of a head: how much weight goes to the position before, to copies, to what followed a copy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

HABITS: tuple[tuple[str, str, Callable[[str, int, int], bool]], ...] = (
    ("previous", "the character before", lambda text, i, j: j == i - 1),
    ("copies", "earlier copies of the same character", lambda text, i, j: j < i and text[j] == text[i]),
    (
        "after",
        "the character that followed an earlier copy",
        lambda text, i, j: 0 < j <= i and text[j - 1] == text[i],
    ),
)
"""name, what it looks at, and whether query i of a text has key j for it."""


@dataclass(frozen=True, eq=False)
class Habit:
    """One habit on one text: cells (t t) are its keys for each query.

    rows: how many queries have any. even: what a head gives that spreads each row evenly over what it sees.
    """

    name: str
    says: str
    cells: Tensor
    rows: int
    even: float

    def share(self, weights: Tensor) -> Tensor:
        """Return the weight on those keys, (... t t) to (...): the mean over the rows that have any."""
        return (weights * self.cells).sum(dim=-1)[..., self.cells.any(dim=-1)].mean(dim=-1)


def habits_of(text: str) -> tuple[Habit, ...]:
    """Return the habits that a causal head can have on a text; one that no row has room for is left out."""
    t = len(text)
    spread = torch.ones(t, t).tril() / torch.arange(1, t + 1)[:, None]
    found = []
    for name, says, holds in HABITS:
        cells = torch.tensor([[holds(text, i, j) for j in range(t)] for i in range(t)])
        rows = int(cells.any(dim=-1).sum())
        if rows:
            habit = Habit(name, says, cells, rows, 0.0)
            found.append(Habit(name, says, cells, rows, float(habit.share(spread))))
    return tuple(found)
