"""Weights of a fused kernel's head, from q, k and the normaliser: a cell has one value in whatever block."""

from __future__ import annotations

import torch
from torch import Tensor

from attnscope.core.engine import engine_of
from attnscope.core.scoring import Bound
from attnscope.core.tile import Normaliser


def weights_block(
    bound: Bound, normaliser: Normaliser, rows: slice, cols: slice, *, head: int, batch: int
) -> Tensor:
    """(r c) in the compute dtype, of one head; normaliser: that of all rows and heads."""
    with torch.no_grad():
        one = bound.of_head(head, batch)
        return engine_of(one).weights(one, rows, cols, normaliser.of_head(head, batch))[0, 0]


def overlap(asked: slice, tile: slice) -> tuple[slice, slice]:
    """Where a tile's cells go in the block that was asked for, and which of its own they are."""
    start, stop = max(asked.start, tile.start), min(asked.stop, tile.stop)
    return slice(start - asked.start, stop - asked.start), slice(start - tile.start, stop - tile.start)
