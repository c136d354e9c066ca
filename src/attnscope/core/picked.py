"""The weights of chosen cells from q, k and the normaliser: no tile around them, and nothing T x T.

Cells come in groups: each of g groups names r rows and c keys, and has all of its r x c cells. A list of
single cells is groups of 1 x 1; all pairs of places of one token are a group.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnscope.core.arithmetic import rounded
from attnscope.core.scoring import Bound
from attnscope.core.tile import Normaliser, shifted

CELLS = 2**21
"""Cells, all heads and batches together, that are computed at once: 8 MB in float32."""


def picked(
    bound: Bound, normaliser: Normaliser, rows: Int[Tensor, "g r"], cols: Int[Tensor, "g c"]
) -> Float[Tensor, "b h g r c"]:
    """The weights of rows x cols of each group, in the compute dtype; 0 where not visible.

    rows and cols are indices of the call, in any order. The cost is that of the cells asked for.
    """
    b, h, hk, d = bound.shape.b, bound.shape.h, bound.shape.hk, bound.shape.d
    (g, r), c = rows.shape, cols.shape[1]
    if not g:
        return torch.zeros(b, h, 0, r, c, dtype=bound.dtype, device=bound.q.device)
    rows, cols = rows.to(bound.q.device), cols.to(bound.q.device)
    q = bound.q[:, :, rows].transpose(1, 2).reshape(b * g, h, r, d)
    k = bound.k[:, :, cols].transpose(1, 2).reshape(b * g, hk, c, d)
    bias, added = bound.scoring.bias, None
    if bias is not None:
        found = bias.between(rows, cols, offset=bound.offset).to(q.device)
        added = found.expand(b, -1, g, -1, -1).transpose(1, 2).flatten(0, 1)  # (b g) h|1 r|1 c|1
    scores = bound.unmasked(q, k, added).view(b, g, h, r, c).transpose(1, 2)
    scores = scores.masked_fill(~bound.visible.between(rows, cols), -torch.inf)
    peak, logsum = (x[:, :, rows].flatten(0, 1) for x in (normaliser.peak, normaliser.logsum))
    weights = (shifted(bound, scores.flatten(0, 1), peak) - logsum[..., None]).exp()
    weights = weights.view(b, h, g, r, c).masked_fill(scores == -torch.inf, 0.0)
    return rounded(rounded(weights, bound.arithmetic.softmax), bound.arithmetic.weights)


def pieces(bound: Bound, g: int, r: int, c: int) -> Iterator[tuple[slice, slice]]:
    """The groups and rows in which g groups of r x c cells are computed, CELLS at a time at most."""
    wide = max(c, bound.shape.d)  # a row of q is copied, too
    most = max(1, CELLS // max(1, bound.shape.b * bound.shape.h * wide))  # rows
    groups, rows = max(1, most // max(r, 1)), min(r, most)
    for first in range(0, g, groups):
        for row in range(0, r, max(rows, 1)):
            yield slice(first, min(first + groups, g)), slice(row, min(row + rows, r))
