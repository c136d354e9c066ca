"""What a map asks of a head's numbers: blocks, pixels, and the bands that are kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from jaxtyping import Float
from torch import Tensor

from attnscope.recording.site import LARGEST_BLOCK

ROWS = 256
"""Rows whose weights are asked for together, as far as one block may hold them."""

WIDE = 2_048
"""Columns of a block whose cells are walked one by one: in so few they stay in cache."""


@dataclass(frozen=True, eq=False)
class Band:
    """What one walk makes of a band of rows. first: the column of its first pixel.   values: (planes r c)
    float32, see PLANES.

    keys: the columns of `received`, the sum of what each gets of these rows, (c) float64.   entropy: of each
    row's weights, (r) float64, in nats.   largest: the largest number of each row, (r) float32, of the second
    picture alone.
    """

    first: int
    values: Float[Tensor, "planes r c"] = field(repr=False)
    keys: slice
    received: Float[Tensor, " c"] = field(repr=False)
    entropy: Float[Tensor, " r"] = field(repr=False)
    largest: Float[Tensor, " r"] | None = field(default=None, repr=False)


Block = tuple[slice, slice, Tensor]
"""Rows, columns, and what stands in their cells."""


class Source(Protocol):
    """Where the numbers of one head's cells come from: its weights, or weight times the length of the key's
    value. All it gives is on the CPU.
    """

    def weights(self, rows: slice, cols: slice) -> Float[Tensor, "r c"]:
        """Any block, 0 where not visible: a cell has the same bits in any block."""

    def blocks(self, rows: slice, cols: slice) -> Iterator[Block]:
        """The same in pieces that are made at little cost; each begins where a square of cells of a tile
        does. What no row of it sees may be left out.
        """

    def pixels(self, rows: slice, cols: slice, cells: int) -> Float[Tensor, "2 r c"]:
        """Sums and maxima over squares of cells, float32; rows and cols begin with a square."""

    def band(self, rows: slice, cells: int) -> Band:
        """What is kept of these rows; they begin with a square of cells."""


def bands(rows: slice, tq: int, tk: int) -> Iterator[slice]:
    """The rows at fixed places that hold these, of tq: ROWS at a time, fewer where tk columns of so many
    would be too much for one block.
    """
    step = ROWS
    while step > 16 and step * tk > LARGEST_BLOCK:
        step //= 2
    for first in range(rows.start // step * step, rows.stop, step):
        yield slice(first, min(first + step, tq))
