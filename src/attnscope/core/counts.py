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

    Of the block that lo or hi of a row's span lies in, a row sees a part; of those between them, all.
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
        before = torch.arange(cols.stop + 1, device=device)  # how many keys count that stand before each
        if visible.valid is not None:
            before = torch.nn.functional.pad(visible.valid[b].cumsum(0), (1, 0))
        for h in range(lead[1]):
            at = (min(b, visible.lo.shape[0] - 1), min(h, visible.lo.shape[1] - 1))
            lo, hi = (edge[at][rows].clamp(cols.start, cols.stop) for edge in (visible.lo, visible.hi))
            grid, ends = found[b, h], []
            for edge, sign in ((lo, 1), (hi, -1)):
                which = (edge // block - left).clamp(max=right - left - 1)  # (r s)
                place = (lines[:, None] * (right - left) + which).flatten()
                ends.append((place, ((before[edges[which]] - before[edge]) * sign).flatten()))
                grid.view(-1).scatter_add_(0, place, torch.full_like(place, sign))
            grid.cumsum_(dim=-1).mul_(before[edges].diff())  # of rows that see all of a block
            for place, part in ends:
                grid.view(-1).scatter_add_(0, place, part)
    return found
