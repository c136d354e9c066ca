"""What a site knows of its columns, however old they are: fingerprints, and outlines of their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

SIGNS = 8
"""Vectors of random signs on which a value is seen in outline."""

NEAR = 0.2
"""How far a value may be from what it was when it is computed again, beside how far values are apart."""


@dataclass(eq=False)
class Columns:
    """prints (b n): see placing.fingerprints.   outlines (b n s): see outlines_of.   size: n."""

    size: int = 0
    _prints: Tensor | None = None  # (b, size and room)
    _outlines: Tensor | None = None

    @property
    def prints(self) -> Int64[Tensor, "b n"]:
        """The fingerprints of all columns."""
        return torch.empty(0, 0, dtype=torch.int64) if self._prints is None else self._prints[:, : self.size]

    @property
    def outlines(self) -> Float[Tensor, "b n s"]:
        """The outlines of all columns."""
        return torch.empty(0, 0, SIGNS) if self._outlines is None else self._outlines[:, : self.size]

    def append(self, prints: Int64[Tensor, "b r"], outlines: Float[Tensor, "b r s"]) -> None:
        """Adds columns at the end."""
        self._prints = _with(self._prints, prints, self.size)
        self._outlines = _with(self._outlines, outlines, self.size)
        self.size += prints.shape[1]

    def cut(self, size: int) -> None:
        """Keeps the first `size` columns."""
        self.size = min(self.size, size)

    def reorder(self, parents: Sequence[int]) -> None:
        """Puts batch entry parents[b] in the place of b."""
        if self._prints is not None and self._outlines is not None:
            self._prints, self._outlines = self._prints[list(parents)], self._outlines[list(parents)]


def outlines_of(v: Float[Tensor, "b hk n dv"]) -> Float[Tensor, "b n s"]:
    """Values in outline, on a few vectors of random signs of our own: alike up to rounding where the values
    are.
    """
    return torch.einsum("bhnd,hds->bns", v.detach().float(), _signs(v.shape[1], v.shape[3]).to(v.device))


def same_text(
    held: Float[Tensor, "b n s"],
    came: Float[Tensor, "b m s"],
    counted: Bool[Tensor, "#b m"],
    dtype: torch.dtype,
) -> bool:
    """Whether each text that came begins with one that is held, computed again: its values are near it in
    every column that is `counted`, be the last bits other ones. dtype: of the values.
    """
    size = held.shape[1]
    if not 0 < size <= came.shape[1] or held.shape[0] != came.shape[0]:
        return False
    came, counted = came[:, :size], counted[:, :size].expand(came.shape[0], -1)
    apart = held.std(dim=1, unbiased=False).square().mean().sqrt()  # how far values are apart
    large = held.square().mean().sqrt()
    near = torch.maximum(NEAR * apart, 16 * torch.finfo(dtype).eps * large)
    gap = (came[:, None] - held[None]).square().mean(dim=-1).sqrt()  # (b b n)
    return bool(((gap <= near) | ~counted[:, None]).all(dim=-1).any(dim=-1).all())


@lru_cache(maxsize=64)
def _signs(heads: int, width: int) -> Tensor:
    """(heads width s) of 1 and -1."""
    own = torch.Generator().manual_seed(20_261_201)
    return torch.randint(0, 2, (heads, width, SIGNS), generator=own) * 2.0 - 1


def _with(buffer: Tensor | None, new: Tensor, size: int) -> Tensor:
    """The buffer with `new` from place `size` of axis 1 on, wider where it must be."""
    if buffer is None:
        return new.clone()
    end = size + new.shape[1]
    if buffer.shape[1] < end:
        wide = new.new_empty(new.shape[0], end + end // 4 + 64, *new.shape[2:])
        wide[:, :size] = buffer[:, :size]
        buffer = wide
    buffer[:, size:end] = new
    return buffer
