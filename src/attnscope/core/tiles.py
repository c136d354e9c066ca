"""The engine of plain torch: one tile at a time, for every scoring, dtype and device."""

from __future__ import annotations

from dataclasses import replace

from attnscope.core.keystats import KeyStats
from attnscope.core.probe import Probe, ProbeSums
from attnscope.core.room import Room
from attnscope.core.rowstats import no_rows_seen, row_stats
from attnscope.core.scoring import Bound
from attnscope.core.seam import States, Wanted
from attnscope.core.tile import Normaliser, weighed
from attnscope.core.walk import row_blocks, state_of_rows, walk_columns


class Tiles:
    """A few passes of whole-tile operations over each tile."""

    def blocks(self, bound: Bound, rows: slice | None = None) -> list[slice]:
        """Blocks of rows as high as a tile."""
        return row_blocks(bound, rows=rows)

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

    def both(self, bound: Bound, wanted: Wanted, rows: slice) -> tuple[Normaliser, States]:
        """Both passes, where the normaliser is not known."""
        given = self.normaliser(bound, rows)
        return given, self.fold(bound, wanted, rows, given)


def _wide(given: Normaliser) -> Normaliser:
    return Normaliser(given.peak.double(), given.logsum.double())


def _no_sums(bound: Bound, probe: Probe, rows: slice) -> ProbeSums:
    return ProbeSums.none(bound.shape.b, bound.shape.h, rows.stop - rows.start, probe.count, bound.q.device)
