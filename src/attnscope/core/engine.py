"""The seam behind which tiles are walked: what an engine must be able to do, and which one does it.

Everything that is made of scores and is not the oracle's comes through here or through `walk` itself:
normalisers, certificates and summaries. The engine below is of plain torch, for every scoring and device.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor

from attnscope.core.keystats import KeyStats
from attnscope.core.mask import Mask
from attnscope.core.probe import Probe, ProbeSums
from attnscope.core.room import Room
from attnscope.core.rowstats import RowStats, no_rows_seen, row_stats
from attnscope.core.scoring import Bound, Scoring, as_scoring
from attnscope.core.tile import Normaliser, weighed
from attnscope.core.walk import row_blocks, state_of_rows, walk_columns
from attnscope.shapes import Key, Query


@dataclass(frozen=True, eq=False)
class Wanted:
    """What a fold is to make of each block of rows.

    top: how many of the largest scores of a row.   first: for each batch the first key, (b).   block: of
    block sums and maxima, or None.   start: the row that blocks are counted from.   probe: what a
    certificate is measured with, or None.
    """

    top: int
    first: Tensor
    block: int | None
    start: int
    probe: Probe | None


class States(NamedTuple):
    """What a fold made of a block of rows: of each row, of each key, and for the certificate."""

    rows: RowStats
    keys: KeyStats
    probed: ProbeSums | None


@runtime_checkable
class Engine(Protocol):
    """What walks the tiles of a call. Every method takes a slice of absolute rows and visits no tile in
    which nothing is visible; normalisers are of those rows, (b h r) each in the compute dtype."""

    def normaliser(self, bound: Bound, rows: slice) -> Normaliser:
        """Pass 1: the normaliser of these rows, their learned sinks included."""

    def probe(self, bound: Bound, probe: Probe, rows: slice, given: Normaliser) -> ProbeSums:
        """What a certificate of these rows is made of."""

    def fold(self, bound: Bound, wanted: Wanted, rows: slice, given: Normaliser) -> States:
        """Pass 2: everything else."""


class Tiles:
    """The engine of plain torch: one tile at a time, a few passes of whole-tile operations each."""

    def normaliser(self, bound: Bound, rows: slice) -> Normaliser:
        """Pass 1: the normaliser of these rows, their learned sinks included."""
        return state_of_rows(bound, rows).normaliser()

    def probe(self, bound: Bound, probe: Probe, rows: slice, given: Normaliser) -> ProbeSums:
        """What a certificate of these rows is made of."""
        sums, wide, room = _no_sums(bound, probe, rows), _wide(given), Room()
        for tile in walk_columns(bound, rows):
            seen = weighed(bound, tile, given, room)
            sums = sums.merge(probe.of_tile(tile, seen, wide))
        return sums

    def fold(self, bound: Bound, wanted: Wanted, rows: slice, given: Normaliser) -> States:
        """Pass 2: everything else."""
        wide, size, room = _wide(given), rows.stop - rows.start, Room()
        stats = no_rows_seen(bound, size, wanted.top).relative_to(wide.peak, wide.logsum)
        cols = slice(*bound.visible.bounds(rows))
        keys = KeyStats(bound, rows=rows, cols=cols, start=wanted.start, block=wanted.block)
        probed = None if wanted.probe is None else _no_sums(bound, wanted.probe, rows)
        for tile in walk_columns(bound, rows):
            top = stats.top.after(tile.scores, tile.cols.start)
            seen = weighed(bound, tile, given, room)
            new = row_stats(bound, tile, seen, wide, first=wanted.first)
            stats = replace(stats.merge(new), top=top)
            keys.take(tile, seen)
            if probed is not None and wanted.probe is not None:
                probed = probed.merge(wanted.probe.of_tile(tile, seen, wide))
        return States(stats, keys, probed)


def engine_of(bound: Bound) -> Engine:
    """The engine for a call: the one place where it is chosen."""
    return Tiles()


def normaliser(
    q: Query, k: Key, scoring: Scoring | Mask | None = None, rows: slice | None = None
) -> Normaliser:
    """The normaliser of every row, (b h r) each, by tiles: memory O(T), never the grid.

    rows: a slice of absolute rows, None for all. Raises ShapeError, DtypeError, MaskError or ScoringError.
    """
    return normaliser_of(as_scoring(scoring).bind(q, k), rows=rows)


def normaliser_of(bound: Bound, *, rows: slice | None = None) -> Normaliser:
    """The normaliser of a scoring already bound: (b h r) each, memory O(T)."""
    engine = engine_of(bound)
    return one_after_another(
        bound, [engine.normaliser(bound, block) for block in row_blocks(bound, rows=rows)]
    )


def one_after_another(bound: Bound, parts: Iterable[Normaliser]) -> Normaliser:
    """The normalisers of blocks of rows, in order, as one."""
    none = bound.q.new_zeros(bound.shape.b, bound.shape.h, 0, dtype=bound.dtype)
    both = [(none, none), *((part.peak, part.logsum) for part in parts)]
    peak, logsum = (torch.cat(one, dim=-1) for one in zip(*both, strict=True))
    return Normaliser(peak, logsum)


def _wide(given: Normaliser) -> Normaliser:
    return Normaliser(given.peak.double(), given.logsum.double())


def _no_sums(bound: Bound, probe: Probe, rows: slice) -> ProbeSums:
    return ProbeSums.none(bound.shape.b, bound.shape.h, rows.stop - rows.start, probe.count, bound.q.device)
