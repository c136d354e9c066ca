"""The summary of a call: an engine's walk over its visible tiles, and what becomes of the states it makes.

Pass 1 over a block of rows makes its normaliser, where none is given; pass 2 makes everything else.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from attnscope.core.arithmetic import rounded
from attnscope.core.certificate import Certificate, check_out, conclude, not_measured
from attnscope.core.engine import Wanted, engine_of, one_after_another
from attnscope.core.keystats import KeyStats, check_block
from attnscope.core.mask import Mask
from attnscope.core.probe import Probe, ProbeSums, probe
from attnscope.core.progress import Progress, report, shares
from attnscope.core.rowstats import RowStats, first_keys, no_rows_seen, over_rows
from attnscope.core.scoring import Bound, Scoring, as_scoring
from attnscope.core.summary import Summary
from attnscope.core.tile import Normaliser, shifted
from attnscope.core.walk import row_blocks
from attnscope.errors import ScoringError, ShapeError
from attnscope.shapes import Key, Out, Query, Value

__all__ = ["Summary", "summarize"]


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
) -> Summary:
    """The attention of one call in O(T) numbers, never its grid; tiles in which nothing is visible are
    not computed.

    q: (b h tq d), k: (b hk tk d). rows: a slice of absolute rows, which the summary is then of. top:
    how many of the largest weights of each row to keep. block: sums and maxima over blocks of so many
    rows and keys. With v and the model's own out, both (all rows), comes a certificate. normaliser:
    that of all rows, or of `rows`, where known. progress: called after each block of rows with the share
    of the work that is done, up to 1; where it returns False the walk ends with Cancelled.

    Raises ShapeError, DtypeError, MaskError or ScoringError, TooLarge where `block` would make a grid, and
    Cancelled.
    """
    with torch.no_grad(), torch.autocast(q.device.type, enabled=False):
        bound = as_scoring(scoring).bind(q, k)
        start, stop, step = (rows or slice(None)).indices(bound.shape.tq)
        if step != 1:
            raise ShapeError(f"rows={rows}", wanted="A slice with step 1")
        if top < 0:
            raise ScoringError(f"top={top}", wanted="How many of the largest weights to keep, 0 or more")
        span = slice(start, max(start, stop))
        check_block(bound, span, block)
        certifying = _certifying(bound, v, out)
        probe = certifying if isinstance(certifying, Probe) else None
        held, first = max(top, 1), first_keys(bound.visible)  # the largest weight is the first of the top
        wanted = Wanted(top=held, first=first, block=block, start=start, probe=probe)
        given = _given(bound, normaliser, span)
        return _Folding(bound, wanted, span, top, given, certifying, progress).summary()


@dataclass(frozen=True, eq=False)
class _Folding:
    """What a fold is given. normaliser: of the rows of `span`, or None; progress: see summarize.

    certifying: what a certificate is measured with, or the certificate where there is nothing to measure.
    """

    bound: Bound
    wanted: Wanted
    span: slice
    top: int
    normaliser: Normaliser | None
    certifying: Certificate | Probe | None
    progress: Progress | None

    def summary(self) -> Summary:
        """The summary, block of rows by block of rows."""
        bound, engine, start = self.bound, engine_of(self.bound), self.span.start
        keys = KeyStats(bound, rows=self.span, start=start, block=self.wanted.block)
        stats, sums, made = [no_rows_seen(bound, 0, self.wanted.top)], [], []
        blocks = row_blocks(bound, rows=self.span)
        for rows, share in zip(blocks, shares(bound, blocks), strict=True):
            own = slice(rows.start - start, rows.stop - start)
            given = self.normaliser.of_rows(own) if self.normaliser else engine.normaliser(bound, rows)
            states = engine.fold(bound, self.wanted, rows, given)
            keys.add(states.keys)
            stats.append(states.rows)
            made.append(given)
            if states.probed is not None:
                sums.append(states.probed)
            report(self.progress, share)
        return self._finished(over_rows(stats), keys, sums, one_after_another(bound, made))

    def _finished(self, stats: RowStats, keys: KeyStats, sums: list[ProbeSums], last: Normaliser) -> Summary:
        bound, dtype = self.bound, self.bound.dtype
        best = stats.top.keys
        weights = _weights_of(bound, stats.top.scores, best >= 0, last)
        undefined = stats.mass == 0
        empty = (bound.visible.count()[..., self.span] == 0).expand_as(stats.mass)
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
            start=self.span.start,
            block=keys.block,
            block_sum=None if keys.sums is None else keys.sums.to(dtype),
            block_max=None if keys.largest is None else keys.largest.to(dtype),
            block_seen=keys.counts,
            certificate=self._certificate(sums),
        )

    def _certificate(self, sums: list[ProbeSums]) -> Certificate | None:
        if not isinstance(self.certifying, Probe):
            return self.certifying
        b, h, device = self.bound.shape.b, self.bound.shape.h, self.bound.q.device
        nothing = ProbeSums.none(b, h, 0, self.certifying.count, device)
        whole = ProbeSums.over_rows([nothing, *sums])
        return conclude(self.bound, self.certifying, whole, start=self.span.start)


def _certifying(bound: Bound, v: Tensor | None, out: Tensor | None) -> Certificate | Probe | None:
    if v is None and out is None:
        return None
    if v is None or out is None:
        raise ShapeError(
            f"{'out' if v is None else 'v'} came alone",
            wanted="v and out together, for a certificate, or neither",
        )
    check_out(bound, v, out)
    return not_measured(bound) or probe(bound, v, out, seed=0)


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
