"""What a summary says of each key and of blocks of cells: sums of final weights, adding over rows, tile
by tile."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnscope.core.scores import Tile
from attnscope.core.scoring import Bound
from attnscope.errors import ScoringError, TooLarge
from attnscope.shapes import Block, Columns

BLOCK_CELLS = 2**28
"""Cells of all block grids of a call, past which `block` is refused: 2 GB in float64."""


class KeyStats:
    """The weight that keys receive from a span of rows, and sums, maxima and counts over blocks of
    block x block cells.

    received: (b h tk) float64.   seen: (b|1, h|1, tk), how many of the rows see each key. sums, largest:
    (b h m n) float64, m and n blocks of rows and keys, or None.   counts: (b|1, h|1, m n), visible cells.
    Rows are counted from `start`. The weights taken must stand on the rows' final normaliser.
    """

    received: Columns
    seen: Int[Tensor, "#b #h tk"]
    sums: Float[Tensor, "b h m n"] | None
    largest: Float[Tensor, "b h m n"] | None
    counts: Int[Tensor, "#b #h m n"] | None

    def __init__(self, bound: Bound, *, rows: slice, block: int | None = None) -> None:
        b, h, tk, device = bound.shape.b, bound.shape.h, bound.shape.tk, bound.q.device
        self.start, self.block = rows.start, block
        some = bound.visible.tile(slice(0, 1), slice(0, 1)).shape[:2]
        lead = some if bound.visible.rule is None else (b, h)
        self.received = torch.zeros(b, h, tk, dtype=torch.float64, device=device)
        self.seen = torch.zeros(*lead, tk, dtype=torch.int64, device=device)
        self.sums = self.largest = self.counts = None
        if block is not None:
            grid = _grid(b, h, rows.stop - rows.start, tk, block)
            self.sums = torch.zeros(*grid, dtype=torch.float64, device=device)
            self.largest = torch.zeros_like(self.sums)
            self.counts = torch.zeros(*lead, *grid[2:], dtype=torch.int64, device=device)

    def take(self, tile: Tile, weights: Block) -> None:
        """Adds a tile of final weights, (b h r c), that has not been taken before."""
        cols = tile.cols
        self.received[..., cols] += weights.sum(dim=-2)
        self.seen[..., cols] += tile.visible.sum(dim=-2)
        if self.block is None or self.sums is None or self.largest is None or self.counts is None:
            return
        first_row, first_col = tile.rows.start - self.start, cols.start
        m, n = first_row // self.block, first_col // self.block
        sums = self._blocks(weights, first_row, first_col, torch.sum)
        here = (..., slice(m, m + sums.shape[-2]), slice(n, n + sums.shape[-1]))
        self.sums[here] += sums
        self.largest[here] = torch.maximum(
            self.largest[here], self._blocks(weights, first_row, first_col, torch.amax).double()
        )
        self.counts[here] += self._blocks(tile.visible.long(), first_row, first_col, torch.sum)

    def add(self, other: KeyStats) -> None:
        """Adds the same keys as other rows of the same span of rows have seen them."""
        self.received += other.received
        self.seen = self.seen + other.seen
        if self.sums is None or other.sums is None or self.largest is None or other.largest is None:
            return
        self.sums += other.sums
        self.largest = torch.maximum(self.largest, other.largest)
        if self.counts is not None and other.counts is not None:
            self.counts = self.counts + other.counts

    def _blocks(self, x: Tensor, row: int, col: int, reduce: Callable[..., Tensor]) -> Tensor:
        """A tile (... r c) that starts at this row and column, reduced to the blocks that it touches."""
        block = self.block or 1
        x = _pieces(x, -1, block - col % block, block, reduce)
        return _pieces(x, -2, block - row % block, block, reduce)


def _pieces(x: Tensor, dim: int, head: int, block: int, reduce: Callable[..., Tensor]) -> Tensor:
    """An axis cut after `head` and then after every `block`, each piece reduced to one."""
    size = x.shape[dim]
    head = min(head, size)
    body = (size - head) // block * block
    parts = [reduce(x.narrow(dim, 0, head), dim=dim, keepdim=True)]
    if body:
        whole = x.narrow(dim, head, body)
        axis = dim % x.dim()
        parts.append(reduce(whole.reshape(*x.shape[:axis], -1, block, *x.shape[axis + 1 :]), dim=dim))
    if head + body < size:
        parts.append(reduce(x.narrow(dim, head + body, size - head - body), dim=dim, keepdim=True))
    return torch.cat(parts, dim=dim)


def _grid(b: int, h: int, rows: int, tk: int, block: int) -> tuple[int, int, int, int]:
    if block < 1:
        raise ScoringError(
            f"block={block}", wanted="A number of rows and keys, 1 or more, or None for no blocks"
        )
    grid = (b, h, -(-rows // block), -(-tk // block))
    if grid[0] * grid[1] * grid[2] * grid[3] > BLOCK_CELLS:
        raise TooLarge(
            f"block={block} makes {grid[2]:,} x {grid[3]:,} blocks in each of {b * h:,} heads",
            wanted=f"At most {BLOCK_CELLS:,} blocks in all",
            hint=f"block={_fitting(b * h * rows * tk)} fits",
        )
    return grid


def _fitting(cells: int) -> int:
    """The smallest power of two whose blocks are few enough."""
    block = 1
    while cells > BLOCK_CELLS * block * block:
        block *= 2
    return block * 2  # ragged edges round up
