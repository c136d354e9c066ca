"""A block of scores, and what makes them of scaled products: softcap and bias, in the scoring's order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from torch import Tensor

from attnscope.shapes import Block, Seen


@dataclass(frozen=True, eq=False)
class Tile:
    """A block of the grid, rows x cols, in the compute dtype.

    scores: capped, biased, and -inf where masked.   visible: (b|1, h|1, r, c).   whole: every cell is
    visible. products (q.k) and scaled (times the scale) are computed when they are asked for.
    """

    rows: slice
    cols: slice
    scores: Block
    visible: Seen
    whole: bool
    recompute: Callable[[], tuple[Tensor, Tensor]] = field(repr=False)

    @cached_property
    def before(self) -> tuple[Tensor, Tensor]:
        """products and scaled, (b h r c) each."""
        return self.recompute()

    @property
    def products(self) -> Block:
        """q.k."""
        return self.before[0]

    @property
    def scaled(self) -> Block:
        """q.k times the scale."""
        return self.before[1]


def soften(scaled: Tensor, softcap: float | None) -> Tensor:
    """softcap * tanh(scaled / softcap), or scaled where there is no cap."""
    return scaled if softcap is None else (scaled / softcap).tanh() * softcap


def biased(scaled: Tensor, bias: Tensor | None, softcap: float | None, *, inside: bool) -> Tensor:
    """softcap(scaled) + bias, or softcap(scaled + bias) with the bias `inside`, in scaled's dtype."""
    if bias is None:
        return soften(scaled, softcap)
    bias = bias.to(scaled.dtype)
    return soften(scaled + bias, softcap) if inside else soften(scaled, softcap) + bias
