"""Any part of a map in as many pixels as a picture has, put together from its tiles."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from attnscope.errors import RecordingError
from attnscope.maps.geometry import SIDE, Geometry
from attnscope.maps.pyramid import Pyramid
from attnscope.maps.tile import Reduction
from attnscope.models.reading import HIDDEN
from attnscope.recording.blocks import overlap


@dataclass(frozen=True, eq=False)
class Part:
    """values: (r c) float32, HIDDEN where no cell is visible.   cells: along a side of a pixel.   rows,
    cols: what the pixels cover: what was asked for, out to whole pixels.
    """

    values: Float[Tensor, "r c"] = field(repr=False)
    cells: int
    rows: slice
    cols: slice


def part_of(
    pyramid: Pyramid, rows: slice, cols: slice, reduction: Reduction = "max", *, most: int = 1_024
) -> Part:
    """Rows and columns of a map in at most `most` pixels each way, at the finest zoom that fits.

    Raises RecordingError for a part without a cell.
    """
    geometry = pyramid.geometry
    for name, cut, size in (("rows", rows, geometry.tq), ("columns", cols, geometry.tk)):
        if not 0 <= cut.start < cut.stop <= size:
            raise RecordingError(
                f"There are no {name} {cut.start}:{cut.stop}", wanted=f"first:end within 0:{size}"
            )
    level = _level(geometry, rows, cols, most)
    cells = geometry.cells(level)
    i, j = (slice(cut.start // cells, -(-cut.stop // cells)) for cut in (rows, cols))
    values = torch.full((i.stop - i.start, j.stop - j.start), HIDDEN)
    for row in range(i.start // SIDE, -(-i.stop // SIDE)):
        for col in range(j.start // SIDE, -(-j.stop // SIDE)):
            tile = pyramid.tile(level, row, col).values(reduction)
            here, own = overlap(i, _pixels(row, tile.shape[0]))
            there, column = overlap(j, _pixels(col, tile.shape[1]))
            values[here, there] = tile[own, column]
    covered = [
        slice(cut.start * cells, min(cut.stop * cells, size))
        for cut, size in ((i, geometry.tq), (j, geometry.tk))
    ]
    return Part(values, cells, *covered)


def _level(geometry: Geometry, rows: slice, cols: slice, most: int) -> int:
    for level in range(geometry.depth, 0, -1):
        cells = geometry.cells(level)
        if all(-(-cut.stop // cells) - cut.start // cells <= most for cut in (rows, cols)):
            return level
    return 0


def _pixels(at: int, size: int) -> slice:
    """The pixels of a tile at place `at`."""
    return slice(at * SIDE, at * SIDE + size)
