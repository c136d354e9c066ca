"""Weights with the invisible marked, so that a cell that is not seen is never taken for a small weight."""

from __future__ import annotations

import torch
from torch import Tensor

from attnscope.recording import Site

HIDDEN = -1.0  # stands for a cell that is not visible; no weight is negative
_ROWS = 512  # rows of a column at a time: a replayed row is computed whole, and the grid is never held


def weights_of(site: Site, head: int, rows: slice, cols: slice, *, batch: int = 0) -> Tensor:
    """Return the weights (r c) float32 of a block, HIDDEN where a query does not see a key.

    Raises Uncertified for a refused head, TooLarge, ShapeError.
    """
    block = site.weights(head, rows, cols, batch=batch)
    return torch.where(site.visible(head, rows, cols, batch=batch), block, HIDDEN)


def row_of(site: Site, head: int, i: int, *, batch: int = 0) -> Tensor:
    """Return the weights (tk) of query `i`, HIDDEN where it does not see the key."""
    return weights_of(site, head, slice(i, i + 1), slice(0, site.tk), batch=batch)[0]


def mixes_of(site: Site, head: int, rows: slice, cols: slice, *, batch: int = 0) -> Tensor:
    """Return weight times the length of the key's value (r c) of a block, HIDDEN where a query does not see a
    key.

    Raises as weights_of() does, and NotKept where no lengths are known.
    """
    block = site.mixes(head, rows, cols, batch=batch).values
    return torch.where(site.visible(head, rows, cols, batch=batch), block, HIDDEN)


def column_of(site: Site, head: int, j: int, *, batch: int = 0) -> Tensor:
    """Return the weights (tq) that key `j` gets, HIDDEN where a query does not see it."""
    starts = range(0, site.tq, _ROWS)
    blocks = [slice(i, min(i + _ROWS, site.tq)) for i in starts]
    column = slice(j, j + 1)
    return torch.cat([weights_of(site, head, rows, column, batch=batch) for rows in blocks])[:, 0]
