"""Attention without some of its cells: what the rows of a call give once certain weights are taken out.

zero: the weights of these cells are 0 and all others stay as they were, so the row sums to less than 1.
renormalise: as if the mask hid the cells, so the row's other weights (a learned sink's too) share their part.
A row that loses every key it sees gives 0 in both.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from attnscope.core.mask import Mask
from attnscope.core.mix import mix
from attnscope.core.normaliser import of_sinks, of_tile
from attnscope.core.replay import Reach, replay_head
from attnscope.core.scoring import Bound
from attnscope.core.tile import weigh
from attnscope.shapes import Block, Value

Way = Literal["zero", "renormalise"]
"""How a weight is taken out."""


def out_without(
    bound: Bound, v: Value, kept: Mask, way: Way, *, rows: slice | None = None, reach: Reach | None = None
) -> Tensor:
    """The outputs of rows (b h r dv) in the compute dtype, where cells outside of `kept` are taken out.

    rows: a slice of absolute rows, None for all.   reach: what a replay of an eager model computes together,
    None where weights come from scores in the compute dtype.   Memory is O(r tk) for each head and batch.
    """
    rows = slice(*(rows or slice(None)).indices(bound.shape.tq)[:2])
    stays = kept.bind(*bound.shape[:2], bound.shape.tq, bound.shape.tk, bound.offset, bound.q.device)
    left = bound.with_visible(bound.visible & stays)
    cols = slice(0, bound.shape.tk)
    visible = left.visible.tile(rows, cols)
    if way == "renormalise":
        weights = weights_of_rows(left, rows, reach)
    else:
        weights = weights_of_rows(bound, rows, reach).masked_fill(~visible, 0.0)
    return mix(weights, v.to(bound.dtype), visible)


def weights_of_rows(bound: Bound, rows: slice, reach: Reach | None = None) -> Block:
    """The weights of whole rows, (b h r tk) in the compute dtype, on a grid of these rows alone."""
    if reach is not None:
        heads = [
            [replay_head(bound, rows, head, batch=batch, reach=reach) for head in range(bound.shape.h)]
            for batch in range(bound.shape.b)
        ]
        return torch.stack([torch.stack(of_text) for of_text in heads])
    tile = bound.tile(rows, slice(0, bound.shape.tk))
    state = of_tile(bound, tile)
    sink = of_sinks(bound, state)
    given = (state if sink is None else state.merge(sink)).normaliser()
    return weigh(bound, tile, given.peak, given.logsum)
