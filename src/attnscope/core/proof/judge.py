"""Each figure that an engine makes of a call against the same figure of the whole grid, in float64.

An error is that of weights as they are, of sums against their own size where that is above 1, of the
entropy against log(keys) + 1, of distances against the number of keys, of their variance against that
number times the spread, and of out against the largest value. What rounding explains of it grows with the
terms of a score:

    allowed = 8 * 2^-24 * (largest scale * |q_i| * |k_j| + largest |bias| + 8)

and for out in 16 bits, 4 roundings of its own dtype beside. What is counted, and a second run, allow none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from attnscope.core.arithmetic import ROUNDING
from attnscope.core.attention import attention
from attnscope.core.bias import values_of
from attnscope.core.dense import Steps, steps
from attnscope.core.distance import bin_of
from attnscope.core.engine import Name, Native, engine_of, normaliser
from attnscope.core.fold import summarize
from attnscope.core.proof.calls import Call
from attnscope.core.scoring import Bound
from attnscope.core.summary import Summary

BLOCK, TOP, UNITS = 16, 5, 8


@dataclass(frozen=True)
class Figure:
    """The largest error of one figure of a call and what is allowed; NaN where one is NaN, the other not."""

    name: str
    error: float
    allowed: float

    @property
    def holds(self) -> bool:
        """Whether the error is what rounding explains."""
        return self.error <= self.allowed

    @property
    def share(self) -> float:
        """The error as a share of what is allowed; inf where none is, or where a NaN is out of place."""
        if math.isnan(self.error) or not self.allowed:
            return 0.0 if self.error == 0 else math.inf
        return self.error / self.allowed


@dataclass(frozen=True)
class Proof:
    """What came of one call, and which engine made its sums: "native" or "torch"."""

    call: str
    engine: Name
    figures: tuple[Figure, ...]

    @property
    def holds(self) -> bool:
        """Whether every figure does."""
        return all(figure.holds for figure in self.figures)

    @property
    def worst(self) -> Figure:
        """The figure that comes closest to what is allowed, or goes farthest past it."""
        return max(self.figures, key=lambda figure: figure.share)


def prove(call: Call) -> Proof:
    """Run one call and hold every figure of it against the whole grid in float64.

    Raises EngineError where the environment asks for an engine that cannot run.
    """
    bound = call.scoring.bind(call.q, call.k)
    engine: Name = "native" if isinstance(engine_of(bound), Native) else "torch"
    wide = steps(call.q.double(), call.k.double(), call.v.double(), call.scoring)
    out = attention(call.q, call.k, call.v, call.scoring)
    found = summarize(call.q, call.k, call.scoring, top=TOP, block=BLOCK)
    again = summarize(call.q, call.k, call.scoring, top=TOP, block=BLOCK)
    made = normaliser(call.q, call.k, call.scoring)
    allowed = UNITS * ROUNDING[torch.float32] * _reach(call, bound)
    own = 0.0 if out.dtype == torch.float32 else 4 * ROUNDING[out.dtype]
    mixed = _error(out, wide.out, call.v.double().abs().amax())
    exact = [(found.seen, wide.visible.sum(dim=-2)), (found.block_seen, _blocks(wide)[2])]
    figures = [
        Figure("normaliser", _error(made.lse, wide.lse), allowed),
        *(Figure(name, error, allowed) for name, error in _of_summary(found, wide, bound)),
        Figure("out", mixed, allowed + own),
        Figure("cells counted", max(_error(got, want) for got, want in exact), 0.0),
        Figure("the same again", _change(found, again), 0.0),
    ]
    return Proof(call.name, engine, tuple(figures))


def _reach(call: Call, bound: Bound) -> float:
    """How large the terms of a score are: what its rounding goes by."""
    longest = [x.double().nan_to_num(0.0).norm(dim=-1).amax() for x in (call.q, call.k)]
    bias = call.scoring.bias
    added = 0.0 if bias is None else float(values_of(bias).abs().amax())
    return abs(bound.scale) * float(longest[0] * longest[1]) + added + 8


def _of_summary(found: Summary, wide: Steps, bound: Bound) -> list[tuple[str, float]]:
    w, tk = wide.weights, bound.shape.tk
    entropy = -torch.special.xlogy(w, w).sum(dim=-1)
    best = torch.nn.functional.pad(w, (0, TOP)).topk(TOP, dim=-1).values
    there = w.gather(-1, found.top_keys.clamp(min=0)).masked_fill(found.top_keys < 0, 0.0)
    start = wide.visible.flatten(1, 2).any(dim=1).int().argmax(dim=-1)  # (b): the first key that is seen
    first = w.gather(-1, start[:, None, None, None].expand(*w.shape[:3], 1))[..., 0]
    sink = 1 - (wide.lse_keys - wide.lse).exp() if bound.scoring.sinks is not None else 0 * entropy
    distance, spread, bins = _distances(wide, bound)
    made = found.mass_by_distance
    sums, largest, _ = _blocks(wide)
    return [
        ("entropy", _error(found.entropy, entropy, math.log(tk) + 1)),
        ("largest weights", max(_error(found.top_weights, best), _error(there, best))),
        ("first token", _error(found.first, first)),
        ("sink", _error(found.sink, sink)),
        ("distance", _error(found.distance, distance, float(tk))),
        (
            "spread of distance",
            _error(found.distance_spread.square(), spread.square(), tk * spread.clamp(min=1)),
        ),
        (
            "weight by distance",
            _error(made if made is None else made[..., : bins.shape[-1]], bins, bins.clamp(min=1)),
        ),
        ("weight received", _error(found.received, w.sum(-2), w.sum(-2).clamp(min=1))),
        ("block sums", _error(found.block_sum, sums, sums.clamp(min=1))),
        ("block maxima", _error(found.block_max, largest)),
    ]


def _blocks(wide: Steps) -> tuple[Tensor, Tensor, Tensor]:
    """Sums, maxima and counts of visible cells of BLOCK x BLOCK cells, (b h m n)."""
    tq, tk = wide.weights.shape[-2:]
    room = (0, -tk % BLOCK, 0, -tq % BLOCK)
    cut = [
        torch.nn.functional.pad(grid, room).reshape(*grid.shape[:2], -(-tq // BLOCK), BLOCK, -1, BLOCK)
        for grid in (wide.weights, wide.visible.double())
    ]  # (b h m block n block)
    return cut[0].sum(dim=(-3, -1)), cut[0].amax(dim=(-3, -1)), cut[1].sum(dim=(-3, -1))


def _distances(wide: Steps, bound: Bound) -> tuple[Tensor, Tensor, Tensor]:
    """The mean distance of each row and its spread (b h tq), and the weight in each bin (b h bins)."""
    w, (tq, tk) = wide.weights, wide.weights.shape[-2:]
    distance = (torch.arange(tq)[:, None] + bound.offset - torch.arange(tk)).abs()
    mass = w.sum(dim=-1)
    mean = (w * distance).sum(dim=-1) / mass
    spread = ((w * (distance - mean[..., None]).square()).sum(dim=-1) / mass).sqrt()
    bins = bin_of(distance)
    each = w.new_zeros(*w.shape[:2], int(bins.max()) + 1)
    return mean, spread, each.index_add(-1, bins.flatten(), w.flatten(-2))


def _change(found: Summary, again: Summary) -> float:
    """The largest difference of two runs of the same."""
    names = ("entropy", "top_weights", "distance", "received", "mass_by_distance", "block_sum", "block_max")
    return max(_error(getattr(found, name), getattr(again, name).double()) for name in names)


def _error(got: Tensor | None, want: Tensor, size: Tensor | float = 1.0) -> float:
    """The largest |got - want| / size; NaN where one of them is NaN and the other is not."""
    if got is None:
        return math.nan
    got, want = got.double(), want.double()
    share = ((got - want).abs() / size).masked_fill((got == want) | (got.isnan() & want.isnan()), 0.0)
    return float(share.amax()) if share.numel() else 0.0
