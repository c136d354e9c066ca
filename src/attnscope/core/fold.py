"""The summary of a call: an engine's walk over its visible tiles, and what becomes of the states it makes.

Pass 1 over a block of rows makes its normaliser, where none is given; pass 2 makes everything else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from attnscope.core.arithmetic import rounded
from attnscope.core.certificate import Certificate, check_out, conclude, not_measured
from attnscope.core.engine import Wanted, engine_of, one_after_another
from attnscope.core.keystats import KeyStats, check_block
from attnscope.core.mask import Mask
from attnscope.core.probe import Probe, ProbeSums, probe
from attnscope.core.progress import Progress, report, shares
from attnscope.core.room import lent
from attnscope.core.rowstats import RowStats, first_keys, no_rows_seen, over_rows
from attnscope.core.scoring import Bound, Scoring, as_scoring
from attnscope.core.summary import Summary
from attnscope.core.tile import Normaliser, shifted
from attnscope.errors import ScoringError, ShapeError
from attnscope.shapes import Key, Out, Query, Value

__all__ = ["Summary", "Walked", "summarize", "summarize_parts"]


class Walked(NamedTuple):
    """What one walk over a span of rows has made: their normaliser, (b h r) each, the certificate where it
    was asked for, and the summary, without the two.
    """

    normaliser: Normaliser
    certificate: Certificate | None
    summary: Summary


def summarize(
    q: Query,
    k: Key,
    scoring: Scoring | Mask | None = None,
    *,
    v: Value | None = None,
    out: Out | None = None,
    normaliser: Normaliser | None = None,
    rows: slice | None = None,
    top: int = 8,
    block: int | None = None,
    progress: Progress | None = None,
    route: str = "sdpa",
    evening: Float[Tensor, "hk dv"] | None = None,
) -> Summary:
    """The attention of one call in O(T) numbers, never its grid; tiles in which nothing is visible are
    not computed.

    q: (b h tq d), k: (b hk tk d). rows: a slice of absolute rows, which the summary is then of. top:
    how many of the largest weights of each row to keep. block: sums and maxima over blocks of so many
    rows and keys. With v and the model's own out, both (all rows), comes a certificate; route and evening
    are certify's. normaliser: that of all rows, or of `rows`, where known. progress: called after each
    block of rows with the share of the work that is done, up to 1; where it returns False the walk ends
    with Cancelled.

    Raises ShapeError, DtypeError, MaskError or ScoringError, TooLarge where `block` would make a grid, and
    Cancelled.
    """
    (found,) = summarize_parts(
        q, k, scoring, parts=[rows], v=v, out=out, normaliser=normaliser, top=top, block=block,
        progress=progress, route=route, evening=evening,
    )  # fmt: skip
    return replace(found.summary, certificate=found.certificate)


def summarize_parts(
    q: Query,
    k: Key,
    scoring: Scoring | Mask | None = None,
    *,
    parts: Sequence[slice | None],
    v: Value | None = None,
    out: Out | None = None,
    normaliser: Normaliser | None = None,
    top: int = 8,
    block: int | None = None,
    progress: Progress | None = None,
    route: str = "sdpa",
    evening: Float[Tensor, "hk dv"] | None = None,
) -> list[Walked]:
    """Normaliser, certificate and summary of each of these spans of rows, as summarize makes them, from one
    walk: the mask is read, and v and out are looked at, once for all.
    """
    with torch.no_grad(), torch.autocast(q.device.type, enabled=False):
        bound = as_scoring(scoring).bind(q, k)
        if top < 0:
            raise ScoringError(f"top={top}", wanted="How many of the largest weights to keep, 0 or more")
        spans = [_span(bound, rows) for rows in parts]
        for span in spans:
            check_block(bound, span, block)
        certifying = _certifying(bound, v, out, route, evening)
        engine = engine_of(bound)
        blocks = [one for span in spans for one in engine.blocks(bound, span)]
        told, first = _told(bound, blocks, progress), first_keys(bound.visible)
        folding = _Folding(bound, first, top, block, certifying, route, told)
        return [folding.walked(span, _given(bound, normaliser, span)) for span in spans]


@dataclass(frozen=True, eq=False)
class _Folding:
    """What all spans of rows of one call have in common. first, top, block: see Wanted.

    certifying: what a certificate is measured with, or the certificate where there is nothing to measure.
    told: says with each step that one more block of rows is done.
    """

    bound: Bound
    first: Tensor
    top: int
    block: int | None
    certifying: Certificate | Probe | None
    route: str
    told: Iterator[None]

    def walked(self, span: slice, known: Normaliser | None) -> Walked:
        """These rows, block of rows by block of rows; known: their normaliser."""
        bound, engine, start = self.bound, engine_of(self.bound), span.start
        probe = self.certifying if isinstance(self.certifying, Probe) else None
        held = max(self.top, 1)  # the largest weight is the first of the top
        made, stats, sums = list[Normaliser](), list[RowStats](), list[ProbeSums]()
        with lent() as room:
            keys = KeyStats(
                bound, rows=span, start=start, block=self.block, counted=bound.visible.rule is None, room=room
            )
            wanted = Wanted(held, self.first, self.block, start, probe, keys=keys)
            for rows in engine.blocks(bound, span):
                if known is None:
                    given, states = engine.both(bound, wanted, rows)
                else:
                    given = known.of_rows(slice(rows.start - start, rows.stop - start))
                    states = engine.fold(bound, wanted, rows, given)
                made.append(given)
                stats.append(states.rows)
                if states.probed is not None:
                    sums.append(states.probed)
                next(self.told)
            last = one_after_another(bound, made)
            whole = over_rows(stats or [no_rows_seen(bound, 0, held)])
            return Walked(last, self._certificate(sums, start), self._finished(whole, keys, last))

    def _finished(self, stats: RowStats, keys: KeyStats, last: Normaliser) -> Summary:
        bound, dtype = self.bound, self.bound.dtype
        best = stats.top.keys
        weights = _weights_of(bound, stats.top.scores, best >= 0, last)
        undefined = stats.mass == 0
        empty = (bound.visible.count()[..., keys.rows] == 0).expand_as(stats.mass)
        mean = keys.received / keys.seen
        return Summary(
            entropy=(-stats.plogp).clamp(min=0).to(dtype),
            largest=weights[..., 0],
            largest_key=best[..., 0],
            top_weights=weights[..., : self.top],
            top_keys=best[..., : self.top],
            distance=stats.mean.masked_fill(undefined, torch.nan).to(dtype),
            distance_spread=(stats.scatter / stats.mass).sqrt().to(dtype),
            first=stats.first.to(dtype),
            sink=_sink(bound, last),
            received=keys.received.to(dtype),
            received_mean=mean.to(dtype),
            seen=keys.seen,
            mass_by_distance=keys.by_distance.to(dtype),
            empty_rows=empty.sum(dim=-1),
            start=keys.start,
            block=keys.block,
            block_sum=None if keys.sums is None else keys.sums.to(dtype, copy=True),
            block_max=None if keys.largest is None else keys.largest.to(dtype, copy=True),
            block_seen=keys.counts,
        )

    def _certificate(self, sums: list[ProbeSums], start: int) -> Certificate | None:
        if not isinstance(self.certifying, Probe):
            return self.certifying
        b, h, device = self.bound.shape.b, self.bound.shape.h, self.bound.q.device
        whole = ProbeSums.over_rows(sums or [ProbeSums.none(b, h, 0, self.certifying.count, device)])
        return conclude(self.bound, self.certifying, whole, start=start, route=self.route)


def _told(bound: Bound, blocks: list[slice], progress: Progress | None) -> Iterator[None]:
    for share in repeat(0.0) if progress is None else shares(bound, blocks):
        report(progress, share)
        yield


def _span(bound: Bound, rows: slice | None) -> slice:
    start, stop, step = (rows or slice(None)).indices(bound.shape.tq)
    if step != 1:
        raise ShapeError(f"rows={rows}", wanted="A slice with step 1")
    return slice(start, max(start, stop))


def _certifying(
    bound: Bound, v: Tensor | None, out: Tensor | None, route: str, evening: Tensor | None
) -> Certificate | Probe | None:
    if v is None and out is None:
        return None
    if v is None or out is None:
        raise ShapeError(
            f"{'out' if v is None else 'v'} came alone",
            wanted="v and out together, for a certificate, or neither",
        )
    check_out(bound, v, out)
    return not_measured(bound, route) or probe(
        bound, v, out, seed=0, evening=evening, sums=engine_of(bound).row_sums
    )


def _given(bound: Bound, normaliser: Normaliser | None, rows: slice) -> Normaliser | None:
    """The normaliser of these rows alone, (b h r)."""
    if normaliser is None:
        return None
    shape, size = tuple(normaliser.peak.shape), rows.stop - rows.start
    lead = (bound.shape.b, bound.shape.h)
    if shape == (*lead, bound.shape.tq):
        return normaliser.of_rows(rows)
    if shape == (*lead, size):
        return normaliser
    raise ShapeError(
        f"normaliser is {shape}", wanted=f"That of all rows {(*lead, bound.shape.tq)}, or of {size} rows"
    )


def _weights_of(bound: Bound, scores: Tensor, seen: Tensor, last: Normaliser) -> Tensor:
    """The weights of scores (b h r n) of these rows, in the arithmetic of the scoring; 0 where not seen."""
    how = bound.arithmetic
    weights = (shifted(bound, scores, last.peak) - last.logsum[..., None]).exp().masked_fill(~seen, 0.0)
    return rounded(rounded(weights, how.softmax), how.weights)


def _sink(bound: Bound, last: Normaliser) -> Tensor:
    """The weight on the learned sink, (b h r); 0 where there is none."""
    sinks = bound.sinks()
    if sinks is None:
        return torch.zeros_like(last.peak)
    column = sinks[..., None].expand(*last.peak.shape, 1)
    return _weights_of(bound, column, column > -torch.inf, last)[..., 0]
