"""Cells reduced to pixels: sums, maxima, and how many of the cells are visible."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import pad

from attnscope.core.visible import Visible


def sums(x: Tensor, cells: int) -> Float[Tensor, "r c"]:
    """The sum of each square of cells x cells of x; squares at the end may be cut short."""
    return _along(_down(x, cells).sum(dim=1), cells).sum(dim=-1) if cells > 1 else x


def maxima(x: Tensor, cells: int) -> Float[Tensor, "r c"]:
    """The largest of each square of x, which holds no negative numbers."""
    return _along(_down(x, cells).amax(dim=1), cells).amax(dim=-1) if cells > 1 else x


def _down(x: Tensor, cells: int) -> Tensor:
    """(squares, cells, columns), filled up with zeros to whole squares."""
    short = -x.shape[0] % cells
    return (pad(x, (0, 0, 0, short)) if short else x).reshape(-1, cells, x.shape[1])


def _along(x: Tensor, cells: int) -> Tensor:
    """(rows, squares, cells), filled up with zeros to whole squares."""
    short = -x.shape[1] % cells
    return (pad(x, (0, short)) if short else x).reshape(x.shape[0], -1, cells)


def seen_in_spans(visible: Visible, rows: slice, cols: slice, cells: int) -> Int[Tensor, "r c"]:
    """How many cells of each pixel are visible, of one head (b = h = 1) without a rule; O(rows + pixels).

    The keys before column x that a row with the span lo <= j < hi sees are min(x, hi) - min(x, lo).
    """
    device, count = visible.lo.device, -(-(cols.stop - cols.start) // cells)
    edges = (torch.arange(count + 1, device=device) * cells + cols.start).clamp(max=cols.stop)
    lo, hi = (edge[0, 0, rows] for edge in (visible.lo, visible.hi))  # (n s)
    if visible.valid is not None:
        before = pad(visible.valid[0].cumsum(0), (1, 0))  # valid keys before each: positions among them
        edges, lo, hi = before[edges], before[lo], before[hi]
    height = -(-(rows.stop - rows.start) // cells)
    below = _sum_of_lesser(edges, hi, height, cells) - _sum_of_lesser(edges, lo, height, cells)
    return below.diff(dim=1)


def _sum_of_lesser(edges: Tensor, ends: Tensor, height: int, cells: int) -> Tensor:
    """The sum of min(edge, end) over the ends (n s) of each `cells` rows: (height, edges)."""
    size = len(edges) + 1
    place = torch.searchsorted(edges, ends.contiguous(), right=True)  # edges up to the end
    line = (torch.arange(len(ends), device=ends.device) // cells)[:, None] * size + place
    counts, totals = (torch.zeros(height * size, dtype=torch.int64, device=ends.device) for _ in range(2))
    counts.scatter_add_(0, line.flatten(), torch.ones_like(ends).flatten())
    totals.scatter_add_(0, line.flatten(), ends.flatten())
    counts, totals = (x.view(height, size).cumsum(dim=1) for x in (counts, totals))
    beyond = counts[:, -1:] - counts[:, :-1]  # ends past each edge
    return edges * beyond + totals[:, :-1]
