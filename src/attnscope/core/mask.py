"""What a mask is: a description that, bound to the sizes of a call, says which keys each row may see."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from attnscope.core.spans import tidy
from attnscope.core.visible import Visible
from attnscope.errors import MaskError


class Mask:
    """True = may attend. `a & b` is the keys both allow, `a | b` the keys either allows.

    A mask that `speaks_of_positions` needs to know where row 0 stands among the keys (the offset).
    """

    @property
    def speaks_of_positions(self) -> bool:
        """Whether the mask means something only once the position of row 0 is known."""
        return False

    def bind(
        self, b: int, h: int, tq: int, tk: int, offset: int, device: torch.device | str = "cpu"
    ) -> Visible:
        """The keys that each row may see in a call of b batches, h query heads, tq rows and tk keys.

        `offset` is the position of row 0 among the keys. Raises MaskError where the sizes do not fit.
        """
        raise NotImplementedError

    def __and__(self, other: Mask) -> Mask:
        return Both(self, _as_mask(other))

    def __or__(self, other: Mask) -> Mask:
        return Either(self, _as_mask(other))


@dataclass(frozen=True)
class _Two(Mask):
    one: Mask
    two: Mask

    @property
    def speaks_of_positions(self) -> bool:
        return self.one.speaks_of_positions or self.two.speaks_of_positions


@dataclass(frozen=True)
class Both(_Two):
    """The keys that both masks allow."""

    def bind(
        self, b: int, h: int, tq: int, tk: int, offset: int, device: torch.device | str = "cpu"
    ) -> Visible:
        return self.one.bind(b, h, tq, tk, offset, device) & self.two.bind(b, h, tq, tk, offset, device)


@dataclass(frozen=True)
class Either(_Two):
    """The keys that at least one of two masks allows."""

    def bind(
        self, b: int, h: int, tq: int, tk: int, offset: int, device: torch.device | str = "cpu"
    ) -> Visible:
        return self.one.bind(b, h, tq, tk, offset, device) | self.two.bind(b, h, tq, tk, offset, device)


def from_edges(
    lo: torch.Tensor, hi: torch.Tensor, *, b: int, h: int, tk: int, device: torch.device | str = "cpu"
) -> Visible:
    """Visible keys from edges that broadcast from the right to (b|1, h|1, tq, s)."""
    shape = (1,) * (4 - lo.dim()) + tuple(lo.shape)
    spans = tidy(lo.reshape(shape).to(device), hi.reshape(shape).to(device), tk)
    return Visible(spans.lo, spans.hi, b=b, h=h, tk=tk)


def _as_mask(other: object) -> Mask:
    if isinstance(other, Mask):
        return other
    raise MaskError(
        f"A mask was combined with {type(other).__name__}",
        wanted="Two masks, as in causal() & padding(keys)",
        hint="A tensor becomes a mask through from_tensor(t)",
    )
