"""The weights of a head that are replayed in whole rows, as its model made them, and what they reduce to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor

from attnscope.core.visible import Visible
from attnscope.maps.pixels import maxima, sums
from attnscope.maps.source import Band, bands
from attnscope.recording.blocks import overlap


@dataclass(frozen=True, eq=False)
class Replayed:
    """weights: (rows, columns) -> (r c), 0 where not visible.   visible: what its rows see (b = h = 1)."""

    weights: Callable[[slice, slice], Tensor] = field(repr=False)
    visible: Visible = field(repr=False)

    def pixels(self, rows: slice, cols: slice, cells: int) -> Tensor:
        """Sums and maxima over squares of cells, (2 r c)."""
        size = tuple(-(-(cut.stop - cut.start) // cells) for cut in (rows, cols))
        found = torch.zeros(2, *size)
        for band, block in self._blocks(rows, cols):
            here, own = overlap(rows, band)
            top = here.start // cells
            for plane, reduce in enumerate((sums, maxima)):
                part = reduce(block[own], cells)
                found[plane, top : top + part.shape[0]] = part
        return found

    def band(self, rows: slice, cells: int) -> Band:
        """What is kept of these rows."""
        lo, hi = self.visible.bounds(rows)
        cols = slice(lo // cells * cells, hi)
        values, entropy = [], []
        received = torch.zeros(cols.stop - cols.start, dtype=torch.float64)
        for band, block in self._blocks(rows, cols):
            planes = [sums(block, cells), maxima(block, cells)]
            if self.visible.rule is not None:
                seen = self.visible.tile(band, cols)[0, 0].expand(block.shape).cpu()
                planes.append(sums(seen.float(), cells))
            values.append(torch.stack(planes).float())
            received += block.sum(dim=0)
            logs = block.clamp(min=torch.finfo(block.dtype).tiny).log_()  # 0 log 0 = 0
            entropy.append(-torch.linalg.vecdot(block, logs).double())
        whole = torch.cat(entropy).clamp(min=0)
        return Band(cols.start // cells, torch.cat(values, dim=1), cols, received, whole)

    def _blocks(self, rows: slice, cols: slice) -> Iterator[tuple[slice, Tensor]]:
        """Bands of rows at fixed places that hold these, with their weights."""
        for band in bands(rows, self.visible.tq, self.visible.tk):
            yield band, self.weights(band, cols)
