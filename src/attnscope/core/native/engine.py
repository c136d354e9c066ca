"""The native engine: the passes of the seam, each one call of the library over a block of rows."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor

from attnscope.core.keystats import KeyStats
from attnscope.core.native.call import Array, Call, call_of, is_exact
from attnscope.core.native.library import Library
from attnscope.core.native.sums import can_sum, sums_call
from attnscope.core.normaliser import RowState, of_sinks
from attnscope.core.probe import STEPS, Probe, ProbeSums
from attnscope.core.rowstats import RowStats
from attnscope.core.scoring import Bound
from attnscope.core.seam import Pixels, States, Wanted
from attnscope.core.signs import RowSums, row_sums
from attnscope.core.tile import Normaliser
from attnscope.core.top import Top
from attnscope.core.walk import sinks_of_rows
from attnscope.shapes import Block

CELLS = 2**28
"""Visible cells of a block of rows, all heads together: about half a second."""

ALIGNED = 192
"""Rows: blocks are multiples of it, so that groups of 24 rows or 192 and blocks of 16 are whole."""

_ALL_ROWS, _ENTROPY = 1, 2  # of native/call.h


class Native:
    """Calls of the compiled library. It takes what `call.can_take` says."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def isa(self) -> str:
        """Its instruction set. Raises EngineError where ATTNSCOPE_ISA names another machine's."""
        return self._library.isa()

    def blocks(self, bound: Bound, rows: slice | None = None) -> list[slice]:
        """Blocks of rows of about as many visible cells each."""
        start, stop, _ = (rows or slice(None)).indices(bound.shape.tq)
        if stop <= start:
            return []
        seen, heads = bound.visible, bound.shape.b * bound.shape.h
        if (stop - start) * (heads * seen.lo.shape[-1] * bound.shape.tk + 1) < CELLS:
            return [slice(start, stop)]  # however much is visible: looking costs more than a short call
        wide = (seen.hi - seen.lo)[:, :, start:stop].clamp(min=0).sum(dim=-1)  # (b|1 h|1 r)
        cells = (wide.double().mean(dim=(0, 1)) * heads + 1).cumsum(0)
        which = (cells / CELLS).long()
        cuts = {int(cut) // ALIGNED * ALIGNED for cut in which.diff().nonzero()[:, 0] + 1} - {0}
        edges = [start, *(start + cut for cut in sorted(cuts)), stop]
        return [slice(a, b) for a, b in pairwise(edges)]

    def normaliser(self, bound: Bound, rows: slice) -> Normaliser:
        """Pass 1: the normaliser of these rows, their learned sinks included."""
        call = call_of(bound, rows)
        given = _normalising(call, bound)
        if not call.rounding.subtracted:
            self._library.run(call, "normalise")
            return given
        start = sinks_of_rows(bound, rows)  # the row's maximum first, the sink's logit included
        total = torch.empty_like(given.peak, dtype=torch.float64)
        call.hold(start=start.peak.contiguous(), total=total)
        self._library.run(call, "normalise")
        state = RowState(given.peak, total.to(given.peak.dtype))
        sinks = of_sinks(bound, start, peak=given.peak)
        return (state if sinks is None else RowState(state.peak, state.total + sinks.total)).normaliser()

    def probe(self, bound: Bound, probe: Probe, rows: slice, given: Normaliser) -> ProbeSums:
        """What a certificate of these rows is made of."""
        call = _weighing(bound, rows, given)
        sums = _Sums(call, probe, bound, rows)
        self._library.run(call, "fold")
        return sums.finished(given)

    def fold(self, bound: Bound, wanted: Wanted, rows: slice, given: Normaliser) -> States:
        """Pass 2: everything else."""
        return self._fold(_weighing(bound, rows, given), bound, wanted, given, "fold")

    def both(self, bound: Bound, wanted: Wanted, rows: slice) -> tuple[Normaliser, States]:
        """Both passes, where the normaliser is not known: q.k is computed once, and a few rows of it kept
        between the two, unless pass 2 needs more of it than the scores.
        """
        scores_do = wanted.probe is None or wanted.probe.plain
        call = call_of(bound, rows)
        if call.rounding.subtracted or not scores_do:
            given = self.normaliser(bound, rows)
            return given, self.fold(bound, wanted, rows, given)
        given = _normalising(call, bound)
        call.hold(peak=given.peak, logsum=given.logsum)
        return given, self._fold(call, bound, wanted, given, "both")

    def output(self, bound: Bound, v: Tensor, rows: slice, into: Tensor) -> Normaliser:
        """Writes the out of these rows into float32 memory (b h r dv), and gives the normaliser it made."""
        call = call_of(bound, rows)
        if is_exact(call):
            given = _normalising(call, bound)
        else:  # weights are rounded as the model rounds them, which needs the final normaliser first
            given = self.normaliser(bound, rows)
            call.hold(peak=given.peak.contiguous(), logsum=given.logsum.contiguous())
        call.v, call.out, call.dv = Array.of(v.detach()), Array.of(into), v.shape[-1]
        call.held.extend((v, into))
        self._library.run(call, "output")
        return given

    def weights(self, bound: Bound, rows: slice, cols: slice, given: Normaliser) -> Block:
        """The weights of a block, (b h r c): each score is summed in the order of the width, whatever is
        beside it.
        """
        call = _weighing(bound, rows, given.of_rows(rows))
        call.col_first, call.col_stop = cols.start, cols.stop
        size = (call.b, call.h, rows.stop - rows.start, cols.stop - cols.start)
        block = torch.zeros(size)
        call.hold(weights=block)
        self._library.run(call, "weigh")
        return block

    def row_sums(
        self, x: Tensor, signs: Tensor | None = None, *, squares: bool = False, places: bool = False
    ) -> RowSums:
        """Sums over the rows of any tensor; torch makes those of other dtypes and devices."""
        if not can_sum(x):
            return row_sums(x, signs, squares=squares, places=places)
        found = RowSums.empty(x, signs, squares=squares, places=places)
        signs = None if signs is None else signs.contiguous()
        self._library.sums(sums_call(x, signs, found))
        return found

    def pixels(self, bound: Bound, rows: slice, cols: slice, given: Normaliser, cells: int) -> Pixels:
        """Sums and maxima over squares of cells: a fold of these keys that wants nothing else."""
        call = _weighing(bound, rows, given.of_rows(rows))
        call.col_first, call.col_stop = cols.start, cols.stop
        keys = KeyStats(bound, rows=rows, cols=cols, start=0, block=cells)
        _point_to(call, keys)
        call.bins = 0  # of distances
        self._library.run(call, "fold")
        sums, maxima = keys.blocks
        return Pixels(sums, maxima)

    def _fold(self, call: Call, bound: Bound, wanted: Wanted, given: Normaliser, name: str) -> States:
        rows = slice(call.first, call.stop)
        sums = None if wanted.probe is None else _Sums(call, wanted.probe, bound, rows)
        cols = slice(0, bound.shape.tk)
        keys = wanted.keys or KeyStats(
            bound, rows=rows, cols=cols, start=wanted.start, block=wanted.block, counted=not wanted.brief
        )
        mass, plogp, mean, scatter, first = torch.zeros(5, *given.peak.shape, dtype=torch.float64)
        top = _top(call, given, wanted)
        call.hold(mass=mass, plogp=plogp, mean=mean, scatter=scatter, at_first=first)
        _point_to(call, keys)
        if wanted.brief:
            call.want_rows, call.bins = _ENTROPY, 0
        self._library.run(call, name)
        peak, logsum = given.peak.double(), given.logsum.double()
        stats = RowStats(peak, logsum, mass, plogp, mean, scatter, first, top)
        return States(stats, keys, None if sums is None else sums.finished(given))


def _normalising(call: Call, bound: Bound) -> Normaliser:
    """The normaliser of the rows of a call, in memory that the engine fills."""
    peak, sinks = torch.empty(call.b, call.h, call.stop - call.first), bound.sinks()
    given = Normaliser(peak, torch.empty_like(peak))
    call.hold(peak_out=given.peak, logsum_out=given.logsum)
    if sinks is not None:
        call.hold(sinks=sinks.detach().contiguous())
    return given


def _weighing(bound: Bound, rows: slice, given: Normaliser) -> Call:
    """A call of pass 2."""
    call = call_of(bound, rows)
    call.hold(peak=given.peak.detach().contiguous(), logsum=given.logsum.detach().contiguous())
    return call


def _top(call: Call, given: Normaliser, wanted: Wanted) -> Top:
    """The largest scores of rows, in memory that the engine fills."""
    scores = torch.empty(*given.peak.shape, wanted.top, dtype=torch.float32)
    keys = torch.empty(*given.peak.shape, wanted.top, dtype=torch.int64)
    call.want_rows, call.top = _ALL_ROWS, wanted.top
    call.hold(top_scores=scores, top_keys=keys, first_key=wanted.first.contiguous())
    return Top(scores, keys)


def _point_to(call: Call, keys: KeyStats) -> None:
    """Lets the engine add to statistics of keys, which begin at 0."""
    call.want_keys, call.bins = 1, keys.by_distance.shape[-1]
    call.key_first, call.key_count = keys.cols.start, keys.cols.stop - keys.cols.start
    call.hold(received=keys.received, by_distance=keys.by_distance)
    if keys.block is None or keys.sums is None or keys.largest is None:
        return
    call.block, call.block_start = keys.block, keys.start
    call.block_top, call.block_left = (
        (keys.rows.start - keys.start) // keys.block,
        keys.cols.start // keys.block,
    )
    call.block_rows, call.block_cols = keys.sums.shape[-2:]
    call.hold(block_sum=keys.sums, block_max=keys.largest)


class _Sums:
    """The sums of a certificate, in memory that the engine fills, and what is made of them."""

    def __init__(self, call: Call, probe: Probe, bound: Bound, rows: slice) -> None:
        b, h, r, n = bound.shape.b, bound.shape.h, rows.stop - rows.start, probe.count
        self._probe, self._asked, self._tilted_by_logs = probe, probe.asked[:, :, rows], probe.plain
        self._tilted_by_logs &= is_exact(call)
        sizes = (4 + 2 * n, 1 + n, 2 + n if probe.added else 0)
        self._sums, self._tilts, self._squares = (
            torch.zeros(b, h, r, size, dtype=torch.float64) for size in sizes
        )
        self._largest, self._lost = torch.zeros(b, h, r), torch.zeros(b, h, r, dtype=torch.uint8)
        call.along_count, call.signs = sizes[0], n
        call.plain, call.added = int(probe.plain), int(probe.added)
        call.hold(along=probe.along_keys.float().contiguous())
        if probe.lost is not None:
            call.hold(lost=probe.lost.contiguous())
        call.hold(probe_sums=self._sums, probe_tilts=self._tilts, probe_squares=self._squares)
        call.hold(probe_largest=self._largest, probe_lost=self._lost)

    def finished(self, given: Normaliser) -> ProbeSums:
        """As Probe.of_tile has it; given: the normaliser of the rows."""
        n = self._probe.count
        sums, longer = self._sums[..., : 2 + n], self._sums[..., 2 + n :]
        tilts: Tensor = self._tilts
        if self._tilted_by_logs:  # score = log w + level
            level = given.peak.masked_fill(given.peak == -torch.inf, 0.0).double() + given.logsum.double()
            tilts = tilts + level[..., None] * sums[..., : n + 1]
        drift = STEPS**2 * sums + self._asked[..., None] * longer
        return ProbeSums(
            mass=sums[..., 0],
            largest=self._largest.double(),
            second=sums[..., n + 1],
            tilt=tilts[..., 0],
            first=sums[..., 1 : n + 1].masked_fill(self._lost.bool()[..., None], torch.nan),
            tilted=tilts[..., 1:],
            drift=drift + self._squares if self._probe.added else drift,
        )
