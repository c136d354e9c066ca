"""How many visible cells lie in each column and block: of spans and valid keys, without looking at cells."""

from __future__ import annotations

import torch
from torch import Tensor

from attnscope.core.spans import spread
from attnscope.core.visible import Visible


def seen_of_keys(visible: Visible, rows: slice, cols: slice) -> Tensor:
    """How many of these rows see each of these keys: (b|1, h|1, c) int64."""
    lo, hi = (edge[:, :, rows].flatten(2) for edge in (visible.lo, visible.hi))
    turns = lo.new_zeros(*lo.shape[:2], visible.tk + 1)
    turns.scatter_add_(-1, lo, torch.ones_like(lo))
    turns.scatter_add_(-1, hi, torch.full_like(hi, -1))
    seen = turns[..., : cols.stop].cumsum(dim=-1)[..., cols.start :]
    return seen if visible.valid is None else seen * visible.valid[:, None, cols]


def seen_of_blocks(visible: Visible, rows: slice, cols: slice, *, block: int, start: int) -> Tensor:
    """How many cells of each block are visible, (b|1, h|1, m n) int64: blocks of rows are counted from row
    `start`, blocks of keys from key 0, and those that these rows and keys touch are held.

    The keys before x that a row with the span lo <= j < hi sees are min(x, hi) - min(x, lo).
    """
    device, height = visible.lo.device, -(-(rows.stop - start) // block) - (rows.start - start) // block
    edges = torch.arange(cols.start // block, -(-cols.stop // block) + 1, device=device) * block
    edges = edges.clamp(cols.start, cols.stop)
    line = (torch.arange(rows.start, rows.stop, device=device) - start) // block
    lead = spread(visible.lo.shape[:2], (1 if visible.valid is None else visible.b, 1))
    found = torch.zeros(*lead, height, max(len(edges) - 1, 0), dtype=torch.int64, device=device)
    for b in range(lead[0]):
        before = (
            None if visible.valid is None else torch.nn.functional.pad(visible.valid[b].cumsum(0), (1, 0))
        )
        for h in range(lead[1]):
            at = (min(b, visible.lo.shape[0] - 1), min(h, visible.lo.shape[1] - 1))
            ends = [edge[at][rows] for edge in (visible.hi, visible.lo)]  # (r s) each
            steps = edges
            if before is not None:  # places among the valid keys
                ends, steps = [before[end] for end in ends], before[edges]
            hi, lo = (_sum_of_lesser(steps, end, line - line[:1], height) for end in ends)
            found[b, h] = (hi - lo).diff(dim=1)
    return found


def _sum_of_lesser(edges: Tensor, ends: Tensor, line: Tensor, height: int) -> Tensor:
    """The sum of min(edge, end) over the ends (r s) of the rows of each line: (height, edges)."""
    size = len(edges) + 1
    place = line[:, None] * size + torch.searchsorted(edges, ends.contiguous(), right=True)
    counts, totals = (torch.zeros(height * size, dtype=torch.int64, device=ends.device) for _ in range(2))
    counts.scatter_add_(0, place.flatten(), torch.ones_like(ends).flatten())
    totals.scatter_add_(0, place.flatten(), ends.flatten())
    counts, totals = (x.view(height, size).cumsum(dim=1) for x in (counts, totals))
    return edges * (counts[:, -1:] - counts[:, :-1]) + totals[:, :-1]
