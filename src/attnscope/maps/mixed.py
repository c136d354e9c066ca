"""Weight times the length of the key's value, cell by cell: the second picture of a head as a map draws it.

The weight of every cell differs in how much it is stretched, so nothing of the first picture but single
cells can be used: every pixel is made of cells that were multiplied one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import torch
from jaxtyping import Float
from torch import Tensor

from attnscope.core.visible import Visible
from attnscope.maps.source import Band, Block, Source
from attnscope.maps.walked import band_of, pixels_of
from attnscope.recording.mixes import times


@dataclass(frozen=True, eq=False)
class Mixed:
    """source: of the weights.   lengths: of the value of each key, (tk).   visible: what its rows see
    (b = h = 1).
    """

    source: Source = field(repr=False)
    lengths: Float[Tensor, " tk"] = field(repr=False)
    visible: Visible = field(repr=False)

    def weights(self, rows: slice, cols: slice) -> Tensor:
        """Weight times length of any block, (r c), 0 where not visible."""
        return self._times(self.source.weights(rows, cols), rows, cols)

    def blocks(self, rows: slice, cols: slice) -> Iterator[Block]:
        """The same in pieces."""
        for down, across, block in self.source.blocks(rows, cols):
            yield down, across, self._times(block, down, across)

    def pixels(self, rows: slice, cols: slice, cells: int) -> Tensor:
        """Sums and maxima over squares of cells, (2 r c)."""
        return pixels_of(self.source, rows, cols, cells, self._times)

    def band(self, rows: slice, cells: int) -> Band:
        """What is kept of these rows."""
        largest = torch.zeros(rows.stop - rows.start)

        def change(block: Tensor, down: slice, across: slice) -> Tensor:
            made, own = self._times(block, down, across), largest[down.start - rows.start :][: len(block)]
            torch.maximum(own, made.amax(dim=1).float(), out=own)
            return made

        return replace(band_of(self.source, self.visible, rows, cells, change), largest=largest)

    def _times(self, block: Tensor, rows: slice, cols: slice) -> Tensor:
        return times(block, self.lengths[cols], lambda: self._seen(block, rows, cols))

    def _seen(self, block: Tensor, rows: slice, cols: slice) -> Tensor:
        return self.visible.tile(rows, cols)[0, 0].expand(block.shape).cpu()
