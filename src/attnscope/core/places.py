"""Masks that are rules about positions: full, causal, window, chunks, prefix.

The position of row i is p = i + offset; keys stand at their own index j.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from attnscope.core.mask import Mask, from_edges
from attnscope.core.visible import Visible
from attnscope.errors import MaskError

Call = tuple[int, int, int, int, int]
"""(b, h, tq, tk, offset)."""

REMEMBERED = 16
_known: dict[tuple[Mask, Call, torch.device], Visible] = {}


def remembered(mask: Full | _Placed, call: Call, device: torch.device | str) -> Visible:
    """The visible keys of a call; the last few are kept, as every layer of a model asks for the same."""
    key = (mask, call, torch.device(device))
    found = _known.get(key)
    if found is not None:
        return found
    b, h, tq, tk, offset = call
    lo, hi = mask.edges(torch.arange(tq, device=device) + offset, tk)
    if lo.dim() == 4 and lo.shape[0] not in (1, b):
        raise MaskError(
            f"{mask!r} speaks of {lo.shape[0]} batches, and q has {b}", wanted="One number for each"
        )
    visible = from_edges(lo, hi, b=b, h=h, tk=tk, device=device)
    plain = (
        type(visible.lo) is Tensor and not visible.lo.is_inference()
    )  # no stand-in of a tracer outlives it
    if plain and not (isinstance(mask, Prefix) and isinstance(mask.n, Tensor)):
        if len(_known) >= REMEMBERED:
            _known.clear()
        _known[key] = visible
    return visible


@dataclass(frozen=True)
class Full(Mask):
    """Every row sees every key."""

    def bind(
        self, b: int, h: int, tq: int, tk: int, offset: int, device: torch.device | str = "cpu"
    ) -> Visible:
        return remembered(self, (b, h, tq, tk, 0), device)

    def edges(self, position: Tensor, tk: int) -> tuple[Tensor, Tensor]:
        """lo and hi, (tq 1) each."""
        lo = torch.zeros_like(position)[:, None]
        return lo, lo + tk


class _Placed(Mask):
    @property
    def speaks_of_positions(self) -> bool:
        return True

    def bind(
        self, b: int, h: int, tq: int, tk: int, offset: int, device: torch.device | str = "cpu"
    ) -> Visible:
        return remembered(self, (b, h, tq, tk, offset), device)

    def edges(self, position: Tensor, tk: int) -> tuple[Tensor, Tensor]:
        """lo and hi, (tq 1) or (b 1 tq 1), from the rows' positions (tq)."""
        raise NotImplementedError


@dataclass(frozen=True)
class Causal(_Placed):
    """j <= p."""

    def edges(self, position: Tensor, tk: int) -> tuple[Tensor, Tensor]:
        return torch.zeros_like(position)[:, None], position[:, None] + 1


@dataclass(frozen=True)
class Window(_Placed):
    """p - left <= j <= p + right; None is no limit on that side."""

    left: int | None
    right: int | None = 0

    def edges(self, position: Tensor, tk: int) -> tuple[Tensor, Tensor]:
        lo = torch.zeros_like(position) if self.left is None else position - self.left
        hi = torch.full_like(position, tk) if self.right is None else position + self.right + 1
        return lo[:, None], hi[:, None]


@dataclass(frozen=True)
class Chunks(_Placed):
    """p and j lie in the same block of n positions."""

    n: int

    def edges(self, position: Tensor, tk: int) -> tuple[Tensor, Tensor]:
        lo = position.div(self.n, rounding_mode="floor") * self.n
        return lo[:, None], lo[:, None] + self.n


@dataclass(frozen=True, eq=False)
class Prefix(_Placed):
    """j <= p, and the first n keys for every row."""

    n: int | Tensor

    def edges(self, position: Tensor, tk: int) -> tuple[Tensor, Tensor]:
        if isinstance(self.n, int):
            return torch.zeros_like(position)[:, None], (position + 1).clamp(min=self.n)[:, None]
        n = self.n.to(position.device).view(-1, 1, 1, 1)
        hi = torch.maximum(position.view(1, 1, -1, 1) + 1, n)
        return torch.zeros_like(hi), hi


def full() -> Mask:
    """Every row sees every key."""
    return Full()


def causal() -> Mask:
    """A row sees its own position and all before it: j <= p."""
    return Causal()


def window(left: int | None, right: int | None = 0) -> Mask:
    """A row sees `left` keys before it, itself, and `right` keys after it; None is no limit on that side.

    The distances do not count the row itself, as in flash-attention: a causal window that Hugging Face calls
    W (W keys, itself included) is window(W - 1). Raises MaskError for a negative distance.

    >>> window(2).bind(1, 1, 5, 5, 0).count()
    tensor([[[1, 2, 3, 3, 3]]])
    """
    for name, reach in (("left", left), ("right", right)):
        if reach is not None and (not _whole(reach) or reach < 0):
            raise MaskError(
                f"window({name}={reach!r})", wanted="A distance of 0 or more, or None for no limit"
            )
    return Window(left, right)


def chunks(n: int) -> Mask:
    """A row sees the block of n positions it lies in, later ones included: & causal() leaves those out.

    Raises MaskError for n < 1.
    """
    if not _whole(n) or n < 1:
        raise MaskError(f"chunks({n!r})", wanted="A block of at least 1 position")
    return Chunks(n)


def prefix(n: int | Tensor) -> Mask:
    """Every row sees the first n keys, and causality holds after them: j < max(p + 1, n).

    n is a number, or one for each batch (b) as an integer tensor. Raises MaskError for a negative n.
    """
    if isinstance(n, Tensor):
        if (
            n.dim() != 1
            or n.is_floating_point()
            or n.is_complex()
            or n.dtype == torch.bool
            or bool((n < 0).any())
        ):
            raise MaskError(
                f"prefix(n) got a tensor {tuple(n.shape)} of {n.dtype}",
                wanted="Whole numbers of 0 or more, (b)",
            )
    elif not _whole(n) or n < 0:
        raise MaskError(f"prefix({n!r})", wanted="A number of keys, 0 or more")
    return Prefix(n)


def _whole(n: object) -> bool:
    return isinstance(n, int) and not isinstance(n, bool)
