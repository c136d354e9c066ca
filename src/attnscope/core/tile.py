"""From scores to weights: the normaliser of a row, and weight = exp((score - peak) - logsum)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from attnscope.core.arithmetic import rounded
from attnscope.core.room import Room
from attnscope.core.scores import Tile
from attnscope.core.scoring import Bound
from attnscope.shapes import Block, Rows

LOG2_E = 1.4426950408889634
LEAST_LOG = {torch.float32: -87.0, torch.float64: -708.0}
"""The log of a weight that is as good as none: numbers below it are not normal, and many times slower."""


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

    def of_rows(self, rows: slice) -> Normaliser:
        """That of a span of its rows."""
        return Normaliser(self.peak[..., rows], self.logsum[..., rows])

    def of_head(self, head: int, batch: int) -> Normaliser:
        """That of one head of one batch entry, (1 1 tq) each."""
        here = slice(batch, batch + 1), slice(head, head + 1)
        return Normaliser(self.peak[here], self.logsum[here])


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


@dataclass(frozen=True, eq=False)
class Weighed:
    """The weights of a tile and their logs, (b h r c) each; where a weight is 0 its log is some number.

    shifted: the logs are the scores less the rows' peak and logsum, nothing rounded in between.   room:
    the memory used; the next tile takes it.
    """

    weights: Block
    logs: Block
    shifted: bool
    room: Room

    @cached_property
    def pulled(self) -> Block:
        """Each weight times its log."""
        into = self.room.take("pulled", self.weights.shape, self.weights.dtype, self.weights.device)
        return torch.mul(self.weights, self.logs, out=into)

    @cached_property
    def largest(self) -> Rows:
        """The largest weight of each row."""
        return self.weights.amax(dim=-1)


def weighed(bound: Bound, tile: Tile, normaliser: Normaliser, room: Room) -> Weighed:
    """The weights of a tile as `weigh` makes them, with their logs; normaliser: of its rows, (b h r) each.

    The memory of tile.scores may be taken, and what stood in the room is. Weights below the smallest normal
    number of the dtype are 0.
    """
    peak, logsum = normaliser.peak, normaliser.logsum
    if bound.arithmetic.rounds_weights(bound.dtype):
        weights = weigh(bound, tile, peak, logsum)
        logs = weights.clamp(min=torch.finfo(weights.dtype).tiny).log_()
        return Weighed(weights, logs, shifted=False, room=room)
    logs = tile.scores.sub_(peak.masked_fill(peak == -torch.inf, 0.0)[..., None]).sub_(logsum[..., None])
    return Weighed(exponential(logs, room), logs, shifted=True, room=room)


def exponential(x: Tensor, room: Room | None = None) -> Tensor:
    """e^x of numbers up to about 0, and exactly 0 past LEAST_LOG, where x is set to it.

    Powers of two are used: the exp of some libraries takes a hundred times longer where the result is no
    normal number, as most weights of a peaked row are. x log2(e) is rounded once, so that e^x errs by |x|
    roundings at most.
    """
    least = LEAST_LOG[x.dtype]
    into = torch.empty_like(x) if room is None else room.take("weights", x.shape, x.dtype, x.device)
    torch.mul(x.clamp_(min=least), LOG2_E, out=into).exp2_()
    return torch.threshold_(into, 1.001 * 2.0 ** (least * LOG2_E), 0.0)
