"""The out of the oracle without its grid: PyTorch's fused kernel where it can say it, our tiles elsewhere."""

from __future__ import annotations

from typing import Literal

from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attnscope.core.mask import Mask
from attnscope.core.mix import all_finite, as_given
from attnscope.core.scoring import Bound, Scoring, as_scoring, check_values
from attnscope.core.tiled import by_tiles
from attnscope.shapes import Key, Out, Query, Value

Path = Literal["sdpa", "tiles"]


def attention(q: Query, k: Key, v: Value, scoring: Scoring | Mask | None = None) -> Out:
    """softmax(q @ k^T * scale) @ v, (b h tq dv) in v's dtype, in O(T) memory.

    Full, causal and padded scorings go to F.scaled_dot_product_attention, in the dtype of q, k and v; all
    others, and those in which that kernel would let a hidden NaN through or divide by nothing, go over tiles
    in float32 (float64 for float64). Under autograd the memory is that of the path taken: the kernel's own,
    and O(T) on tiles, where each block of rows is computed again in the backward pass.

    >>> import torch
    >>> from attnscope.core.masks import window
    >>> q = k = v = torch.ones(1, 2, 1000, 8)
    >>> attention(q, k, v, window(63)).shape
    torch.Size([1, 2, 1000, 8])

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
    if seen.full:
        return "sdpa"
    hides_safely = all_finite(bound.k) and all_finite(v)
    if shape.tq == shape.tk and bound.offset == 0 and seen.causal:
        return "sdpa" if hides_safely else "tiles"
    by_key = seen.valid is not None and seen.rule is None and seen.spans_are_full()
    if by_key and hides_safely and seen.valid is not None and bool(seen.valid.any(dim=-1).all()):
        return "sdpa"
    return "tiles"


def _by_kernel(bound: Bound, v: Tensor) -> Tensor:
    """F.scaled_dot_product_attention on a call that `path` sends there."""
    seen, shape = bound.visible, bound.shape
    if shape.tq == shape.tk and seen.causal and not seen.full:
        keys, causal = None, True
    else:
        keys, causal = None if seen.full or seen.valid is None else seen.valid[:, None, None, :], False
    q, k, v = (x if x.stride(-1) == 1 else x.contiguous() for x in (bound.q, bound.k, v))
    with as_given(q):
        return scaled_dot_product_attention(
            q, k, v, attn_mask=keys, is_causal=causal, scale=bound.scale, enable_gqa=shape.h != shape.hk
        )
