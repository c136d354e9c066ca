"""Attention as one grid, every step by name. The explanation, and the oracle of every faster path."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from attnscope.core.mask import Mask
from attnscope.core.mix import mix
from attnscope.core.scoring import Bound, Scoring, as_scoring, check_values
from attnscope.core.tile import Normaliser, shifted, weigh
from attnscope.shapes import Grid, Key, Out, Query, Rows, SeenGrid, Value


@dataclass(frozen=True, eq=False)
class Steps:
    """Every step of one call: grids (b h tq tk) in float32 (float64 for float64), out in v's dtype."""

    products: Grid
    scaled: Grid
    scores: Grid
    weights: Grid
    out: Out
    normaliser: Normaliser
    lse: Rows
    lse_keys: Rows
    visible: SeenGrid


def steps(q: Query, k: Key, v: Value, scoring: Scoring | Mask | None = None) -> Steps:
    """softmax(q @ k^T * scale) @ v, step by step, on the whole grid: memory O(tq tk) for each head and batch.

    q: (b h tq d), k: (b hk tk d), v: (b hk tk dv); query head i uses key head i // (h // hk). A row that sees
    nothing has weights 0, out 0, peak -inf and logsum 0. Learned sinks take weight and mix nothing: the
    weights then sum to less than 1. lse and lse_keys are natural logs, with and without the sink. Scaled
    dot-product attention is Vaswani et al. 2017, section 3.2.1.

    >>> from attnscope.core.masks import causal
    >>> q = k = v = torch.zeros(1, 1, 3, 4)
    >>> steps(q, k, v, causal()).weights[0, 0, 1]
    tensor([0.5000, 0.5000, 0.0000])

    Raises ShapeError, DtypeError, MaskError or ScoringError.
    """
    bound = as_scoring(scoring).bind(q, k)
    check_values(bound, v)
    tile = bound.tile(slice(0, bound.shape.tq), slice(0, bound.shape.tk))
    keys = _normaliser(bound, tile.scores, None)
    sinks = bound.sinks()
    whole = keys if sinks is None else _normaliser(bound, tile.scores, sinks)
    weights = weigh(bound, tile, whole.peak, whole.logsum)
    out = mix(weights, v.to(bound.dtype), tile.visible)
    visible = tile.visible.expand(weights.shape)
    return Steps(
        tile.products, tile.scaled, tile.scores, weights, out.to(v.dtype), whole, whole.lse, keys.lse, visible
    )


def _normaliser(bound: Bound, scores: Tensor, sinks: Tensor | None) -> Normaliser:
    """The normaliser of whole rows of scores (b h tq tk), with the sinks (1 h 1) where given."""
    b, h, tq, tk = scores.shape
    peak = scores.detach().amax(dim=-1) if tk else scores.new_full((b, h, tq), -torch.inf)
    if sinks is not None:
        peak = torch.maximum(peak, sinks.detach().expand_as(peak))
    total = shifted(bound, scores, peak).exp().sum(dim=-1)
    if sinks is not None:
        total = total + shifted(bound, sinks[..., None].expand(b, h, tq, 1), peak).exp().sum(dim=-1)
    return Normaliser(peak, total.masked_fill(peak == -torch.inf, 1.0).log())
