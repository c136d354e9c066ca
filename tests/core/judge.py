"""The judge of every path: attention in float64, written out by itself, and how close a dtype must come."""

from __future__ import annotations

import math

import torch
from torch import Tensor

CLOSE = {torch.float16: 2e-3, torch.bfloat16: 2e-2, torch.float32: 2e-6, torch.float64: 1e-14}


def close(got: Tensor, want: Tensor, *, dtype: torch.dtype | None = None) -> None:
    limit = CLOSE[dtype or got.dtype]
    torch.testing.assert_close(got.double(), want.double(), rtol=limit, atol=limit)


def plain(q: Tensor, k: Tensor, v: Tensor, seen: Tensor, *, scale: float | None = None) -> Tensor:
    """Attention in float64, written out by itself; a row that sees nothing is 0."""
    q, k, v = q.double(), k.double(), v.double()
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scores = q @ k.mT * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    weights = torch.softmax(scores.masked_fill(~seen, -torch.inf), -1)
    return weights.nan_to_num(0.0) @ v
