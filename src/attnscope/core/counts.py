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

    The keys of a block that a row with the span lo <= j < hi sees are those before hi less those before lo.
    """
    device, height = visible.lo.device, -(-(rows.stop - start) // block) - (rows.start - start) // block
    left, right = cols.start // block, -(-cols.stop // block)
    edges = (torch.arange(left, right + 1, device=device) * block).clamp(cols.start, cols.stop)
    lines = (torch.arange(rows.start, rows.stop, device=device) - start) // block
    lines = lines - (rows.start - start) // block
    lead = spread(visible.lo.shape[:2], (1 if visible.valid is None else visible.b, 1))
    found = torch.zeros(*lead, height, right - left, dtype=torch.int64, device=device)
    if not found.numel():
        return found
    for b in range(lead[0]):
        before = torch.arange(cols.stop + 1, device=device)
        if visible.valid is not None:
            before = torch.nn.functional.pad(visible.valid[b].cumsum(0), (1, 0))
        for h in range(lead[1]):
            at = (min(b, visible.lo.shape[0] - 1), min(h, visible.lo.shape[1] - 1))
            lo, hi = (edge[at][rows].clamp(cols.start, cols.stop) for edge in (visible.lo, visible.hi))
            found[b, h] = _of_lines(hi, lines, edges, before, block, height)
            if bool((lo > cols.start).any()):
                found[b, h] -= _of_lines(lo, lines, edges, before, block, height)
    return found


def _of_lines(ends: Tensor, lines: Tensor, edges: Tensor, before: Tensor, block: int, height: int) -> Tensor:
    """How many cells before their rows' ends (r s) the blocks hold, (height, blocks): of the row that an end
    lies in a part, and all of those before it. before: how many keys count that stand before each.
    """
    blocks = len(edges) - 1
    which = (ends // block - edges[0] // block).clamp(max=blocks - 1)  # (r s)
    place = (lines[:, None] * blocks + which).flatten()
    parts, reached = torch.zeros(2, height * blocks, dtype=torch.int64, device=ends.device)
    parts.scatter_add_(0, place, (before[ends] - before[edges[which]]).flatten())
    reached.scatter_add_(0, place, torch.ones_like(place))
    reached = reached.view(height, blocks)
    past = reached.sum(dim=-1, keepdim=True) - reached.cumsum(dim=-1)
    whole: Tensor = past.mul_(before[edges].diff())
    return whole.add_(parts.view(height, blocks))
