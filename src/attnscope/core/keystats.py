"""What a summary says of each key, of blocks of cells and of distances: a state of sums of final weights.

It adds over rows and joins over keys, in any order, and begins with nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from types import EllipsisType

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnscope.core.counts import seen_of_blocks, seen_of_keys
from attnscope.core.distance import bins_of, by_distance
from attnscope.core.room import Room
from attnscope.core.scores import Tile
from attnscope.core.scoring import Bound
from attnscope.core.tile import Weighed
from attnscope.errors import ScoringError, TooLarge
from attnscope.shapes import Columns

BLOCK_CELLS = 2**28
"""Cells of all block grids of a call, past which `block` is refused: 2 GB in float64."""


class KeyStats:
    """The weight that a span of keys receives from a span of rows: by key, by distance, and by block of
    block x block cells. Weights that are taken must stand on the rows' final normaliser.

    received: (b h c) float64.   seen: (b|1, h|1, c), how many of the rows see each key.   by_distance:
    (b h bins) float64, in the bins of core.distance.   sums, largest: (b h m n) float64, by blocks of rows
    and keys, or None.   counts: (b|1, h|1, m n), visible cells.

    rows, cols: the spans, absolute; cols None is every key. Blocks of rows are counted from row `start`,
    blocks of keys from key 0, and the spans may begin and end within one. counted: seen and counts are of all
    these rows and keys from the start, which takes a call without a rule.   room: where the blocks lie.
    """

    received: Columns
    seen: Int[Tensor, "#b #h c"]
    by_distance: Float[Tensor, "b h bins"]
    sums: Float[Tensor, "b h m n"] | None
    largest: Float[Tensor, "b h m n"] | None
    counts: Int[Tensor, "#b #h m n"] | None

    def __init__(
        self,
        bound: Bound,
        *,
        rows: slice,
        cols: slice | None = None,
        start: int,
        block: int | None = None,
        counted: bool = False,
        room: Room | None = None,
    ) -> None:
        b, h, device = bound.shape.b, bound.shape.h, bound.q.device
        self.bound, self.rows, self.cols = bound, rows, cols or slice(0, bound.shape.tk)
        self.start, self.block, self._counted_before = start, block, counted
        seen, keys = bound.visible, self.cols
        some = seen.tile(slice(0, 1), slice(0, 1)).shape[:2]
        lead = some if seen.rule is None else (b, h)
        self.received = torch.zeros(b, h, keys.stop - keys.start, dtype=torch.float64, device=device)
        self.by_distance = torch.zeros(b, h, bins_of(bound), dtype=torch.float64, device=device)
        self.seen = (
            seen_of_keys(seen, rows, keys)
            if counted
            else torch.zeros(*lead, keys.stop - keys.start, dtype=torch.int64, device=device)
        )
        self.sums = self.largest = self.counts = None
        if block is not None:
            down, along = self._blocks_of(rows, keys)
            grid = (down.stop - down.start, along.stop - along.start)
            self.sums, self.largest = (
                (room or Room()).take(name, (b, h, *grid), torch.float64, device).zero_()
                for name in ("sums", "largest")
            )
            self.counts = (
                seen_of_blocks(seen, rows, keys, block=block, start=start)
                if counted
                else torch.zeros(*lead, *grid, dtype=torch.int64, device=device)
            )

    def take(self, tile: Tile, seen: Weighed) -> None:
        """Adds a tile of these rows and keys that has not been taken before."""
        weights, here = seen.weights, (..., self._within(tile.cols))
        of_rows = self._down(weights, tile, torch.sum).double()  # (b h m c)
        received = of_rows.sum(dim=-2)
        self.received[here] += received
        self.by_distance += by_distance(self.bound, tile, seen, received, self.by_distance.shape[-1])
        counted = None if self._counted_before else self._counted(tile)  # (.. m c)
        if counted is not None:
            self.seen[here] += counted.sum(dim=-2)
        if self.block is None or self.sums is None or self.largest is None or self.counts is None:
            return
        blocks = self._place(tile.rows, tile.cols)
        self.sums[blocks] += self._across(of_rows, tile, torch.sum)
        largest = self._across(self._down(weights, tile, torch.amax), tile, torch.amax)
        self.largest[blocks] = torch.maximum(self.largest[blocks], largest.double())
        if counted is not None:
            self.counts[blocks] += self._across(counted, tile, torch.sum)

    @property
    def blocks(self) -> tuple[Tensor, Tensor]:
        """Sums and maxima of blocks, (b h m n) each; a state without blocks has none to give."""
        if self.sums is None or self.largest is None:
            raise ScoringError("There are no blocks", wanted="block, the rows and keys of one")
        return self.sums, self.largest

    def _counted(self, tile: Tile) -> Tensor:
        """How many rows of each block see each key, (b|1 h|1 m c) int64."""
        rows, cols = tile.visible.shape[-2:]
        if tile.whole:
            ones = torch.ones(rows, 1, dtype=torch.int64, device=tile.visible.device)
            return self._down(ones, tile, torch.sum).expand(-1, cols)
        # whole numbers, exact in float32, in which sums are quicker
        return self._down(tile.visible.float(), tile, torch.sum).long()

    def _down(self, x: Tensor, tile: Tile, reduce: Callable[..., Tensor]) -> Tensor:
        """A tile (... r c) with its rows reduced to the blocks that they touch, or to one without blocks."""
        if self.block is None:
            return reduce(x, dim=-2, keepdim=True)
        return by_blocks(x, -2, tile.rows.start - self.start, self.block, reduce)

    def _across(self, x: Tensor, tile: Tile, reduce: Callable[..., Tensor]) -> Tensor:
        """The same for keys, which are the last axis."""
        return by_blocks(x, -1, tile.cols.start, self.block or 1, reduce)

    def _within(self, cols: slice) -> slice:
        return slice(cols.start - self.cols.start, cols.stop - self.cols.start)

    def _blocks_of(self, rows: slice, cols: slice) -> tuple[slice, slice]:
        """The blocks of the call that these rows and keys touch."""
        block, first = self.block or 1, self.start
        down = slice((rows.start - first) // block, -(-(rows.stop - first) // block))
        return down, slice(cols.start // block, -(-cols.stop // block))

    def _place(self, rows: slice, cols: slice) -> tuple[EllipsisType, slice, slice]:
        """Where the blocks of these rows and keys are held."""
        corner = self._blocks_of(self.rows, self.cols)
        down, along = (
            slice(cut.start - first.start, cut.stop - first.start)
            for cut, first in zip(self._blocks_of(rows, cols), corner, strict=True)
        )
        return (..., down, along)


def by_blocks(x: Tensor, dim: int, offset: int, block: int, reduce: Callable[..., Tensor]) -> Tensor:
    """An axis that begins `offset` after a block does, each block of it reduced to one."""
    size = x.shape[dim]
    head = min(-offset % block, size)
    body = (size - head) // block * block
    parts = [reduce(x.narrow(dim, 0, head), dim=dim, keepdim=True)] if head else []
    if body:
        axis = dim % x.dim()
        whole = x.narrow(dim, head, body).reshape(*x.shape[:axis], -1, block, *x.shape[axis + 1 :])
        parts.append(reduce(whole, dim=dim))
    if head + body < size:
        parts.append(reduce(x.narrow(dim, head + body, size - head - body), dim=dim, keepdim=True))
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=dim)


def check_block(bound: Bound, rows: slice, block: int | None) -> None:
    """Raises ScoringError, or TooLarge where the blocks of these rows and all keys would make a grid."""
    if block is None:
        return
    if block < 1:
        raise ScoringError(
            f"block={block}", wanted="A number of rows and keys, 1 or more, or None for no blocks"
        )
    b, h, size, tk = bound.shape.b, bound.shape.h, rows.stop - rows.start, bound.shape.tk
    grid = (b, h, -(-size // block), -(-tk // block))
    if grid[0] * grid[1] * grid[2] * grid[3] > BLOCK_CELLS:
        raise TooLarge(
            f"block={block} makes {grid[2]:,} x {grid[3]:,} blocks in each of {b * h:,} heads",
            wanted=f"At most {BLOCK_CELLS:,} blocks in all",
            hint=f"block={_fitting(b * h * size * tk)} fits",
        )


def _fitting(cells: int) -> int:
    """The smallest power of two whose blocks are few enough."""
    block = 1
    while cells > BLOCK_CELLS * block * block:
        block *= 2
    return block * 2  # ragged edges round up
