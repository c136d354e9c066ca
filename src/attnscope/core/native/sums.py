"""Sums over the rows of a tensor by the native engine, as native/sums.h lays the call out."""

from __future__ import annotations

import ctypes
from ctypes import c_int64, c_void_p

import torch
from torch import Tensor

from attnscope.core.signs import RowSums


class SumsCall(ctypes.Structure):
    """native/sums.h says what each is."""

    _fields_ = [
        ("data", c_void_p), ("stride", c_int64 * 3),
        *((name, c_int64) for name in ("b", "h", "t", "d", "n", "threads")),
        *((name, c_void_p) for name in ("signs", "on_signs", "squares", "places")),
    ]  # fmt: skip


def can_sum(x: Tensor) -> bool:
    """Whether the native engine takes a tensor: float32 in the memory of the CPU, its last axis dense."""
    return (
        type(x) in (Tensor, torch.nn.Parameter)
        and x.device.type == "cpu"
        and x.dtype == torch.float32
        and (x.stride(-1) == 1 or x.shape[-1] == 1)
    )


def sums_call(x: Tensor, signs: Tensor | None, found: RowSums) -> SumsCall:
    """The call that fills `found`; x, signs (dense) and `found` must outlive it."""
    b, h, t, d = x.shape
    call = SumsCall(data=x.data_ptr(), b=b, h=h, t=t, d=d, n=1, threads=torch.get_num_threads())
    call.stride = (c_int64 * 3)(*x.stride()[:3])
    if signs is not None:
        call.n, call.signs = signs.shape[1], signs.data_ptr()
    for name in ("on_signs", "squares", "places"):
        tensor = getattr(found, name)
        if tensor.numel():
            setattr(call, name, tensor.data_ptr())
    return call
