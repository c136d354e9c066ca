"""The map of one head: what is coarse is made in one walk and kept, what is fine when it is looked at."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from attnscope.core.counts import seen_of_blocks, seen_of_keys
from attnscope.maps.bars import OF_KEYS, Sides, reduced
from attnscope.maps.geometry import Geometry
from attnscope.maps.head import Head
from attnscope.maps.kept import PLANES, Bands, Run
from attnscope.maps.pixels import sums
from attnscope.maps.source import ROWS, bands
from attnscope.maps.tile import Reduction, Tile
from attnscope.recording.blocks import overlap

STEP = 8
"""The second level that is kept has pixels of so many of the first, each way."""

WALKED = 4 * ROWS
"""Rows that are walked at once: in fewer, keys would be made ready too often."""

Progress = Callable[[int, int], None]
"""Called with the rows that are done and all rows; what it raises ends the walk, which can go on later."""


@dataclass(eq=False)
class Pyramid:
    """The map of one head, any tile of it. Threads may share it.

    Tiles whose pixels are finer than `geometry.base` cells are computed when asked for; the first coarser
    one, the bars and the largest cells need build(), and call it.
    """

    head: Head
    _entropy: Tensor = field(init=False, repr=False)
    _received: Tensor = field(init=False, repr=False)
    _largest: Tensor | None = field(init=False, repr=False)
    _levels: tuple[Bands, Bands] = field(init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        base, planes = self.geometry.base, 2 if self.head.visible.rule is None else len(PLANES)
        fine = Bands(base, ROWS // base, planes)
        self._levels = fine, Bands(base * STEP, ROWS // base // STEP, planes)
        self._entropy = torch.zeros(self.head.tq)
        self._received = torch.zeros(self.head.tk, dtype=torch.float64)
        self._largest = None if self.head.lengths is None else torch.zeros(self.head.tq)

    @cached_property
    def geometry(self) -> Geometry:
        """Levels, tiles and pixels."""
        return Geometry(self.head.tq, self.head.tk)

    @property
    def done(self) -> int:
        """The rows that build() has walked."""
        return min(len(self._levels[0].bands) * ROWS, self.head.tq)

    @property
    def built(self) -> bool:
        """Whether build() has nothing left to do."""
        return self.done == self.head.tq

    @property
    def nbytes(self) -> int:
        """The bytes that it keeps, the head's own q, k and normaliser aside."""
        along = [self._entropy, self._received, *([] if self._largest is None else [self._largest])]
        return sum(level.nbytes for level in self._levels) + sum(one.nbytes for one in along)

    def build(self, progress: Progress | None = None) -> None:
        """Walks the rows that are not walked yet: afterwards no tile takes long. A second caller waits."""
        with self._lock, torch.no_grad():
            while not self.built:
                start = self.done
                self._take(slice(start, min(start + WALKED, self.head.tq)))
                if progress is not None:
                    progress(self.done, self.head.tq)

    def tile(self, level: int, row: int, col: int) -> Tile:
        """The tile at row and column of tiles of a level, level 0 being the whole grid.

        Raises RecordingError where there is no such tile.
        """
        rows, cols = self.geometry.place(level, row, col)
        cells = self.geometry.cells(level)
        with torch.no_grad():
            planes = self._kept(rows, cols, cells) if cells >= self.kept_from else None
            total, largest = planes[:2] if planes is not None else self._computed(rows, cols, cells)
            if planes is not None and len(planes) == len(PLANES):
                seen = planes[2].long()
            else:
                seen = self._seen(rows, cols, cells)
        return Tile(level, row, col, rows, cols, cells, total, largest, seen)

    @cached_property
    def sides(self) -> Sides:
        """What stands along the sides, number by number; it calls build()."""
        self.build()
        received = self._received
        seen = self._seen_by_rows()
        mean = received / seen  # NaN where no row sees the key
        return Sides(self._entropy, self.head.sink, received.float(), mean.float(), self._largest)

    def bar(self, name: str, level: int, at: int, reduction: Reduction = "mean") -> Tensor:
        """A side bar beside the tiles at place `at` of a level, one number a pixel (n) float32.

        name: "entropy" or "sink" (of rows), "received" or "received_mean" (of keys). NaN where nothing is
        defined. Raises RecordingError, and NotKept for the sink of a head without one.
        """
        size = self.head.tk if name in OF_KEYS else self.head.tq
        row, col = (0, at) if name in OF_KEYS else (at, 0)
        self.geometry.place(level, row, col)  # raises what there is to raise
        values = self.sides.of(name)[self.geometry.stretch(level, at, size)]
        return reduced(values.float(), self.geometry.cells(level), reduction)

    @property
    def base(self) -> Bands:
        """The finest level that is kept."""
        self.build()
        return self._levels[0]

    @property
    def kept_from(self) -> int:
        """Cells of a pixel from which on tiles come from what is kept, and wait for build(); single cells
        never do.
        """
        return max(2, self.geometry.base)

    def waits(self, level: int) -> bool:
        """Whether tiles of a level have to wait for build(). Raises RecordingError."""
        return self.geometry.cells(level) >= self.kept_from and not self.built

    def _take(self, rows: slice) -> None:
        """Adds bands of rows to what is kept."""
        base, found = self.geometry.base, self.head.source.band(rows, self.geometry.base)
        held = slice(found.first, found.first + found.values.shape[-1])
        for first in range(rows.start, rows.stop, ROWS):
            band = slice(first, min(first + ROWS, rows.stop))
            high = slice((band.start - rows.start) // base, -(-(band.stop - rows.start) // base))
            fine = []
            for run in self.head.runs(band):
                wide = slice(run.start // base, -(-run.stop // base))
                here, own = overlap(wide, held)
                values = torch.zeros(len(found.values), high.stop - high.start, wide.stop - wide.start)
                values[..., here] = found.values[:, high, own]
                fine.append(Run(wide.start, values))
            self._levels[1].bands.append([run.coarser(STEP) for run in fine])
            self._levels[0].bands.append(fine)
        self._entropy[rows] = found.entropy.float()
        self._received[found.keys] += found.received
        if self._largest is not None and found.largest is not None:
            self._largest[rows] = found.largest

    def _kept(self, rows: slice, cols: slice, cells: int) -> Tensor:
        """A tile from the coarsest level that is kept and fine enough, (planes r c)."""
        self.build()
        level = self._levels[cells >= self._levels[1].cells]
        pixels = [slice(cut.start // level.cells, -(-cut.stop // level.cells)) for cut in (rows, cols)]
        return Run(0, level.block(*pixels)).coarser(cells // level.cells).values

    def _computed(self, rows: slice, cols: slice, cells: int) -> Tensor:
        """A tile from the weights themselves, (2 r c)."""
        if not self.head.sees(rows, cols):
            return torch.zeros(2, *(-(-(cut.stop - cut.start) // cells) for cut in (rows, cols)))
        if cells > 1:
            return self.head.source.pixels(rows, cols, cells)
        weights = self.head.weights(rows, cols).float()
        return weights.expand(2, *weights.shape)

    def _seen(self, rows: slice, cols: slice, cells: int) -> Tensor:
        if self.head.visible.rule is None:
            return seen_of_blocks(self.head.visible, rows, cols, block=cells, start=rows.start)[0, 0]
        return sums(self.head.seen(rows, cols).float(), cells).long()

    def _seen_by_rows(self) -> Tensor:
        """How many rows see each key, (tk)."""
        rows, keys = slice(0, self.head.tq), slice(0, self.head.tk)
        if self.head.visible.rule is None:
            return seen_of_keys(self.head.visible, rows, keys)[0, 0]
        counts = torch.zeros(self.head.tk, dtype=torch.int64)
        for band in bands(rows, self.head.tq, self.head.tk):
            counts += self.head.seen(band, keys).sum(dim=0)
        return counts
