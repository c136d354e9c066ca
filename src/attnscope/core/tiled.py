"""Attention over the tiles of the visible region, forward and backward, in memory that grows with T."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from attnscope.core.bias import values_of, with_values
from attnscope.core.mix import all_finite, grouped, mix, non_finite
from attnscope.core.normaliser import RowState, faded
from attnscope.core.room import Room
from attnscope.core.scoring import Bound
from attnscope.core.tile import Normaliser, exponential, shifted, weigh
from attnscope.core.walk import column_blocks, row_blocks, sinks_of_rows, state_of_rows, walk_columns
from attnscope.errors import ScoringError
from attnscope.shapes import Out, Value


def by_tiles(bound: Bound, v: Value) -> Out:
    """The out of a call over the tiles of its visible region, (b h tq dv) in v's dtype.

    Under autograd it keeps q, k, v, out and the normaliser, O(T), and computes each tile again in the
    backward pass. Gradients are of first order: for q, k, v, learned sinks and a learned bias.
    """
    bias = bound.scoring.bias
    learned = None if bias is None else values_of(bias)
    apply: Callable[..., Tensor] = _ByTiles.apply
    return apply(bound, bound.q, bound.k, v, bound.scoring.sinks, learned)


class _ByTiles(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, bound: Bound, q: Tensor, k: Tensor, v: Tensor, sinks: Tensor | None, learned: Tensor | None
    ) -> Tensor:
        finite = all_finite(v)
        out, final = _forward(bound, v if finite else v.where(v.isfinite(), 0.0))
        ctx.bound = bound
        ctx.save_for_backward(q, k, v, sinks, learned, out, final.peak, final.logsum)
        if not finite:
            out = out + _wild(bound, v.to(bound.dtype))
        return out.to(v.dtype)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():
            raise ScoringError(
                "A second derivative of attention over tiles was asked for (create_graph=True)",
                wanted="First derivatives alone on this path",
                hint="steps(q, k, v, scoring).out is the same on the grid, with derivatives of every order",
            )
        q, k, v, sinks, learned, out, peak, logsum = ctx.saved_tensors
        scoring = replace(ctx.bound.scoring, sinks=sinks)
        bound, final = replace(ctx.bound, q=q, k=k, scoring=scoring), Normaliser(peak, logsum)
        grad = grads[0].to(bound.dtype)
        pull = (grad * out).sum(dim=-1)  # (b h tq): what every score of a row is pulled down by
        needs = dict(zip(("q", "k", "v", "sinks", "learned"), ctx.needs_input_grad[1:], strict=True))
        got = _backward(bound, v, learned, final, (grad, pull), {name for name in needs if needs[name]})
        column = bound.sinks()
        if needs["sinks"] and column is not None:
            got["sinks"] = _sinks_gradient(bound, final, pull, column)
        inputs = {"q": q, "k": k, "v": v, "sinks": sinks, "learned": learned}
        return None, *(got[name].to(x.dtype) if needs[name] else None for name, x in inputs.items())


def _forward(bound: Bound, v: Tensor) -> tuple[Tensor, Normaliser]:
    """out (b h tq dv) in the compute dtype and the normaliser, for a v without NaN or inf."""
    mixed = _mixed if bound.scoring.arithmetic is None else _mixed_as_model
    parts = [mixed(bound, v, rows) for rows in row_blocks(bound)] or [_mixed(bound, v, slice(0, 0))]
    peak, logsum = (
        torch.cat([getattr(final, name) for _, final in parts], -1) for name in ("peak", "logsum")
    )
    return torch.cat([out for out, _ in parts], dim=2), Normaliser(peak, logsum)


def _mixed(bound: Bound, v: Tensor, rows: slice) -> tuple[Tensor, Normaliser]:
    """One pass: values are mixed relative to the peak so far, and divided by the sum at the end."""
    state, mixed, room = sinks_of_rows(bound, rows), _zeros(bound, v, rows), Room()
    for tile in walk_columns(bound, rows):
        peak = tile.scores.amax(dim=-1)
        held = exponential(shifted(bound, tile.scores, peak), room)
        seen = RowState(peak, held.sum(dim=-1))
        both = state.merge(seen)
        part = grouped(held, v[:, :, tile.cols].to(bound.dtype))
        mixed = faded(mixed, state.peak[..., None], both.peak[..., None])
        mixed = mixed + faded(part, seen.peak[..., None], both.peak[..., None])
        state = both
    return mixed / state.total.masked_fill(state.total == 0, 1.0)[..., None], state.normaliser()


def _mixed_as_model(bound: Bound, v: Tensor, rows: slice) -> tuple[Tensor, Normaliser]:
    """Two passes: weights are rounded as the model rounds them, which needs the final normaliser first."""
    final, out = state_of_rows(bound, rows).normaliser(), _zeros(bound, v, rows)
    for tile in walk_columns(bound, rows):
        weight = weigh(bound, tile, final.peak, final.logsum)
        out = out + grouped(weight, v[:, :, tile.cols].to(bound.dtype))
    return out, final


def _wild(bound: Bound, v: Tensor) -> Tensor:
    """The NaN and inf of v in the rows that see them, 0 elsewhere: (b h tq dv)."""
    shown = _zeros(bound, v, slice(0, bound.shape.tq))
    for rows in row_blocks(bound):
        for tile in walk_columns(bound, rows):
            shown[:, :, rows] += non_finite(v[:, :, tile.cols], tile.visible.expand(tile.scores.shape))
    return shown


def _backward(
    bound: Bound,
    v: Tensor,
    learned: Tensor | None,
    final: Normaliser,
    pulls: tuple[Tensor, Tensor],
    needs: set[str],
) -> dict[str, Tensor]:
    """Gradients of q, k, v and the learned bias, tile by tile.

    With the final normaliser held fixed, mix(weights, v) . grad - sum(weights) * pull has the gradient that
    the whole softmax has: dscore = weight * (grad . v - grad . out).
    """
    inputs = {"q": bound.q, "k": bound.k, "v": v, "learned": learned}
    total = {
        name: torch.zeros(x.shape, dtype=bound.dtype, device=x.device)
        for name, x in inputs.items()
        if name in needs and x is not None
    }
    for rows in row_blocks(bound) if total else []:
        for cols in column_blocks(bound, rows):
            cuts = {"q": rows, "k": cols, "v": cols}
            parts = {
                name: x[:, :, cuts[name]].detach()
                for name, x in inputs.items()
                if x is not None and name in cuts
            }
            if learned is not None:
                parts["learned"] = learned.detach()
            leaves = {name: parts[name].requires_grad_() for name in total}
            got = _of_tile(bound, parts, (rows, cols), final, leaves, tuple(x[:, :, rows] for x in pulls))
            for name, gradient in got.items():
                here = total[name] if name == "learned" else total[name][:, :, cuts[name]]
                here += gradient
    return total


def _of_tile(
    bound: Bound,
    parts: dict[str, Tensor],
    cuts: tuple[slice, slice],
    final: Normaliser,
    leaves: dict[str, Tensor],
    pulls: tuple[Tensor, ...],
) -> dict[str, Tensor]:
    """The gradients of one tile's own q, k, v and of the whole learned bias."""
    rows, cols = cuts
    if "learned" in leaves and bound.scoring.bias is not None:
        bias = with_values(bound.scoring.bias, leaves["learned"])
        bound = replace(bound, scoring=replace(bound.scoring, bias=bias))
    every = {"heads": slice(0, bound.shape.h), "batch": slice(0, bound.shape.b)}
    with torch.enable_grad():
        tile = bound.score(parts["q"], parts["k"], rows, cols, **every)
        weight = weigh(bound, tile, final.peak[:, :, rows], final.logsum[:, :, rows])
        out = mix(weight, parts["v"].to(bound.dtype), tile.visible)
        grad, pull = pulls
        got = torch.autograd.grad(
            [out, weight.sum(dim=-1)], list(leaves.values()), [grad, -pull], allow_unused=True
        )
    return {name: x for name, x in zip(leaves, got, strict=True) if x is not None}


def _sinks_gradient(bound: Bound, final: Normaliser, pull: Tensor, sinks: Tensor) -> Tensor:
    """(h) from sinks (1 h 1): a sink mixes nothing, so its score is only pulled down, by its weight."""
    column = sinks[..., None].expand(*final.peak.shape, 1)
    weight = (shifted(bound, column, final.peak)[..., 0] - final.logsum).exp()
    return -(weight * pull).sum(dim=(0, 2))


def _zeros(bound: Bound, v: Tensor, rows: slice) -> Tensor:
    shape = (bound.shape.b, bound.shape.h, rows.stop - rows.start, v.shape[-1])
    return torch.zeros(shape, dtype=bound.dtype, device=v.device)
