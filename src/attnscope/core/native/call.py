"""A call as the native engine takes it: sizes, strides and places of numbers, as native/call.h lays it out.

What a struct points to is held beside it, so that it lives as long as the call.
"""

from __future__ import annotations

import ctypes
from ctypes import c_float, c_int32, c_int64, c_void_p
from typing import Any

import torch
from torch import Tensor

from attnscope.core.bias import Bias, KeyBias, RelativeBias
from attnscope.core.scoring import Bound

KINDS = {torch.float32: 0, torch.bfloat16: 1, torch.float16: 2, torch.float64: 3}


class Array(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("stride", c_int64 * 4), ("kind", c_int32), ("unused", c_int32)]

    @classmethod
    def of(cls, four: Tensor) -> Array:
        """A tensor of four axes; those of one number broadcast."""
        return cls(four.data_ptr(), (c_int64 * 4)(*_strides(four)), KINDS[four.dtype], 0)


class Rounding(ctypes.Structure):
    _fields_ = [
        (name, c_int32)
        for name in (
            "inputs", "products", "scaled", "fused", "softmax", "weights",
            "subtracted", "q_first", "q_scaled", "q_again",
        )
    ]  # fmt: skip


_INT = c_int64
_FLOATS = _DOUBLES = _INTS = _BYTES = c_void_p


class Call(ctypes.Structure):
    """native/call.h says what each is."""

    _fields_ = [
        *((name, _INT) for name in ("b", "h", "hk", "tq", "tk", "d", "offset", "first", "stop")),
        ("q", Array), ("k", Array),
        ("lo", _INTS), ("hi", _INTS), ("edge_stride", c_int64 * 3), ("spans", _INT), ("valid", _BYTES),
        ("scale", c_float), ("softcap", c_float), ("bias_kind", c_int32), ("bias_inside", c_int32),
        ("bias", Array), ("bias_first", _INT), ("bias_size", _INT),
        ("rounding", Rounding), ("threads", c_int32),
        ("want_rows", c_int32), ("want_keys", c_int32), ("top", c_int32),
        ("start", _FLOATS), ("peak_out", _FLOATS), ("total", _DOUBLES),
        ("sinks", _FLOATS), ("logsum_out", _FLOATS),
        ("peak", _FLOATS), ("logsum", _FLOATS),
        *((name, _DOUBLES) for name in ("mass", "plogp", "mean", "scatter", "at_first")),
        ("top_scores", _FLOATS), ("top_keys", _INTS), ("first_key", _INTS),
        ("received", _DOUBLES), ("by_distance", _DOUBLES),
        *((name, _INT) for name in ("key_first", "key_count", "bins")),
        ("block_sum", _DOUBLES), ("block_max", _DOUBLES),
        *((name, _INT) for name in (
            "block", "block_start", "block_top", "block_left", "block_rows", "block_cols",
        )),
        ("along", _FLOATS), ("lost", _BYTES), ("along_count", _INT), ("signs", _INT),
        ("plain", c_int32), ("added", c_int32),
        *((name, _DOUBLES) for name in ("probe_sums", "probe_tilts", "probe_squares")),
        ("probe_largest", _FLOATS), ("probe_lost", _BYTES),
        ("col_first", _INT), ("col_stop", _INT), ("weights", _FLOATS),
        ("v", Array), ("out", Array), ("dv", _INT),
    ]  # fmt: skip

    def hold(self, **tensors: Tensor) -> None:
        """Points to tensors, which must be dense."""
        for name, tensor in tensors.items():
            setattr(self, name, tensor.data_ptr())
            self.held.append(tensor)

    @property
    def held(self) -> list[Tensor]:
        """The tensors that the struct points to."""
        held: list[Tensor] = self.__dict__.setdefault("_held", [])
        return held


def can_take(bound: Bound, *more: Tensor) -> bool:
    """Whether the native engine knows all of this call: spans and no rule, on the CPU, in float32.

    more: what else takes part, as its v does.
    """
    how = bound.arithmetic
    steps = (how.products, how.scores)
    tensors = [bound.q, bound.k, bound.visible.lo, *more]
    if bound.scoring.sinks is not None:
        tensors.append(bound.scoring.sinks)
    if bound.scoring.bias is not None:
        tensors.append(_values(bound.scoring.bias))
    return (
        bound.visible.rule is None
        and bound.dtype == torch.float32
        and torch.float64 not in steps
        and all(type(x) in _PLAIN and x.device.type == "cpu" for x in tensors)
        and not (torch.is_grad_enabled() and any(x.requires_grad for x in tensors))
    )


_PLAIN = (Tensor, torch.nn.Parameter)


def call_of(bound: Bound, rows: slice) -> Call:
    """What every pass over these rows is given."""
    shape, seen, bias = bound.shape, bound.visible, bound.scoring.bias
    q, k = bound.q.detach(), bound.k.detach()
    call = Call(
        b=shape.b, h=shape.h, hk=shape.hk, tq=shape.tq, tk=shape.tk, d=shape.d, offset=bound.offset,
        first=rows.start, stop=rows.stop, q=Array.of(q), k=Array.of(k), spans=seen.lo.shape[-1],
        scale=bound.scale, softcap=bound.scoring.softcap or 0.0, rounding=_rounding(bound),
        threads=torch.get_num_threads(), col_first=0, col_stop=shape.tk, plain=1,
    )  # fmt: skip
    lo, hi = seen.lo.contiguous(), seen.hi.contiguous()
    call.hold(lo=lo, hi=hi)
    call.edge_stride = (c_int64 * 3)(*_strides(lo)[:3])
    if seen.valid is not None:
        call.hold(valid=seen.valid.contiguous())
    call.held.extend((q, k))
    if bias is not None:
        _add_bias(call, bias, inside=bound.scoring.bias_inside_cap)
    return call


def is_exact(call: Call) -> bool:
    """Whether nothing is rounded on the way from scores to weights."""
    how = call.rounding
    return not (how.softmax or how.weights or how.subtracted)


def _add_bias(call: Call, bias: Bias, *, inside: bool) -> None:
    values: Any = _values(bias).detach()
    if isinstance(bias, RelativeBias):
        call.bias_kind, four = 1, values[None, :, None]
        call.bias_first, call.bias_size = bias.first, values.shape[-1]
    elif isinstance(bias, KeyBias):
        call.bias_kind, four = 2, values[:, None, None] if values.dim() == 2 else values[:, :, None]
    else:
        call.bias_kind, four = 2, values.reshape((1,) * (4 - values.dim()) + tuple(values.shape))
    call.bias_inside = int(inside)
    call.bias = Array.of(four)
    call.held.append(four)


def _strides(x: Tensor) -> list[int]:
    """Numbers from one place of an axis to the next; 0 along axes of one place."""
    return [0 if size == 1 else stride for size, stride in zip(x.shape, x.stride(), strict=True)]


def _values(bias: Bias) -> Tensor:
    return bias.table if isinstance(bias, RelativeBias) else bias.values


def _rounding(bound: Bound) -> Rounding:
    """The roundings of Bound.score, in the engine's words."""
    how = bound.arithmetic
    products, scores = _kind(how.products), _kind(how.scores)
    rounding = Rounding(
        softmax=_kind(how.softmax), weights=_kind(how.weights), q_first=int(how.scale_q),
        subtracted=scores if how.subtract_max else 0,
    )  # fmt: skip
    if how.fused_bias:
        rounding.fused, rounding.q_scaled, rounding.q_again = scores, _kind(bound.q.dtype), products
        return rounding
    rounding.inputs = rounding.products = rounding.q_scaled = products
    rounding.scaled = scores
    return rounding


def _kind(dtype: torch.dtype | None) -> int:
    """A rounding to a dtype; float64 rounds no float32."""
    return KINDS[dtype] if dtype in (torch.bfloat16, torch.float16) else 0
