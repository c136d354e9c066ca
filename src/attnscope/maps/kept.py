"""The levels of a map that are kept: sums and maxima of pixels, stored only where something is visible."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from attnscope.maps.pixels import maxima, sums
from attnscope.recording.blocks import overlap

PLANES = ("sum", "max", "seen")
"""What is kept of a pixel, float32 each; counts of visible cells only where a mask is a rule."""


@dataclass(frozen=True, eq=False)
class Run:
    """Neighbouring pixels of one band. first: the column of its first pixel.   values: (planes r c)."""

    first: int
    values: Tensor = field(repr=False)

    def coarser(self, times: int) -> Run:
        """The same with pixels `times` as wide and high; `first` must be a multiple of it."""
        total, largest, *seen = self.values
        planes = [sums(total, times), maxima(largest, times), *(sums(one, times) for one in seen)]
        return Run(self.first // times, torch.stack(planes))


@dataclass(frozen=True, eq=False)
class Bands:
    """One level, in bands of `height` rows of pixels from the top. cells: along a side of a pixel."""

    cells: int
    height: int
    planes: int
    bands: list[list[Run]] = field(default_factory=list, repr=False)

    @property
    def nbytes(self) -> int:
        """The bytes that it holds."""
        return sum(run.values.nbytes for band in self.bands for run in band)

    def block(self, rows: slice, cols: slice) -> Tensor:
        """A block of pixels, (planes r c); 0 where nothing is visible."""
        found = torch.zeros(self.planes, rows.stop - rows.start, cols.stop - cols.start)
        for at in range(rows.start // self.height, min(-(-rows.stop // self.height), len(self.bands))):
            top = at * self.height
            for run in self.bands[at]:
                high, wide = run.values.shape[1:]
                here, down = overlap(rows, slice(top, top + high))
                there, along = overlap(cols, slice(run.first, run.first + wide))
                if here.start < here.stop and there.start < there.stop:
                    found[:, here, there] = run.values[:, down, along]
        return found
