"""A certificate for every row of every head: are the weights we show those the model mixed its values with?

A row is held against the model's own out on n vectors of random signs (`probe`), in units of what rounding
explains:

    N_i^2 = (up^2 + em^2) * (largest w * sum w u^2 + |out_i * r|^2) + largest w * sum w es^2 (u - out.r)^2
          + floor^2
    z_i   = (out_i.r - sum w u) / N_i

N is one for all vectors, its terms means over them, and the z of a row is the rms of its n. up is the
rounding of the model's dtype, floor that of numbers too small for it. es, the error of a score as we
compute it, is our rounding times the root of (scale * |q_i| * |k_j|)^2 + 8^2, and + score^2 where a bias is
added; em, that of a sum over n keys, be it of weights or of one place of out, is our rounding times
(4 + sqrt(n) / 4). An error of the scale moves
all rows together: eps is the least-squares fit of the residuals on g_i = sum w (s - mean s) u, the
change of a row for a relative change of the scale, each in units of N_i. It is known to 1 / sqrt(sum
g^2 / N^2), and no better than to 16 of our roundings, which may tilt all rows alike: t is its distance
from 0 in units of both. docs/certificate.md says it in words, with what the certificate cannot see.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attnscope.core.engine import engine_of
from attnscope.core.mask import Mask
from attnscope.core.probe import Probe, ProbeSums, probe
from attnscope.core.scoring import Bound, Scoring, as_scoring, check_values
from attnscope.core.tile import Normaliser
from attnscope.core.verdict import NOT_CERTIFIABLE, Measured, Thresholds, judge, measure, thresholds_of
from attnscope.errors import ShapeError
from attnscope.shapes import Key, Out, Query, Value

Chosen = slice | Bool[Tensor, "#b tq"] | None
"""Which rows: a slice, or for each batch the rows that stand for text; None is all of them."""


@dataclass(frozen=True, eq=False)
class Certificate:
    """The verdict on each head of one call, and the figures it rests on, (b h) each in float64.

    z: the largest |z| of a row, found in `row`.   rms: of z over rows.   rows: how many were compared.
    scale_error: the relative error of the scale, NaN where nothing would show it.   t: its distance from
    0, in units of what rounding explains.   leverage: how much the rows tell of it, summed (g / N)^2.
    missing, broken: rows whose out, or our sum alone, is not finite.
    verdict[batch][head]: "passed", "refused" or "not certifiable", with its reason (None where passed).
    dtype: the coarsest of the model's steps.   route: the name of what computed out.
    """

    z: Float[Tensor, "b h"]
    row: Int[Tensor, "b h"]
    rms: Float[Tensor, "b h"]
    rows: Int[Tensor, "b h"]
    scale_error: Float[Tensor, "b h"]
    t: Float[Tensor, "b h"]
    leverage: Float[Tensor, "b h"]
    missing: Int[Tensor, "b h"]
    broken: Int[Tensor, "b h"]
    verdict: tuple[tuple[str, ...], ...]
    reason: tuple[tuple[str | None, ...], ...]
    thresholds: Thresholds
    dtype: torch.dtype
    route: str

    def passed(self, batch: int, head: int) -> bool:
        """Whether the weights of this head are the model's, as far as its rounding lets us tell."""
        return self.verdict[batch][head] == "passed"


def certify(
    q: Query,
    k: Key,
    v: Value,
    out: Out,
    scoring: Scoring | Mask | None = None,
    normaliser: Normaliser | None = None,
    *,
    seed: int = 0,
    route: str = "sdpa",
    rows: Chosen = None,
    evening: Float[Tensor, "hk dv"] | None = None,
) -> Certificate:
    """The certificate of one call, from the out (b h tq dv) that the model's own kernel returned for it.

    Rows that see no key are left out, and so are those not in `rows` (padded queries). Memory O(T); the signs
    come from a generator of our own with this seed. `route` names what computed out; route and dtype choose
    the limits. `evening`: factors by signs.evening_of where calls are to be merged; None makes them from out.

    Raises ShapeError, DtypeError, MaskError or ScoringError.
    """
    return certify_parts(
        q, k, v, out, scoring, normaliser, parts=[rows], seed=seed, route=route, evening=evening
    )[0]


def certify_parts(
    q: Query,
    k: Key,
    v: Value,
    out: Out,
    scoring: Scoring | Mask | None = None,
    normaliser: Normaliser | None = None,
    *,
    parts: Sequence[Chosen],
    seed: int = 0,
    route: str = "sdpa",
    evening: Float[Tensor, "hk dv"] | None = None,
) -> list[Certificate]:
    """A certificate of each choice of rows, as certify makes it, from one walk; each `row` counts from the
    call's row 0.
    """
    with torch.no_grad(), torch.autocast(q.device.type, enabled=False):
        bound = as_scoring(scoring).bind(q, k)
        check_out(bound, v, out)
        chosen = [_chosen(bound, rows) for rows in parts]
        without = not_measured(bound, route)
        if without is not None:
            return [without] * len(chosen)
        engine, blocks = engine_of(bound), []
        looking = probe(bound, v, out, seed=seed, evening=evening, sums=engine.row_sums)
        for block in engine.blocks(bound):
            given = engine.normaliser(bound, block) if normaliser is None else normaliser.of_rows(block)
            blocks.append(engine.probe(bound, looking, block, given))
        nothing = ProbeSums.none(bound.shape.b, bound.shape.h, 0, looking.count, q.device)
        sums = ProbeSums.over_rows(blocks or [nothing])
        return [conclude(bound, looking, sums, chosen=one, route=route) for one in chosen]


def conclude(
    bound: Bound,
    looking: Probe,
    sums: ProbeSums,
    *,
    start: int = 0,
    chosen: Tensor | None = None,
    route: str = "sdpa",
) -> Certificate:
    """The certificate from finished sums of the rows from `start` on; chosen: (b|1, tq) rows that count."""
    block = slice(start, start + sums.mass.shape[-1])
    keys = bound.visible.count()[..., block].expand_as(sums.mass)
    counted = keys > 0
    if chosen is not None:
        counted = counted & chosen[:, None, block]
    on_signs = looking.on_signs[:, :, block]
    explained = _explained(bound, looking, sums, keys, block)
    residual = on_signs - sums.first
    z = (residual / explained[..., None]).where(residual != 0, 0.0)
    tilt = (sums.tilted - sums.tilt[..., None] * sums.first) / explained[..., None]
    out_finite = on_signs.isfinite().all(dim=-1) & looking.length[:, :, block].isfinite()
    ours_finite = sums.first.isfinite().all(dim=-1) & ~explained.isnan()
    dtype = looking.dtype
    found = measure(z, tilt, counted, dtype, out_finite=out_finite, ours_finite=ours_finite, start=start)
    return assembled(found, judge(found, thresholds_of(route, dtype)), dtype, route)


def _explained(bound: Bound, looking: Probe, sums: ProbeSums, keys: Tensor, block: slice) -> Tensor:
    """N, what rounding explains of each row, (b h r): one for all vectors of signs."""
    on_signs, length = looking.on_signs[:, :, block], looking.length[:, :, block]
    once, linear, squared = sums.drift[..., 0], sums.drift[..., 1:-1], sums.drift[..., -1]
    scatter = squared - 2 * (on_signs * linear).mean(dim=-1) + on_signs.square().mean(dim=-1) * once
    of_sums = looking.ours * (4 + keys.sqrt() / 4)
    explained = (looking.rounding**2 + of_sums.square()) * (sums.largest * sums.second + length.square())
    explained = explained + looking.ours**2 * sums.largest * scatter.clamp(min=0)
    return (explained + looking.floor.square()).sqrt()


def not_measured(bound: Bound, route: str = "sdpa") -> Certificate | None:
    """The certificate of a call that cannot have one, every head not certifiable; None where there is
    no such reason."""
    if bound.arithmetic.dropout == 0:
        return None
    reason = f"the model dropped weights at random (dropout {bound.arithmetic.dropout:g})"
    b, h = bound.shape.b, bound.shape.h
    unknown = torch.full((b, h), torch.nan, dtype=torch.float64, device=bound.q.device)
    none = torch.zeros(b, h, dtype=torch.int64, device=bound.q.device)
    found = Measured(unknown, none, unknown, none, unknown, unknown, none.double(), none, none)
    return assembled(found, [[(NOT_CERTIFIABLE, reason)] * h] * b, bound.q.dtype, route)


def check_out(bound: Bound, v: Value, out: Out) -> None:
    """Raises ShapeError or DtypeError unless v belongs to the keys, and out to the rows and values."""
    check_values(bound, v)
    wanted = (bound.shape.b, bound.shape.h, bound.shape.tq, v.shape[-1])
    if out.shape != wanted or not out.is_floating_point():
        raise ShapeError(
            f"out is {tuple(out.shape)} of {out.dtype}",
            wanted=f"Floating point (batch, query heads, queries, value width) = {wanted}",
            hint="out is meant before the output projection; out.transpose(1, 2) where a model returns it as "
            "(batch, queries, heads, width)",
        )


def _chosen(bound: Bound, rows: Chosen) -> Tensor | None:
    """The rows that count, (b|1, tq), or None for all."""
    if rows is None:
        return None
    if isinstance(rows, slice):
        chosen = torch.zeros(1, bound.shape.tq, dtype=torch.bool, device=bound.q.device)
        chosen[:, rows] = True
        return chosen
    if rows.dtype != torch.bool or rows.dim() != 2 or rows.shape[0] not in (1, bound.shape.b):
        raise ShapeError(
            f"rows is {tuple(rows.shape)} of {rows.dtype}", wanted="A slice, or booleans (batch, queries)"
        )
    if rows.shape[1] != bound.shape.tq:
        raise ShapeError(
            f"rows speaks of {rows.shape[1]} queries", wanted=f"All {bound.shape.tq} queries of the call"
        )
    return rows.to(bound.q.device)


def assembled(
    found: Measured, verdicts: list[list[tuple[str, str | None]]], dtype: torch.dtype, route: str
) -> Certificate:
    """The certificate that these figures and verdicts make."""
    return Certificate(
        z=found.z,
        row=found.row,
        rms=found.rms,
        rows=found.rows,
        scale_error=found.scale_error,
        t=found.t,
        leverage=found.leverage,
        missing=found.missing,
        broken=found.broken,
        verdict=tuple(tuple(verdict for verdict, _ in batch) for batch in verdicts),
        reason=tuple(tuple(reason for _, reason in batch) for batch in verdicts),
        thresholds=thresholds_of(route, dtype),
        dtype=dtype,
        route=route,
    )
