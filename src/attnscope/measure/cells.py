"""Which cells of a text a score speaks of: stripes of it, and the tokens after earlier copies of a token."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attnscope.core.picked import picked, pieces
from attnscope.core.scoring import Bound
from attnscope.core.tile import Normaliser

GROWTH = 1.4
"""Tokens that stand nearly equally often are computed together: the fewest and the most differ by this factor
at most, so that at most its square of the work is for nothing.
"""


@dataclass(frozen=True, eq=False)
class Cells:
    """Groups of cells: rows (g r), cols (g c), and which of a group's r x c cells are meant, (g r c)."""

    rows: Int[Tensor, "g r"]
    cols: Int[Tensor, "g c"]
    meant: Bool[Tensor, "g r c"]

    def mass(self, bound: Bound, normaliser: Normaliser) -> Float[Tensor, "b h"]:
        """The sum of the weights of the cells that are meant, in float64."""
        total = torch.zeros(bound.shape.b, bound.shape.h, dtype=torch.float64, device=bound.q.device)
        for groups, rows in pieces(bound, *self.meant.shape):
            found = picked(bound, normaliser, self.rows[groups, rows], self.cols[groups])
            meant = self.meant[groups, rows].to(found.device)
            total += found.double().mul_(meant).sum(dim=(2, 3, 4))
        return total


@dataclass(frozen=True, eq=False)
class Marked:
    """The cells that a score adds up, with how many pairs and how many different queries they are."""

    parts: tuple[Cells, ...]
    pairs: int
    queries: int

    def mass(self, bound: Bound, normaliser: Normaliser) -> Float[Tensor, "b h"]:
        """The sum of their weights, in float64."""
        found = [part.mass(bound, normaliser) for part in self.parts]
        zero = torch.zeros(bound.shape.b, bound.shape.h, dtype=torch.float64, device=bound.q.device)
        return torch.stack([zero, *found]).sum(dim=0)


def stripe(rows: slice, offset: int, *, back: int, first: int) -> Marked:
    """The cells `back` keys before each row that stands `first` places or more behind the first of `rows`.

    offset: the place of row 0 among the keys. Rows and keys are indices of the call.
    """
    row = torch.arange(rows.start + first, max(rows.start + first, rows.stop))
    col = row + offset - back
    row, col = row[col >= 0], col[col >= 0]
    cells = Cells(row[:, None], col[:, None], torch.ones(len(row), 1, 1, dtype=torch.bool))
    return Marked((cells,), len(row), len(row))


def after_copies(ids: Int[Tensor, " t"], rows: slice, offset: int) -> Marked:
    """The cells (i, p + 1) of all places p < i of the same token, i and p among `rows` of the call.

    ids: of the keys, (tk). The tokens of one id are a group of rows and keys, so that the cost is that of
    the pairs.
    """
    place = torch.arange(rows.start, rows.stop) + offset
    _, of, count = torch.unique(ids[place], return_inverse=True, return_counts=True)
    order = of.argsort(stable=True)
    starts = count.cumsum(0) - count
    several = (count > 1).nonzero()[:, 0]
    several = several[count[several].argsort(stable=True)]
    parts, begin = [], 0
    sizes = count[several].tolist()
    while begin < len(sizes):
        end = begin
        while end < len(sizes) and sizes[end] <= GROWTH * sizes[begin]:
            end += 1
        chosen = several[begin:end]
        parts.append(_copies(place[order], starts[chosen], count[chosen], offset))
        begin = end
    pairs = int((count * (count - 1) // 2).sum())
    return Marked(tuple(parts), pairs, int((count - 1).clamp(min=0).sum()))


def _copies(places: Tensor, starts: Tensor, counts: Tensor, offset: int) -> Cells:
    """The groups of tokens that begin at `starts` of the places in order of their ids."""
    step = torch.arange(int(counts.max()))
    there = step < counts[:, None]  # (g n)
    at = places[torch.where(there, starts[:, None] + step, starts[:, None])]  # (g n)
    later, earlier = at[:, 1:], at[:, :-1]
    meant = (there[:, 1:, None] & there[:, None, :-1]) & (earlier[:, None, :] < later[:, :, None])
    last = int(places.max())  # the last place of all is no earlier copy: what stands after it is not meant
    return Cells(later - offset, (earlier + 1).clamp(max=last), meant)
