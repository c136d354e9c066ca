"""The out of the oracle without its grid: by the native engine, by PyTorch's fused kernel, or over tiles."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from torch.overrides import handle_torch_function, has_torch_function_variadic

from attnscope.core.engine import native_of
from attnscope.core.mask import Mask
from attnscope.core.mix import all_finite, as_given
from attnscope.core.native.engine import Native
from attnscope.core.scoring import Bound, Scoring, as_scoring, check_values
from attnscope.core.tiled import by_tiles
from attnscope.shapes import Key, Out, Query, Value

Path = Literal["native", "sdpa", "tiles"]

SOONER = {"avx512": 512, "avx2": 512}
"""Rows from which the native engine makes causal attention sooner than F.scaled_dot_product_attention, by its
instruction set; with others it never does."""


def attention(q: Query, k: Key, v: Value, scoring: Scoring | Mask | None = None) -> Out:
    """softmax(q @ k^T * scale) @ v, (b h tq dv) in v's dtype, in O(T) memory.

    Full and padded scorings, and causal ones of few rows, go to F.scaled_dot_product_attention, in the dtype
    of q, k and v. All others, and those in which that kernel would let a hidden NaN through or divide by
    nothing, go in float32 through the native engine where it takes them; causal ones that it does not take to
    that kernel too, what is left over tiles, in float32 (float64 for float64). Under autograd there is no
    native engine, and memory is that of the path taken: the kernel's own, and O(T) on tiles, where each block
    of rows is computed again in the backward pass.

    Like torch's own functions it answers a TorchFunctionMode and classes with __torch_function__: they are
    handed this call, and not what it calls.

    >>> import torch
    >>> from attnscope.core.masks import window
    >>> q = k = v = torch.ones(1, 2, 1000, 8)
    >>> attention(q, k, v, window(63)).shape
    torch.Size([1, 2, 1000, 8])

    Raises ShapeError, DtypeError, MaskError or ScoringError.
    """
    if has_torch_function_variadic(q, k, v) and not torch.compiler.is_compiling():
        out: Out = handle_torch_function(attention, (q, k, v), q, k, v, scoring)
        return out
    bound = as_scoring(scoring).bind(q, k)
    check_values(bound, v)
    way = path(bound, v)
    if way == "sdpa":
        return _by_kernel(bound, v)
    native = native_of(bound, v) if way == "native" else None
    return by_tiles(bound, v) if native is None else _by_native(native, bound, v)


def path(bound: Bound, v: Value) -> Path:
    """Which way `attention` goes for this call: "native", "sdpa" or "tiles"."""
    native, seen = native_of(bound, v), bound.visible
    if (
        native is not None
        and seen.causal
        and not seen.full
        and bound.shape.tq >= SOONER.get(native.isa(), math.inf)
    ):
        return "native"
    if _kernel_can(bound, v):
        return "sdpa"
    return "tiles" if native is None else "native"


def _kernel_can(bound: Bound, v: Tensor) -> bool:
    """Whether F.scaled_dot_product_attention can say this call, and lets nothing hidden through."""
    scoring, shape, seen = bound.scoring, bound.shape, bound.visible
    plain = (
        scoring.bias is None
        and scoring.softcap is None
        and scoring.sinks is None
        and scoring.arithmetic is None
    )
    if not plain or not all(shape) or not v.shape[-1] or bound.scale <= 0:
        return False
    if seen.full:
        return True
    if not (shape.tq == shape.tk and bound.offset == 0 and seen.causal):
        by_key = seen.valid is not None and seen.rule is None and seen.spans_are_full()
        if not by_key or seen.valid is None or not bool(seen.valid.any(dim=-1).all()):
            return False
    return all_finite(bound.k) and all_finite(v)


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


def _by_native(native: Native, bound: Bound, v: Tensor) -> Tensor:
    """The native engine's pass, block of rows after block of rows."""
    shape = bound.shape
    out = torch.empty(shape.b, shape.h, shape.tq, v.shape[-1], device=v.device)
    for rows in native.blocks(bound):
        native.output(bound, v, rows, out[:, :, rows])
    return out.to(v.dtype)
