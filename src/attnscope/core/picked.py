"""The weights of chosen cells from q, k and the normaliser: no tile around them, and nothing T x T.

Cells come in groups: each of g groups names r rows and c keys, and has all of its r x c cells. A list of
single cells is groups of 1 x 1; all pairs of places of one token are a group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnscope.core.bias import TensorBias
from attnscope.core.engine import engine_of
from attnscope.core.scoring import Bound
from attnscope.core.tile import Normaliser
from attnscope.core.visible import Visible

CELLS = 2**21
"""Cells, all heads and batches together, that are computed at once: 8 MB in float32."""

BESIDE = 48
"""Keys: groups of fewer are computed several at a time, each against the keys of all. An engine takes a few
keys no sooner than so many."""


def picked(
    bound: Bound, normaliser: Normaliser, rows: Int[Tensor, "g r"], cols: Int[Tensor, "g c"]
) -> Float[Tensor, "b h g r c"]:
    """The weights of rows x cols of each group, in the compute dtype; 0 where not visible.

    rows and cols are indices of the call, in any order. The cost is that of the cells asked for.
    """
    b, h = bound.shape.b, bound.shape.h
    (g, r), c = rows.shape, cols.shape[1]
    if not g:
        return torch.zeros(b, h, 0, r, c, dtype=bound.dtype, device=bound.q.device)
    rows, cols = rows.to(bound.q.device), cols.to(bound.q.device)
    m = max(1, min(g, BESIDE // max(c, 1)))
    many = -(-g // m)
    down, along = (_repeated(x, many * m).view(many, -1) for x in (rows, cols))
    gathered = _gathered(bound, down, along)
    peak, logsum = (x[:, :, down].transpose(1, 2).flatten(0, 1) for x in (normaliser.peak, normaliser.logsum))
    whole = slice(0, m * r), slice(0, m * c)
    found = engine_of(gathered).weights(gathered, *whole, Normaliser(peak, logsum))
    own = found.view(b, many, h, m, r, m, c).diagonal(dim1=3, dim2=5).permute(0, 2, 1, 5, 3, 4)
    weights = own.reshape(b, h, many * m, r, c)[:, :, :g]  # what was repeated is cut off
    return weights.masked_fill(~bound.visible.between(rows, cols), 0.0)


def _repeated(x: Tensor, size: int) -> Tensor:
    """The groups of x, the first of them again until they are `size`."""
    return torch.cat([x, x[:1].expand(size - len(x), -1)])


def _gathered(bound: Bound, rows: Tensor, cols: Tensor) -> Bound:
    """Each group of each batch entry as an entry of its own, of which every row sees every key."""
    shape, bias = bound.shape, bound.scoring.bias
    (g, r), c = rows.shape, cols.shape[1]
    many = shape.b * g
    q = bound.q[:, :, rows].transpose(1, 2).reshape(many, shape.h, r, shape.d)
    k = bound.k[:, :, cols].transpose(1, 2).reshape(many, shape.hk, c, shape.d)
    if bias is not None:
        added = bias.between(rows, cols, offset=bound.offset).to(q.device)
        bias = TensorBias(added.expand(shape.b, -1, g, -1, -1).transpose(1, 2).flatten(0, 1))
    lo = torch.zeros(1, 1, r, 1, dtype=torch.int64, device=q.device)
    return replace(
        bound,
        scoring=replace(bound.scoring, mask=None, bias=bias, sinks=None, offset=None),
        q=q,
        k=k,
        shape=shape._replace(b=many, tq=r, tk=c),
        offset=0,
        visible=Visible(lo, torch.full_like(lo, c), b=many, h=shape.h, tk=c),
    )


def pieces(bound: Bound, g: int, r: int, c: int) -> Iterator[tuple[slice, slice]]:
    """The groups and rows in which g groups of r x c cells are computed, CELLS at a time at most."""
    wide = max(c, bound.shape.d, BESIDE)  # a row of q is copied, too
    most = max(1, CELLS // max(1, bound.shape.b * bound.shape.h * wide))  # rows
    groups, rows = max(1, most // max(r, 1)), min(r, most)
    for first in range(0, g, groups):
        for row in range(0, r, max(rows, 1)):
            yield slice(first, min(first + groups, g)), slice(row, min(row + rows, r))
