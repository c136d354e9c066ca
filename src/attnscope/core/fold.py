"""The summary of a call: one walk over its visible tiles, row by row block, and what each tile adds to
three states.

Pass 1 over a block of rows makes its normaliser, where none is given; pass 2 makes everything else.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from attnscope.core.arithmetic import rounded
from attnscope.core.certificate import Certificate, check_out, conclude, not_measured
from attnscope.core.keystats import KeyStats
from attnscope.core.mask import Mask
from attnscope.core.probe import Probe, ProbeSums, probe
from attnscope.core.rowstats import RowStats, first_keys, no_rows_seen, over_rows, row_stats
from attnscope.core.scoring import Bound, Scoring, as_scoring
from attnscope.core.summary import Summary
from attnscope.core.tile import Normaliser, shifted, weigh
from attnscope.core.walk import row_blocks, state_of_rows, walk_columns
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
) -> Summary:
    """The attention of one call in O(T) numbers, never its grid; tiles in which nothing is visible are
    not computed.

    q: (b h tq d), k: (b hk tk d). rows: a slice of absolute rows, which the summary is then of. top:
    how many of the largest weights of each row to keep. block: sums and maxima over blocks of so many
    rows and keys. With v and the model's own out, both (all rows), comes a certificate. normaliser:
    that of all rows, or of `rows`, where known.

    Raises ShapeError, DtypeError, MaskError or ScoringError, and TooLarge where `block` would make a grid.
    """
    with torch.no_grad(), torch.autocast(q.device.type, enabled=False):
        bound = as_scoring(scoring).bind(q, k)
        start, stop, step = (rows or slice(None)).indices(bound.shape.tq)
        if step != 1:
            raise ShapeError(f"rows={rows}", wanted="A slice with step 1")
        if top < 0:
            raise ScoringError(f"top={top}", wanted="How many of the largest weights to keep, 0 or more")
        span = slice(start, max(start, stop))
        folding = _Folding(
            bound=bound,
            certifying=_certifying(bound, v, out),
            given=_given(bound, normaliser, span),
            keys=KeyStats(bound, rows=span, block=block),
            first=first_keys(bound.visible),
            start=start,
            top=top,
        )
        return folding.summary(row_blocks(bound, rows=span))


@dataclass(frozen=True, eq=False)
class _Folding:
    """What a fold carries from tile to tile. given: the normaliser of the rows from `start` on, or None.

    certifying: what a certificate is measured with, or the certificate where there is nothing to measure.
    """

    bound: Bound
    certifying: Certificate | Probe | None
    given: Normaliser | None
    keys: KeyStats
    first: Tensor
    start: int
    top: int

    def summary(self, blocks: list[slice]) -> Summary:
        """The summary over blocks of rows."""
        stats, sums, made = [self._nothing(0)], [self._no_sums(0)], [self._no_normaliser()]
        for rows in blocks:
            given = self._normaliser(rows)
            seen, probed = self._rows(rows, given)
            stats.append(seen)
            sums.append(probed)
            made.append(given)
        peak, logsum = (
            torch.cat([getattr(one, name) for one in made], dim=-1) for name in ("peak", "logsum")
        )
        return self._finished(over_rows(stats), ProbeSums.over_rows(sums), Normaliser(peak, logsum))

    def _rows(self, rows: slice, given: Normaliser) -> tuple[RowStats, ProbeSums]:
        bound, size = self.bound, rows.stop - rows.start
        stats, sums = self._nothing(size), self._no_sums(size)
        for tile in walk_columns(bound, rows):
            weights = weigh(bound, tile, given.peak, given.logsum)
            top = max(self.top, 1)
            new = row_stats(bound, tile, weights, given.peak, given.logsum, top=top, first=self.first)
            stats = stats.merge(new)
            self.keys.take(tile, weights)
            if isinstance(self.certifying, Probe):
                sums = sums.merge(self.certifying.of_tile(tile, weights))
        return stats, sums

    def _finished(self, stats: RowStats, sums: ProbeSums, last: Normaliser) -> Summary:
        bound, keys, dtype = self.bound, self.keys, self.bound.dtype
        rows = slice(self.start, self.start + last.peak.shape[-1])
        stats = stats.relative_to(last.peak.double(), last.logsum.double())
        best = stats.top.keys
        weights = _weights_of(bound, stats.top.scores, best >= 0, last)
        undefined = stats.mass == 0
        empty = (bound.visible.count()[..., rows] == 0).expand_as(stats.mass)
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
            empty_rows=empty.sum(dim=-1),
            start=self.start,
            block=keys.block,
            block_sum=None if keys.sums is None else keys.sums.to(dtype),
            block_max=None if keys.largest is None else keys.largest.to(dtype),
            block_seen=keys.counts,
            certificate=self._certificate(sums),
        )

    def _certificate(self, sums: ProbeSums) -> Certificate | None:
        if isinstance(self.certifying, Probe):
            return conclude(self.bound, self.certifying, sums, start=self.start)
        return self.certifying

    def _normaliser(self, rows: slice) -> Normaliser:
        if self.given is None:
            return state_of_rows(self.bound, rows).normaliser()
        cut = slice(rows.start - self.start, rows.stop - self.start)
        return Normaliser(self.given.peak[..., cut], self.given.logsum[..., cut])

    def _nothing(self, size: int) -> RowStats:
        return no_rows_seen(self.bound, size, max(self.top, 1))

    def _no_sums(self, size: int) -> ProbeSums:
        probes = self.certifying.count if isinstance(self.certifying, Probe) else 0
        return ProbeSums.none(self.bound.shape.b, self.bound.shape.h, size, probes, self.bound.q.device)

    def _no_normaliser(self) -> Normaliser:
        none = self.bound.q.new_zeros(self.bound.shape.b, self.bound.shape.h, 0, dtype=self.bound.dtype)
        return Normaliser(none, none)


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
        return Normaliser(normaliser.peak[..., rows], normaliser.logsum[..., rows])
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
