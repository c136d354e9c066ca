"""What a map asks of a head's weights: blocks, pixels, and the bands that are kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from jaxtyping import Float
from torch import Tensor

from attnscope.recording.site import LARGEST_BLOCK

ROWS = 256
"""Rows whose weights are asked for together, as far as one block may hold them."""


@dataclass(frozen=True, eq=False)
class Band:
    """What one walk makes of a band of rows. first: the column of its first pixel.   values: (planes r c)
    float32, see PLANES.

    keys: the columns of `received`, the sum of the weights each gets of these rows, (c) float64.   entropy:
    of each row, (r) float64, in nats.
    """

    first: int
    values: Float[Tensor, "planes r c"] = field(repr=False)
    keys: slice
    received: Float[Tensor, " c"] = field(repr=False)
    entropy: Float[Tensor, " r"] = field(repr=False)


class Source(Protocol):
    """Where the weights of one head come from. All it gives is on the CPU."""

    def weights(self, rows: slice, cols: slice) -> Float[Tensor, "r c"]:
        """Any block, 0 where not visible: a cell has the same bits in any block."""

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
