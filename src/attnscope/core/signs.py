"""Vectors of random signs, and what the rows of a tensor give on them: one number each."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from attnscope.shapes import Out, Rows

Probed = Float[Tensor, "b h tq n"]
"""A number for each row and each of n vectors of signs."""

PROBES = {torch.float64: 1, torch.float32: 1, torch.bfloat16: 4, torch.float16: 4}
"""How many vectors of signs: where a model rounds coarsely, several see what one would lose in rounding."""

PIECE = 2**16
"""Numbers that are held in float64 at a time."""

SQUARED = (1e-15, 1e15)
"""Lengths between which float32 has room for the squares of numbers, and digits for those that count."""


def signs_of(even: Float[Tensor, "hk dv"], count: int, *, seed: int) -> Float[Tensor, "hk n dv"]:
    """`count` vectors of random signs times factors, in float64; the global generator is not touched."""
    own = torch.Generator().manual_seed(seed)
    signs = torch.randint(0, 2, (even.shape[0], count, even.shape[1]), generator=own) * 2 - 1
    return signs.to(even.device, torch.float64) * even[:, None].double()


def projected(x: Tensor, signs: Tensor) -> Probed:
    """x (b h t d) on vectors (h n d): (b h t n). In float64, where a sum of d numbers costs no digit."""
    found = torch.empty(*x.shape[:3], signs.shape[1], dtype=torch.float64, device=x.device)
    columns = signs.mT.expand(x.shape[0], -1, -1, -1)
    for rows, wide in _pieces(x):
        found[:, :, rows] = wide @ columns
    return found


def measured(x: Tensor, signs: Tensor) -> tuple[Probed, Rows]:
    """The same, and the length of each row times a vector, (b h t): all give one, as they differ in signs."""
    found = torch.empty(*x.shape[:3], signs.shape[1], dtype=torch.float64, device=x.device)
    squares = torch.empty_like(found[..., :1])
    columns = signs.mT.expand(x.shape[0], -1, -1, -1)
    factors = columns[..., :1].square()
    for rows, wide in _pieces(x):
        found[:, :, rows] = wide @ columns
        squares[:, :, rows] = wide.square_() @ factors
    return found, squares[..., 0].sqrt()


def lengths(x: Tensor) -> Rows:
    """The length of each row of x (b h t d), in float64 and right to 1e-6, of whatever size."""
    if x.dtype == torch.float32 and x.numel():
        short: Tensor = torch.linalg.vector_norm(x, dim=-1)
        least, largest = short.aminmax()
        if bool((least > SQUARED[0]) & (largest < SQUARED[1])):
            return short.double()
    squares = torch.empty(x.shape[:3], dtype=torch.float64, device=x.device)
    for rows, wide in _pieces(x):
        squares[:, :, rows] = wide.square_().sum(dim=-1)
    return squares.sqrt_()


def evening_of(out: Out, key_heads: int) -> Float[Tensor, "hk dv"]:
    """Factors that make the places of out (b h tq dv) about equally large, as far as eight to one.

    A place that is large in every row is rounded coarsely, and would drown what the small ones can tell.
    """
    b, h, _, dv = out.shape
    squares = _squares(out, clean=False)  # (b h dv)
    if not bool(squares.isfinite().all()):
        squares = _squares(out, clean=True)
    size = squares.view(b, key_heads, h // max(key_heads, 1), dv).sum(dim=(0, 2)).sqrt()
    size = size + size.mean(dim=-1, keepdim=True) / 8
    even: Tensor = (size.mean(dim=-1, keepdim=True) / size).where(size > 0, 1.0)
    return even


def _squares(x: Tensor, *, clean: bool) -> Tensor:
    """The squares of x (b h t d) summed over rows, (b h d) in float64; clean: of finite numbers alone."""
    total = torch.zeros(*x.shape[:2], x.shape[-1], dtype=torch.float64, device=x.device)
    for _, wide in _pieces(x):
        total += (wide.nan_to_num_(0.0, 0.0, 0.0) if clean else wide).square_().sum(dim=2)
    return total


def _pieces(x: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """x (b h t d) in float64, so few rows of all heads at a time that they stay in the cache; each piece is
    in the memory of the one before.
    """
    b, h, t, d = x.shape
    cells = PIECE if x.device.type == "cpu" else 64 * PIECE
    step = max(1, min(t, cells // max(1, b * h * d)))
    room = torch.empty(b * h * step * d, dtype=torch.float64, device=x.device)
    for first in range(0, t, step):
        rows = slice(first, min(first + step, t))
        wide = room[: b * h * (rows.stop - first) * d].view(b, h, -1, d) if b * h * d else None
        yield rows, x[:, :, rows].double() if wide is None else wide.copy_(x[:, :, rows])


def unit_of(sizes: Tensor) -> Tensor:
    """A power of two near the largest of sizes (b h t), (b h 1); 1 where all are 0."""
    if not sizes.shape[-1]:
        return sizes.new_ones(*sizes.shape[:2], 1)
    largest = sizes.amax(dim=-1, keepdim=True)
    return torch.ldexp(torch.ones_like(largest), torch.frexp(largest).exponent).where(largest > 0, 1.0)
