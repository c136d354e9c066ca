"""Vectors of random signs, and what the rows of a tensor give on them: one number each."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple, Protocol, runtime_checkable

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


class RowSums(NamedTuple):
    """Sums over the rows of x (b h t d), in float64, where a sum of d numbers costs no digit. What was not
    asked for has no numbers.

    on_signs: (b h t n), of x times each of n vectors of signs.   squares: (b h t), of the squares of x times
    such a vector, one for all as they differ in signs alone, or of x itself without signs.   places: (b h d),
    of squares over rows.
    """

    on_signs: Probed
    squares: Rows
    places: Float[Tensor, "b h d"]

    @staticmethod
    def empty(x: Tensor, signs: Tensor | None, *, squares: bool, places: bool) -> RowSums:
        """Room for them: places begin at 0, all else is anything."""
        b, h, t, d = x.shape
        exact = partial(torch.empty, dtype=torch.float64, device=x.device)
        return RowSums(
            exact(b, h, t, 0 if signs is None else signs.shape[1]),
            exact(b, h, t if squares else 0),
            exact(b, h, d if places else 0).zero_(),
        )


@runtime_checkable
class Summing(Protocol):
    """An engine's way to make them. signs: (h n d) float64, or None."""

    def __call__(
        self, x: Tensor, signs: Tensor | None = None, *, squares: bool = False, places: bool = False
    ) -> RowSums: ...


def row_sums(
    x: Tensor, signs: Tensor | None = None, *, squares: bool = False, places: bool = False
) -> RowSums:
    """Sums over rows by torch; squares without signs are right to 1e-6, of numbers of any size."""
    found = RowSums.empty(x, signs, squares=squares, places=places)
    if squares and signs is None and not places and x.dtype == torch.float32 and x.numel():
        short: Tensor = torch.linalg.vector_norm(x, dim=-1)
        least, largest = short.aminmax()
        if bool((least > SQUARED[0]) & (largest < SQUARED[1])):
            return found._replace(squares=short.double().square_())
    columns = None if signs is None else signs.mT.expand(x.shape[0], -1, -1, -1)
    for rows, wide in _pieces(x):
        if columns is not None:
            found.on_signs[:, :, rows] = wide @ columns
        if not squares and not places:
            continue
        squared = wide.square_()
        if squares:
            found.squares[:, :, rows] = (
                squared.sum(dim=-1) if columns is None else (squared @ columns[..., :1].square())[..., 0]
            )
        if places:
            found.places.add_(squared.sum(dim=2))
    return found


def evening_of(out: Out, key_heads: int, sums: Summing = row_sums) -> Float[Tensor, "hk dv"]:
    """Factors that make the places of out (b h tq dv) about equally large, as far as eight to one.

    A place that is large in every row is rounded coarsely, and would drown what the small ones can tell.
    """
    b, h, _, dv = out.shape
    places = sums(out, places=True).places
    if not bool(places.isfinite().all()):
        places = sums(out.nan_to_num(0.0, 0.0, 0.0), places=True).places
    size = places.view(b, key_heads, h // max(key_heads, 1), dv).sum(dim=(0, 2)).sqrt()
    size = size + size.mean(dim=-1, keepdim=True) / 8
    even: Tensor = (size.mean(dim=-1, keepdim=True) / size).where(size > 0, 1.0)
    return even


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
