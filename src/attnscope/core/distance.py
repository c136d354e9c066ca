"""Weight by distance |i - j|: bins that are exact as far as 64 tokens, and then go by powers of two.

Bin n holds distance n up to 64; those after it hold 65 to 128, 129 to 256, and so on. So the bins of a
short text are the first bins of a long one.
"""

from __future__ import annotations

import torch
from torch import Tensor

from attnscope.core.room import Room
from attnscope.core.scores import Tile
from attnscope.core.scoring import Bound
from attnscope.core.tile import Weighed
from attnscope.shapes import Block

EXACT_TO = 64
"""Tokens: as far as this every distance has a bin of its own."""


def bin_of(distance: Tensor) -> Tensor:
    """The bin of each distance, int64; distances are whole numbers of tokens, 0 or more."""
    _, exponent = torch.frexp((distance - 1).clamp(min=1).double())
    doubled = exponent.to(torch.int64) - (EXACT_TO.bit_length() - 1)  # 1 for 65 to 128
    return torch.where(distance <= EXACT_TO, distance, EXACT_TO + doubled)


def limits(bins: int) -> Tensor:
    """The least and the largest distance of each of the first `bins` bins, (bins 2) int64.

    >>> limits(67)[64:].tolist()
    [[64, 64], [65, 128], [129, 256]]
    """
    n = torch.arange(bins)
    most = torch.where(n <= EXACT_TO, n, EXACT_TO * 2 ** (n - EXACT_TO).clamp(min=0))
    return torch.stack([torch.cat([most[:1], most[:-1] + 1]), most], dim=-1)


def bins_of(bound: Bound) -> int:
    """How many bins a call needs, all of its rows and keys taken together."""
    first, last = bound.offset, bound.offset + max(bound.shape.tq - 1, 0)
    farthest = max(abs(first - max(bound.shape.tk - 1, 0)), abs(last), abs(first))
    return int(bin_of(torch.tensor(farthest))) + 1


def one_sided(bound: Bound, tile: Tile) -> int:
    """1 where no row of the tile sees a key of it that stands after the row, -1 where none stands before,
    else 0."""
    first, last = tile.rows.start + bound.offset, tile.rows.stop - 1 + bound.offset
    if tile.cols.stop - 1 <= first:
        return 1
    if tile.cols.start >= last:
        return -1
    lo, hi = (edge[:, :, tile.rows] for edge in (bound.visible.lo, bound.visible.hi))
    after = torch.arange(first + 1, last + 2, device=hi.device)[:, None]
    return 1 if bool(((hi <= after) | (hi <= lo)).all()) else 0


def by_distance(bound: Bound, tile: Tile, seen: Weighed, received: Tensor, bins: int) -> Tensor:
    """The weight of a tile in each bin, (b h bins) float64; received: its sums over rows, (b h c) float64."""
    into = received.new_zeros(*received.shape[:2], bins)
    near, far = _extent(bound, tile)
    if near == far:
        into[..., near] = received.sum(dim=-1)
        return into
    rows, cols = seen.weights.shape[-2:]
    key_past_row = torch.arange(rows + cols - 1, device=received.device) - (rows - 1)  # of each diagonal
    distance = (tile.rows.start + bound.offset - tile.cols.start - key_past_row).abs()
    return into.index_add_(-1, bin_of(distance), diagonals(seen.weights, seen.room).double())


def diagonals(weights: Block, room: Room) -> Tensor:
    """The sum of each diagonal of weights (b h r c), from the lower left corner up: (b h r+c-1).

    Rows that are r + c - 1 apart are read as if they were one more apart: what stood on a diagonal then
    stands in a column.
    """
    b, h, rows, cols = weights.shape
    wide = rows + cols - 1
    spaced = room.zeros("spaced", (b, h, rows + 1, wide), weights.dtype, weights.device)
    spaced[:, :, :rows, rows - 1 :] = weights
    return spaced.as_strided((b, h, rows, wide), (*spaced.stride()[:2], wide + 1, 1)).sum(dim=-2)


def _extent(bound: Bound, tile: Tile) -> tuple[int, int]:
    """The first and the last bin that a tile reaches."""
    corners = [
        i + bound.offset - j
        for i in (tile.rows.start, tile.rows.stop - 1)
        for j in (tile.cols.start, tile.cols.stop - 1)
    ]
    nearest = 0 if min(corners) <= 0 <= max(corners) else min(map(abs, corners))
    near, far = bin_of(torch.tensor([nearest, max(map(abs, corners))])).tolist()
    return near, far
