"""The weights of a head that are replayed in whole rows, as its model made them, and what they reduce to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from torch import Tensor

from attnscope.core.visible import Visible
from attnscope.maps.source import Band, Block, bands
from attnscope.maps.walked import band_of, pixels_of
from attnscope.recording.blocks import overlap


@dataclass(frozen=True, eq=False)
class Replayed:
    """weights: (rows, columns) -> (r c), 0 where not visible.   visible: what its rows see (b = h = 1)."""

    weights: Callable[[slice, slice], Tensor] = field(repr=False)
    visible: Visible = field(repr=False)

    def blocks(self, rows: slice, cols: slice) -> Iterator[Block]:
        """The weights in pieces: rows are replayed once, in bands at fixed places."""
        for band in bands(rows, self.visible.tq, self.visible.tk):
            block = self.weights(band, cols)
            here, own = overlap(rows, band)
            yield slice(here.start + rows.start, here.stop + rows.start), cols, block[own]

    def pixels(self, rows: slice, cols: slice, cells: int) -> Tensor:
        """Sums and maxima over squares of cells, (2 r c)."""
        return pixels_of(self, rows, cols, cells)

    def band(self, rows: slice, cells: int) -> Band:
        """What is kept of these rows."""
        return band_of(self, self.visible, rows, cells)
