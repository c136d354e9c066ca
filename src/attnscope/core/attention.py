"""The same out as the oracle's, without the grid: PyTorch's fused kernel where it can say it, our tiles
elsewhere.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.checkpoint import checkpoint

from attnscope.core.bias import RelativeBias
from attnscope.core.mask import Mask
from attnscope.core.mix import mix, non_finite
from attnscope.core.normaliser import faded, of_tile
from attnscope.core.scoring import Bound, Scoring, as_scoring, check_values
from attnscope.core.tile import shifted, weigh
from attnscope.core.walk import row_blocks, sinks_of_rows, state_of_rows, walk_columns
from attnscope.shapes import Key, Out, Query, Value

Path = Literal["sdpa", "tiles"]


def attention(q: Query, k: Key, v: Value, scoring: Scoring | Mask | None = None) -> Out:
    """softmax(q @ k^T * scale) @ v, (b h tq dv) in v's dtype, in O(T) memory.

    Full, causal and padded scorings go to F.scaled_dot_product_attention, in the dtype of q, k and v; all
    others, and those in which that kernel would let a hidden NaN through or divide by nothing, go over tiles
    in float32 (float64 for float64). Under autograd the memory is that of the path taken: the kernel's own,
    and O(T) on tiles, where each block of rows is computed again in the backward pass.

    Raises ShapeError, DtypeError, MaskError or ScoringError.
    """
    bound = as_scoring(scoring).bind(q, k)
    check_values(bound, v)
    return _by_kernel(bound, v) if path(bound, v) == "sdpa" else by_tiles(bound, v)


def path(bound: Bound, v: Value) -> Path:
    """Which way `attention` goes for this call: "sdpa" or "tiles"."""
    scoring, shape, seen = bound.scoring, bound.shape, bound.visible
    plain = (
        scoring.bias is None
        and scoring.softcap is None
        and scoring.sinks is None
        and scoring.arithmetic is None
    )
    if not plain or not all(shape) or not v.shape[-1] or bound.scale <= 0:
        return "tiles"
    if seen.is_full():
        return "sdpa"
    hides_safely = bool(bound.k.isfinite().all()) and bool(v.isfinite().all())
    if shape.tq == shape.tk and bound.offset == 0 and seen.is_causal(0):
        return "sdpa" if hides_safely else "tiles"
    by_key = seen.valid is not None and seen.rule is None and seen.spans_are_full()
    if by_key and hides_safely and seen.valid is not None and bool(seen.valid.any(dim=-1).all()):
        return "sdpa"
    return "tiles"


def by_tiles(bound: Bound, v: Value) -> Out:
    """The out of a call over the tiles of its visible region, (b h tq dv) in v's dtype."""
    blocks = row_blocks(bound)
    if not blocks:
        return v.new_zeros(bound.shape.b, bound.shape.h, 0, v.shape[-1])
    if torch.is_grad_enabled() and _needs_grad(bound, v):
        # Each block is computed again in the backward pass, so that no tile outlives its block.
        parts = [
            checkpoint(_block, bound, v, rows, use_reentrant=False, preserve_rng_state=False)
            for rows in blocks
        ]
    else:
        parts = [_block(bound, v, rows) for rows in blocks]
    return torch.cat(parts, dim=2).to(v.dtype)


def _block(bound: Bound, v: Tensor, rows: slice) -> Tensor:
    """The out of a block of rows, (b h r dv) in the compute dtype."""
    good = v.isfinite()
    shown = None if bool(good.all()) else v.to(bound.dtype)
    clean = v if shown is None else v.where(good, 0.0)
    out = (
        _mixed(bound, clean, rows)
        if bound.scoring.arithmetic is None
        else _mixed_as_model(bound, clean, rows)
    )
    if shown is not None:
        for tile in walk_columns(bound, rows):
            out = out + non_finite(shown[:, :, tile.cols], tile.visible.expand(tile.scores.shape))
    return out


def _mixed(bound: Bound, v: Tensor, rows: slice) -> Tensor:
    """One pass: values are mixed relative to the peak so far, and divided by the sum at the end."""
    state, mixed = sinks_of_rows(bound, rows), None
    for tile in walk_columns(bound, rows):
        seen = of_tile(bound, tile)
        part = mix(
            shifted(bound, tile.scores, seen.peak).exp(), v[:, :, tile.cols].to(bound.dtype), tile.visible
        )
        both = state.merge(seen)
        part = faded(part, seen.peak[..., None], both.peak[..., None])
        mixed = part if mixed is None else part + faded(mixed, state.peak[..., None], both.peak[..., None])
        state = both
    if mixed is None:
        return _zeros(bound, v, rows)
    return mixed / state.total.masked_fill(state.total == 0, 1.0)[..., None]


def _mixed_as_model(bound: Bound, v: Tensor, rows: slice) -> Tensor:
    """Two passes: weights are rounded as the model rounds them, which needs the row's final normaliser
    first.
    """
    final, out = state_of_rows(bound, rows).normaliser(), _zeros(bound, v, rows)
    for tile in walk_columns(bound, rows):
        weight = weigh(bound, tile, final.peak, final.logsum)
        out = out + mix(weight, v[:, :, tile.cols].to(bound.dtype), tile.visible)
    return out


def _zeros(bound: Bound, v: Tensor, rows: slice) -> Tensor:
    shape = (bound.shape.b, bound.shape.h, rows.stop - rows.start, v.shape[-1])
    return torch.zeros(shape, dtype=bound.dtype, device=v.device)


def _by_kernel(bound: Bound, v: Tensor) -> Tensor:
    """F.scaled_dot_product_attention on a call that `path` sends there."""
    seen, shape = bound.visible, bound.shape
    if shape.tq == shape.tk and seen.is_causal(0) and not seen.is_full():
        keys, causal = None, True
    else:
        keys, causal = None if seen.is_full() or seen.valid is None else seen.valid[:, None, None, :], False
    q, k, v = (x if x.stride(-1) == 1 else x.contiguous() for x in (bound.q, bound.k, v))
    return scaled_dot_product_attention(
        q, k, v, attn_mask=keys, is_causal=causal, scale=bound.scale, enable_gqa=shape.h != shape.hk
    )


def _needs_grad(bound: Bound, v: Tensor) -> bool:
    bias = bound.scoring.bias
    learned = None if bias is None else bias.table if isinstance(bias, RelativeBias) else bias.values
    return any(x is not None and x.requires_grad for x in (bound.q, bound.k, v, bound.scoring.sinks, learned))
