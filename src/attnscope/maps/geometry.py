"""Where tiles and pixels of a map lie: every level cuts the grid in squares of a power of two of cells.

The deepest level draws one cell a pixel, each level above it half as many each way, and level 0 the whole
grid in one tile of SIDE x SIDE pixels. Rows and columns are both counted from 0 in the same squares, so that
a call of few rows over many keys is a low strip, not a square of nothing; where row 0 stands among the keys
is its head's offset. The last pixel of a row or column of pixels may hold fewer cells, the last tile fewer
pixels.
"""

from __future__ import annotations

from dataclasses import dataclass

from attnscope.errors import RecordingError

SIDE = 256
"""Pixels along a side of a tile."""

SMALL = 2_048
"""Pixels along a side of the finest level that is kept, as far as SQUARE allows."""

SQUARE = 16
"""Cells along a side of a pixel that is kept, at most: what is finer is computed in time to be looked at."""


@dataclass(frozen=True)
class Geometry:
    """tq, tk: rows and columns of the grid."""

    tq: int
    tk: int

    @property
    def depth(self) -> int:
        """The deepest level, which draws one cell a pixel."""
        return _doublings(max(self.tq, self.tk), SIDE)

    @property
    def base(self) -> int:
        """Cells along a side of a pixel of the finest level that is kept."""
        return int(min(2 ** _doublings(max(self.tq, self.tk), SMALL), SQUARE))

    def cells(self, level: int) -> int:
        """Cells along a side of a pixel of a level. Raises RecordingError for a level that is not there."""
        if not isinstance(level, int) or not 0 <= level <= self.depth:
            raise RecordingError(f"There is no level {level!r:.20}", wanted=f"0 to {self.depth}")
        return int(2 ** (self.depth - level))

    def pixels(self, level: int) -> tuple[int, int]:
        """Rows and columns of pixels of a level."""
        cells = self.cells(level)
        return -(-self.tq // cells), -(-self.tk // cells)

    def tiles(self, level: int) -> tuple[int, int]:
        """Rows and columns of tiles of a level, one at least."""
        rows, cols = self.pixels(level)
        return max(1, -(-rows // SIDE)), max(1, -(-cols // SIDE))

    def place(self, level: int, row: int, col: int) -> tuple[slice, slice]:
        """The rows and columns of cells that a tile covers. Raises RecordingError where it is not there."""
        rows, cols = self.tiles(level)
        if not (0 <= row < rows and 0 <= col < cols):
            raise RecordingError(
                f"Level {level} has no tile ({row}, {col})",
                wanted=f"Rows 0 to {rows - 1} and columns 0 to {cols - 1}",
            )
        return self.stretch(level, row, self.tq), self.stretch(level, col, self.tk)

    def stretch(self, level: int, at: int, size: int) -> slice:
        """The cells that the tiles at place `at` cover along a side of `size` cells."""
        step = SIDE * self.cells(level)
        return slice(min(at * step, size), min((at + 1) * step, size))


def _doublings(size: int, start: int) -> int:
    """How often `start` must be doubled to reach `size`."""
    return max(0, (-(-size // start) - 1).bit_length())
