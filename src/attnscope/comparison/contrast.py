"""Two heads row by row: how far apart the rows are, and any block of both with its difference.

The distance of two rows is their total variation, half the sum of |a - b| over everything that a row's
weight can go to: the slots of both, those that one alone has among them, a learned sink, and nothing (of a
row that sees no key). It is 0 for equal rows and 1 for rows that share nothing; weight on a key that has no
fellow counts as difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from attnscope.comparison.alignment import Alignment
from attnscope.comparison.rows import Rows
from attnscope.errors import ShapeError, TooLarge
from attnscope.maps.head import Head
from attnscope.models.reading import HIDDEN
from attnscope.recording.asked import Where, cut_of
from attnscope.recording.site import LARGEST_BLOCK

CELLS = 2**21
"""Cells of one side that are looked at together: 16 MB in float64."""

UNSEEN = torch.inf
"""Stands in a difference for a cell that is visible on neither side; NaN is one that has no fellow."""


@dataclass(frozen=True, eq=False)
class Block:
    """a, b: weights (r c) over slots, -1 where not visible, NaN where that side has no such place.

    difference: b - a, NaN where a place has no fellow, inf where neither side sees the cell.
    """

    a: Float[Tensor, "r c"] = field(repr=False)
    b: Float[Tensor, "r c"] = field(repr=False)
    difference: Float[Tensor, "r c"] = field(repr=False)


@dataclass(frozen=True, eq=False)
class RowDistances:
    """slots: those of the rows that were compared.   distance: the total variation of each, NaN where neither
    side sees a key.   lost: the weight of each on keys that have no fellow, (2 n), of a and of b.
    """

    slots: Tensor = field(repr=False)
    distance: Float[Tensor, " n"] = field(repr=False)
    lost: Float[Tensor, "2 n"] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Contrast:
    """Two heads under one alignment of their queries and one of their keys."""

    a: Head
    b: Head
    rows: Alignment
    cols: Alignment

    def distances(self, walked: Callable[[], object] | None = None) -> RowDistances:
        """The distance of every pair of matched rows, by blocks: the memory grows with the length.

        walked: called before each block; what it raises ends the walk.
        """
        paired = self.rows.matched.nonzero()[:, 0]
        found, lost = [torch.zeros(0, dtype=torch.float64)], [torch.zeros(2, 0, dtype=torch.float64)]
        both = self.cols.matched
        for slots in self._blocks(paired.tolist()):
            if walked is not None:
                walked()
            (a, rest_a), (b, rest_b) = (side.of_slots(slots) for side in self._sides)
            distance = ((a - b).abs().sum(dim=1) + (rest_a - rest_b).abs()) / 2
            blind = (a == 0).all(dim=1) & (b == 0).all(dim=1) & (rest_a == 1) & (rest_b == 1)
            found.append(distance.masked_fill(blind, torch.nan))
            lost.append(torch.stack([a[:, ~both].sum(dim=1), b[:, ~both].sum(dim=1)]))
        return RowDistances(paired, torch.cat(found), torch.cat(lost, dim=1))

    def block(self, rows: Where = None, cols: Where = None) -> Block:
        """Both heads and their difference over some slots. Raises ShapeError, TooLarge past 2**24 cells."""
        row, col = (
            cut_of(given, size, what)
            for given, size, what in ((rows, self.rows.count, "row"), (cols, self.cols.count, "column"))
        )
        if (row.stop - row.start) * (col.stop - col.start) > LARGEST_BLOCK:
            raise TooLarge(
                f"{row.stop - row.start:,} x {col.stop - col.start:,} differences were asked for",
                wanted=f"At most {LARGEST_BLOCK:,} cells at once",
            )
        parts = [self._cells(slots, col) for slots in self._blocks(range(row.start, row.stop))]
        if not parts:
            raise ShapeError("A block without a row", wanted=f"first:end within 0:{self.rows.count}")
        return Block(
            *(torch.cat([getattr(part, name) for part in parts]) for name in ("a", "b", "difference"))
        )

    def reduced(self, cells: int) -> Block:
        """The whole in pixels of cells x cells slots: the largest weight of each side, and the
        difference that is furthest from 0, with its sign.
        """
        parts = [_pixels(self.block(slice(at, at + cells)), cells) for at in range(0, self.rows.count, cells)]
        return Block(
            *(torch.cat([getattr(part, name) for part in parts]) for name in ("a", "b", "difference"))
        )

    @cached_property
    def _sides(self) -> tuple[Rows, Rows]:
        return Rows(self.a, self.rows.a, self.cols.a), Rows(self.b, self.rows.b, self.cols.b)

    def _cells(self, slots: range, cols: slice) -> Block:
        sides = []
        for side, of_rows, of_cols in zip(
            self._sides, (self.rows.a, self.rows.b), (self.cols.a, self.cols.b), strict=True
        ):
            weights, seen = side.of_slots(slots)[0][:, cols].float(), side.seen(slots)[:, cols]
            there = (of_rows.sizes[slots.start : slots.stop, None] > 0) & (of_cols.sizes[cols] > 0)
            sides.append(weights.masked_fill(~seen, HIDDEN).masked_fill(~there, torch.nan))
        a, b = sides
        difference = b.clamp(min=0) - a.clamp(min=0)
        return Block(a, b, difference.masked_fill((a == HIDDEN) & (b == HIDDEN), UNSEEN))

    def _blocks(self, slots: list[int] | range) -> Iterator[range]:
        """Neighbouring slots, so many that a block of whole rows stays small."""
        step = max(1, CELLS // max(self.a.tk, self.b.tk, self.cols.count, 1))
        start = 0
        while start < len(slots):
            stop = start + 1
            while stop < min(start + step, len(slots)) and slots[stop] == slots[stop - 1] + 1:
                stop += 1
            yield range(slots[start], slots[stop - 1] + 1)
            start = stop


def _pixels(block: Block, cells: int) -> Block:
    """One row of pixels of a block of rows."""
    found = []
    for name in ("a", "b", "difference"):
        values = getattr(block, name)
        spare = -values.shape[1] % cells
        padded = torch.nn.functional.pad(values, (0, spare), value=torch.nan)
        tiles = padded.view(values.shape[0], -1, cells).transpose(0, 1).flatten(1)  # (pixels cells)
        found.append(_furthest(tiles) if name == "difference" else _largest(tiles))
    return Block(*(one[None] for one in found))


def _largest(tiles: Tensor) -> Tensor:
    """The largest weight of each pixel; NaN where none of its cells is there."""
    gone = tiles.isnan()
    largest = tiles.masked_fill(gone, -torch.inf).amax(dim=1)
    return largest.masked_fill(gone.all(dim=1), torch.nan)


def _furthest(tiles: Tensor) -> Tensor:
    """The difference of each pixel that is furthest from 0."""
    known = tiles.isfinite()
    at = tiles.abs().masked_fill(~known, -1.0).argmax(dim=1, keepdim=True)
    found = tiles.gather(1, at)[:, 0]
    none = ~known.any(dim=1)
    unseen = none & (tiles == UNSEEN).any(dim=1)
    return found.masked_fill(none, torch.nan).masked_fill(unseen, UNSEEN)
