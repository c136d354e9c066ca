"""Weights of a fused kernel's head from the normaliser, so that a cell has one value whatever block it is
asked in.

A matrix product gives other last bits in other shapes: so tiles stand at fixed places, and are cut
afterwards.
"""

from __future__ import annotations

import torch
from torch import Tensor

from attnscope.core.scoring import Bound
from attnscope.core.tile import Normaliser, weights

ROWS, COLUMNS = 64, 512


def weights_block(
    bound: Bound, normaliser: Normaliser, rows: slice, cols: slice, *, head: int, batch: int
) -> Tensor:
    """(r c) in the compute dtype; at most a tile more than was asked for is computed on each side."""
    heads, batches = slice(head, head + 1), slice(batch, batch + 1)
    block = torch.zeros(
        rows.stop - rows.start, cols.stop - cols.start, dtype=bound.dtype, device=bound.q.device
    )
    for i in _places(rows, bound.shape.tq, ROWS):
        for j in _places(cols, bound.shape.tk, COLUMNS):
            tile = weights(bound, normaliser, i, j, heads=heads, batch=batches)[0, 0]
            here, from_tile = overlap(rows, i)
            there, column_of_tile = overlap(cols, j)
            block[here, there] = tile[from_tile, column_of_tile]
    return block


def _places(asked: slice, size: int, step: int) -> list[slice]:
    first = asked.start // step * step
    return [slice(i, min(i + step, size)) for i in range(first, asked.stop, step)]


def overlap(asked: slice, tile: slice) -> tuple[slice, slice]:
    """Where a tile's cells go in the block that was asked for, and which of its own they are."""
    start, stop = max(asked.start, tile.start), min(asked.stop, tile.stop)
    return slice(start - asked.start, stop - asked.start), slice(start - tile.start, stop - tile.start)
