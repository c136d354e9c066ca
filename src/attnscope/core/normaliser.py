"""The state of a row while its keys go by: peak and sum, with an identity and a merge over any split."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from attnscope.core.scores import Tile
from attnscope.core.scoring import Bound
from attnscope.core.tile import Normaliser, exponential, shifted
from attnscope.shapes import Rows


@dataclass(frozen=True, eq=False)
class RowState:
    """peak: the largest score so far; total: sum of exp(score - peak); (b h r). Nothing seen: (-inf, 0)."""

    peak: Rows
    total: Rows

    def merge(self, other: RowState) -> RowState:
        """Both halves as one: associative, and an empty half changes nothing."""
        peak = torch.maximum(self.peak, other.peak)
        return RowState(peak, faded(self.total, self.peak, peak) + faded(other.total, other.peak, peak))

    def normaliser(self) -> Normaliser:
        """The pair that weights are computed from."""
        return Normaliser(self.peak, self.total.masked_fill(self.peak == -torch.inf, 1.0).log())


def nothing_seen(
    b: int, h: int, r: int, *, dtype: torch.dtype, device: torch.device | str = "cpu"
) -> RowState:
    """The identity of merge: r rows of each head that have seen nothing."""
    peak = torch.full((b, h, r), -torch.inf, dtype=dtype, device=device)
    return RowState(peak, torch.zeros_like(peak))


def of_tile(bound: Bound, tile: Tile, peak: Tensor | None = None) -> RowState:
    """The state after this tile alone, relative to `peak` (b h r) where given, else to its own peak."""
    scores = tile.scores
    if peak is None:
        peak = (
            scores.detach().amax(dim=-1)
            if scores.shape[-1]
            else scores.new_full(scores.shape[:-1], -torch.inf)
        )
    return RowState(peak, exponential(shifted(bound, scores, peak)).sum(dim=-1))


def of_sinks(bound: Bound, like: RowState, *, peak: Tensor | None = None) -> RowState | None:
    """The state of rows shaped as `like` that have seen their learned sink alone; None without sinks."""
    sinks = bound.sinks()
    if sinks is None:
        return None
    column = sinks.expand(like.peak.shape)
    peak = column.detach() if peak is None else peak
    return RowState(peak, shifted(bound, column[..., None], peak)[..., 0].exp())


def faded(amount: Tensor, old: Tensor, new: Tensor) -> Tensor:
    """An amount relative to an old peak, made relative to a new one: amount * exp(old - new)."""
    return amount * (old - new.masked_fill(new == -torch.inf, 0.0)).exp()
