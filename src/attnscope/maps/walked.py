"""Pixels and bands of a head whose cells are walked one by one, block after block."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from attnscope.core.visible import Visible
from attnscope.maps.pixels import maxima, sums
from attnscope.maps.source import Band, Source

Change = Callable[[Tensor, slice, slice], Tensor]
"""What is made of a block of weights (r c), of these rows and columns."""


def as_they_are(block: Tensor, _rows: slice, _cols: slice) -> Tensor:
    """The weights themselves."""
    return block


def pixels_of(source: Source, rows: slice, cols: slice, cells: int, change: Change = as_they_are) -> Tensor:
    """Sums and maxima over squares of cells, (2 r c) float32; rows and cols begin with a square."""
    high, wide = (-(-(cut.stop - cut.start) // cells) for cut in (rows, cols))
    found = torch.zeros(2, high, wide)
    for down, across, block in source.blocks(rows, cols):
        made = change(block, down, across)
        top, left = (down.start - rows.start) // cells, (across.start - cols.start) // cells
        _put(found[0], sums(made, cells), top, left)
        _put(found[1], maxima(made, cells), top, left)
    return found


def band_of(source: Source, visible: Visible, rows: slice, cells: int, change: Change = as_they_are) -> Band:
    """What is kept of these rows, which begin with a square of cells; the entropy is that of the weights."""
    lo, hi = visible.bounds(rows)
    cols = slice(lo // cells * cells, hi)
    high, wide = (-(-(cut.stop - cut.start) // cells) for cut in (rows, cols))
    values = torch.zeros(2 if visible.rule is None else 3, high, wide)
    received = torch.zeros(cols.stop - cols.start, dtype=torch.float64)
    entropy = torch.zeros(rows.stop - rows.start, dtype=torch.float64)
    for down, across, block in source.blocks(rows, cols):
        made = change(block, down, across)
        planes = [sums(made, cells), maxima(made, cells)]
        if visible.rule is not None:
            seen = visible.tile(down, across)[0, 0].expand(block.shape).cpu()
            planes.append(sums(seen.float(), cells))
        top, left = down.start - rows.start, across.start - cols.start
        for plane, part in zip(values, planes, strict=True):
            _put(plane, part, top // cells, left // cells)
        received[left : left + block.shape[1]] += made.sum(dim=0)
        logs = block.clamp(min=torch.finfo(block.dtype).tiny).log_()  # 0 log 0 = 0
        entropy[top : top + block.shape[0]] -= torch.linalg.vecdot(block, logs)
    return Band(cols.start // cells, values, cols, received, entropy.clamp(min=0))


def _put(plane: Tensor, part: Tensor, row: int, col: int) -> None:
    plane[row : row + part.shape[0], col : col + part.shape[1]] = part
