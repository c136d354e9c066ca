"""From scores to weights: the normaliser of a row, and weight = exp((score - peak) - logsum)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from attnscope.core.arithmetic import rounded
from attnscope.core.scores import Tile
from attnscope.core.scoring import Bound
from attnscope.shapes import Block, Rows


@dataclass(frozen=True, eq=False)
class Normaliser:
    """peak: a row's largest score, its learned sink included; logsum: log of the sum of exp(score - peak).

    (b h tq) each. A row that sees nothing and has no sink is (-inf, 0). The pair is kept, since peak + logsum
    would lose 3e-5 of a weight at scores of 1,000 in float32.
    """

    peak: Rows
    logsum: Rows

    @property
    def lse(self) -> Rows:
        """peak + logsum, natural log: for showing."""
        return self.peak + self.logsum


def weights(
    bound: Bound,
    normaliser: Normaliser,
    rows: slice,
    cols: slice,
    *,
    heads: slice | None = None,
    batch: slice | None = None,
) -> Block:
    """The weights of a block, (b h r c) in the compute dtype: 0 where not visible."""
    tile = bound.tile(rows, cols, heads=heads, batch=batch)
    cut = (batch or slice(None), heads or slice(None), tile.rows)
    return weigh(bound, tile, normaliser.peak[cut], normaliser.logsum[cut])


def weigh(bound: Bound, tile: Tile, peak: Tensor, logsum: Tensor) -> Block:
    """The weights of a tile from its rows' peak and logsum, (b h r) each."""
    return finished(bound, tile, logs_of(bound, tile, peak, logsum).exp_())


def logs_of(bound: Bound, tile: Tile, peak: Tensor, logsum: Tensor) -> Block:
    """The natural logarithms of a tile's weights before these are rounded, in nobody else's memory."""
    return shifted(bound, tile.scores, peak).sub_(logsum[..., None])


def finished(bound: Bound, tile: Tile, weight: Block) -> Block:
    """Weights with 0 where not visible, rounded as the model rounds them."""
    how = bound.arithmetic
    if not tile.whole:
        weight = weight.masked_fill(~tile.visible, 0.0)
    return rounded(rounded(weight, how.softmax), how.weights)


def shifted(bound: Bound, scores: Tensor, peak: Tensor) -> Tensor:
    """score - peak, (b h r c), finite peaks only taken off; rounded where the model rounds it."""
    gone = scores - peak.detach().masked_fill(peak == -torch.inf, 0.0)[..., None]
    return rounded(gone, bound.arithmetic.scores) if bound.arithmetic.subtract_max else gone
