"""The weights of an eager model again, bit for bit: its own steps, on whole rows, in the shapes of its own
call.

A matrix product is only repeatable in the last bit where its operands lie in memory as they did, where at
least BLOCK aligned rows are taken together, and, for some dtypes and small sizes, where all heads of the
call take part. So q and k keep their memory order, rows are taken in aligned blocks, and each site
remembers which reach was needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import torch
from torch import Tensor

from attnscope.core.arithmetic import Arithmetic, compute_dtype
from attnscope.core.mix import as_given
from attnscope.core.scores import biased
from attnscope.core.scoring import Bound
from attnscope.shapes import Block

Reach = Literal["head", "call"]
"""Whether the replay computes one head alone, or all heads and batches of the call together."""

BLOCK = 16  # rows: the fewest that give the same bits as the whole product


def row_blocks(tq: int, block: int = BLOCK) -> Iterator[slice]:
    """Aligned blocks of `block` rows; the last takes the remainder, so none is smaller unless tq is."""
    if tq:
        starts = list(range(0, max(tq - block, 0) + 1, block))
        yield from map(slice, starts, [*starts[1:], tq])


def blocks_around(rows: slice, tq: int, block: int = BLOCK) -> Iterator[slice]:
    """The aligned blocks that hold the rows asked for."""
    for piece in row_blocks(tq, block):
        if piece.start < rows.stop and rows.start < piece.stop:
            yield piece


def replay_head(bound: Bound, rows: slice, head: int, *, batch: int = 0, reach: Reach = "head") -> Tensor:
    """The model's weights of one head for whole rows, (r tk) in the compute dtype; 0 where nothing is
    visible.
    """
    parts = []
    for piece in blocks_around(rows, bound.shape.tq):
        grid = replay(bound, piece, reach=reach, head=head, batch=batch)
        whole = grid[batch, head] if reach == "call" else grid[0, 0]
        parts.append(whole[max(rows.start - piece.start, 0) : rows.stop - piece.start])
    if not parts:
        return torch.zeros(0, bound.shape.tk, dtype=bound.dtype, device=bound.q.device)
    return torch.cat(parts).to(bound.dtype)


def replay(
    bound: Bound, rows: slice | None = None, *, reach: Reach = "call", head: int = 0, batch: int = 0
) -> Block:
    """Rows as an eager model computes them, in the dtype it would return: (b h r tk); with reach "head",
    (1 1 r tk).

    The steps are those of `bound.scoring.arithmetic`. Bit-equal to the model's own grid where q and k lie in
    memory as they did and `rows` is one of row_blocks(tq), or None for all. Where a row sees nothing the
    model's weights mean nothing, and it is 0 here.
    """
    rows = slice(0, bound.shape.tq) if rows is None else rows
    how = bound.scoring.arithmetic or Arithmetic()
    heads, batches = slice(None), slice(None)
    if reach == "head":
        heads, batches = slice(head, head + 1), slice(batch, batch + 1)
    q, k = bound.q[batches, heads, rows], _keys(bound, heads, batches)
    scores = _scores(bound, how, q, k, rows, heads, batches)
    columns = slice(0, bound.shape.tk)
    visible = bound.visible.tile(rows, columns, heads=heads, batch=batches)
    scores = scores.masked_fill(~visible, -torch.inf)
    weights = _softmax(scores, _sinks(bound, scores, heads), how)
    weights = weights.to(how.weights or how.softmax or scores.dtype)
    return weights.masked_fill(~visible, 0.0)


def _keys(bound: Bound, heads: slice, batches: slice) -> Tensor:
    if heads != slice(None):
        return bound.heads_of(bound.k, heads)[batches]
    group = bound.shape.h // max(bound.shape.hk, 1)
    return bound.k if group == 1 else bound.k.repeat_interleave(group, dim=1)


def _scores(
    bound: Bound, how: Arithmetic, q: Tensor, k: Tensor, rows: slice, heads: slice, batches: slice
) -> Tensor:
    """Scaled, capped and biased in the scores' dtype, not yet masked."""
    wide = how.products or compute_dtype(q.dtype)
    narrow = how.scores or compute_dtype(q.dtype)
    if how.fused_bias:
        wide = narrow = compute_dtype(q.dtype)
    with as_given(q):
        if how.scale_q:
            scaled = (q * bound.scale).to(wide) @ k.to(wide).transpose(-2, -1)
        else:
            scaled = (q.to(wide) @ k.to(wide).transpose(-2, -1)).to(narrow) * bound.scale
    bias = bound.scoring.bias
    added = None
    if bias is not None:
        whole_heads = slice(*heads.indices(bound.shape.h)[:2])
        whole_batch = slice(*batches.indices(bound.shape.b)[:2])
        columns = slice(0, bound.shape.tk)
        added = bias.block(rows, columns, heads=whole_heads, batch=whole_batch, offset=bound.offset)
    scores = biased(scaled.to(narrow), added, bound.scoring.softcap, inside=bound.scoring.bias_inside_cap)
    return scores.to(how.scores or narrow)


def _sinks(bound: Bound, scores: Tensor, heads: slice) -> Tensor | None:
    if bound.scoring.sinks is None:
        return None
    sinks = bound.scoring.sinks[heads].to(scores.device, scores.dtype)
    return sinks.view(1, -1, 1, 1).expand(scores.shape[0], -1, scores.shape[2], 1)


def _softmax(scores: Tensor, sinks: Tensor | None, how: Arithmetic) -> Tensor:
    if sinks is not None:
        scores = torch.cat([scores, sinks], dim=-1)
    if how.subtract_max:
        peak = scores.max(dim=-1, keepdim=True).values
        scores = scores - peak.masked_fill(peak == -torch.inf, 0.0)
    with as_given(scores):
        weights = torch.softmax(scores, dim=-1, dtype=how.softmax or compute_dtype(scores.dtype))
    return weights if sinks is None else weights[..., :-1]
