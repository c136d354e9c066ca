"""Queries and keys of a seed, in float64."""

from __future__ import annotations

import torch
from torch import Tensor


def drawn(
    b: int, h: int, tq: int, tk: int, d: int, seed: int, *, hk: int | None = None
) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    q = torch.randn(b, h, tq, d, generator=generator, dtype=torch.float64)
    return q, torch.randn(b, hk or h, tk, d, generator=generator, dtype=torch.float64)
