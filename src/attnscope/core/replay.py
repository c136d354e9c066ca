"""A model's own attention weights once more: its operations, in its dtypes and order, on whole rows."""

from __future__ import annotations

import torch
from torch import Tensor

from attnscope.core.mix import as_given
from attnscope.core.scores import biased
from attnscope.core.scoring import Bound
from attnscope.shapes import Block

ALIGNED = (
    16  # rows: a matrix product of fewer rows may take another route in the library, and round otherwise
)


def replay(bound: Bound, rows: slice | None = None) -> Block:
    """The weights (b h r tk) as an eager model computes them, in the dtype it would return.

    The steps are those of `bound.scoring.arithmetic`: keys repeated for grouped heads, product, scale,
    softcap, bias, the most negative number of the dtype where masked, softmax, cast. Bit-equal to the model's
    grid where the call has the model's own shapes. At least 16 rows, aligned to 16, are computed and then
    cut. Where a row sees nothing the model's weights mean nothing, and it is 0 here. Memory O(r tk) for each
    head and batch.
    """
    how, shape = bound.arithmetic, bound.shape
    start, stop, _ = (rows or slice(None)).indices(shape.tq)
    first = start // ALIGNED * ALIGNED
    last = min(shape.tq, max(first + ALIGNED, -(-stop // ALIGNED) * ALIGNED))
    first = max(0, min(first, last - ALIGNED))
    wide, narrow = how.products or bound.dtype, how.scores or bound.dtype
    q, k = bound.q[:, :, first:last].to(wide), repeated(bound.k.to(wide), shape.h)
    with as_given(q):
        if how.scale_q:
            scaled = torch.matmul(q * bound.scale, k.transpose(2, 3)).to(narrow)
        else:
            scaled = torch.matmul(q, k.transpose(2, 3)).to(narrow) * bound.scale
    block = slice(first, last)
    visible = bound.visible.tile(block, slice(0, shape.tk))
    scores = biased(scaled, _bias(bound, block), bound.scoring.softcap, inside=bound.scoring.bias_inside_cap)
    scores = scores.masked_fill(~visible, torch.finfo(narrow).min)
    weights = _softmax(bound, scores, how.softmax or bound.dtype, subtract_max=how.subtract_max)
    weights = weights.to(how.weights or bound.dtype).masked_fill(~visible, 0.0)
    return weights[:, :, start - first : stop - first]


def repeated(k: Tensor, heads: int) -> Tensor:
    """Key heads (b hk tk d) written out once for each of their query heads: (b h tk d)."""
    b, hk, tk, d = k.shape
    if hk == heads:
        return k
    return k[:, :, None].expand(b, hk, heads // hk, tk, d).reshape(b, heads, tk, d)


def _bias(bound: Bound, rows: slice) -> Tensor | None:
    bias, shape = bound.scoring.bias, bound.shape
    if bias is None:
        return None
    every = {"heads": slice(0, shape.h), "batch": slice(0, shape.b)}
    return bias.block(rows, slice(0, shape.tk), offset=bound.offset, **every).to(bound.q.device)


def _softmax(bound: Bound, scores: Tensor, dtype: torch.dtype, *, subtract_max: bool) -> Tensor:
    sinks = bound.scoring.sinks
    if sinks is not None:
        column = sinks.to(scores.device, scores.dtype).reshape(1, -1, 1, 1)
        scores = torch.cat([scores, column.expand(scores.shape[0], -1, scores.shape[2], -1)], dim=-1)
    if subtract_max:
        scores = scores - scores.max(dim=-1, keepdim=True).values
    with as_given(scores):
        weights = torch.nn.functional.softmax(scores, dim=-1, dtype=dtype)
    return weights if sinks is None else weights[..., :-1]
