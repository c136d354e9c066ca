"""Reads weights so that one cell has one value, to the last bit, however it is asked for.

Matrix products of other shapes add in another order. So every block is computed as whole rows, in groups of
16 that start at multiples of 16, and cut afterwards: a row, a column, a cell and a heatmap then agree
exactly.
"""

from __future__ import annotations

import torch
from torch import Tensor

from attnscope.recording import Site

GROUP = 16
HIDDEN = -1.0  # what stands for a cell that is not visible, so that it is never taken for a small weight


def weights_of(site: Site, head: int, rows: slice, cols: slice) -> Tensor:
    """Return the weights (r c) float32 of a block, HIDDEN where a query does not see a key.

    Raises Uncertified for a refused head. Memory is that of the block and of 16 whole rows.
    """
    found = torch.empty(rows.stop - rows.start, cols.stop - cols.start)
    for first in range(rows.start - rows.start % GROUP, rows.stop, GROUP):
        group = slice(first, min(first + GROUP, site.tq))
        inside = slice(max(first, rows.start), min(group.stop, rows.stop))
        whole = site.weights(head, group)  # (16 tk)
        seen = site.visible(head, inside, cols)
        block = whole[inside.start - first : inside.stop - first, cols]
        found[inside.start - rows.start : inside.stop - rows.start] = torch.where(seen, block, HIDDEN)
    return found


def row_of(site: Site, head: int, i: int) -> Tensor:
    """Return the weights (tk) of query `i`, HIDDEN where it does not see the key."""
    return weights_of(site, head, slice(i, i + 1), slice(0, site.tk))[0]


def column_of(site: Site, head: int, j: int) -> Tensor:
    """Return the weights (tq) that key `j` gets, HIDDEN where a query does not see it."""
    return weights_of(site, head, slice(0, site.tq), slice(j, j + 1))[:, 0]
