"""Vectors of random signs, and what the rows of a tensor give on them: one number each."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor
from torch.linalg import vector_norm

from attnscope.shapes import Out, Rows

Probed = Float[Tensor, "b h tq n"]
"""A number for each row and each of n vectors of signs."""

PROBES = {torch.float64: 1, torch.float32: 1, torch.bfloat16: 4, torch.float16: 4}
"""How many vectors of signs: where a model rounds coarsely, several see what one would lose in rounding."""


def signs_of(even: Float[Tensor, "hk dv"], count: int, *, seed: int) -> Float[Tensor, "hk n dv"]:
    """`count` vectors of random signs times factors, in float64; the global generator is not touched."""
    own = torch.Generator().manual_seed(seed)
    signs = torch.randint(0, 2, (even.shape[0], count, even.shape[1]), generator=own) * 2 - 1
    return signs.to(even.device, torch.float64) * even[:, None].double()


def projected(x: Tensor, signs: Tensor) -> Probed:
    """x (b h t d) on vectors (h n d), in float64, where a sum of d numbers costs no digit."""
    heads = range(x.shape[1])  # one at a time: O(T) memory
    parts = [x[:, head].double() @ signs[head].mT for head in heads]
    return torch.stack(parts, dim=1) if parts else _none(x).expand(-1, -1, -1, signs.shape[1])


def length_of(x: Tensor, signs: Tensor) -> Rows:
    """|x * a vector| of x (b h t d), in float64: the same for all (h n d), which differ in signs alone."""
    heads = range(x.shape[1])
    parts = [(x[:, head].double() * signs[head, :1]).norm(dim=-1) for head in heads]
    return torch.stack(parts, dim=1) if parts else _none(x)[..., 0]


def _none(x: Tensor) -> Tensor:
    return x.new_zeros(*x.shape[:3], 1, dtype=torch.float64)


def evening_of(out: Out, key_heads: int) -> Float[Tensor, "hk dv"]:
    """Factors that make the places of out (b h tq dv) about equally large, as far as eight to one.

    A place that is large in every row is rounded coarsely, and would drown what the small ones can tell.
    """
    b, h, tq, dv = out.shape
    clean = out.nan_to_num(0.0, 0.0, 0.0).reshape(b, key_heads, h // max(key_heads, 1) * tq, dv)
    size = vector_norm(clean, dim=(0, 2), dtype=torch.float64)
    size = size + size.mean(dim=-1, keepdim=True) / 8
    even: Tensor = (size.mean(dim=-1, keepdim=True) / size).where(size > 0, 1.0)
    return even


def unit_of(sizes: Tensor) -> Tensor:
    """A power of two near the largest of sizes (b h t), (b h 1); 1 where all are 0."""
    if not sizes.shape[-1]:
        return sizes.new_ones(*sizes.shape[:2], 1)
    largest = sizes.amax(dim=-1, keepdim=True)
    return torch.ldexp(torch.ones_like(largest), torch.frexp(largest).exponent).where(largest > 0, 1.0)
