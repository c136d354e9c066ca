"""The engine of plain torch: one tile at a time, for every scoring, dtype and device."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from attnscope.core.keystats import KeyStats, by_blocks
from attnscope.core.probe import Probe, ProbeSums
from attnscope.core.room import Room
from attnscope.core.rowstats import no_rows_seen, row_stats
from attnscope.core.scoring import Bound
from attnscope.core.seam import Pixels, States, Wanted
from attnscope.core.signs import RowSums, row_sums
from attnscope.core.tile import Normaliser, weigh, weighed
from attnscope.core.walk import row_blocks, state_of_rows, walk_columns
from attnscope.shapes import Block

ROWS, COLUMNS = 64, 512
"""Rows and columns of the tiles that blocks of weights are cut from. A matrix product gives other last bits
in other shapes: so these tiles stand at fixed places."""


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
        keys = wanted.keys or KeyStats(bound, rows=rows, cols=cols, start=wanted.start, block=wanted.block)
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

    def weights(self, bound: Bound, rows: slice, cols: slice, given: Normaliser) -> Block:
        """The weights of a block, (b h r c), cut from tiles at fixed places."""
        size = (bound.shape.b, bound.shape.h, rows.stop - rows.start, cols.stop - cols.start)
        block = torch.zeros(size, dtype=bound.dtype, device=bound.q.device)
        seen = bound.visible.ranges(rows)
        for i in _places(rows, bound.shape.tq, ROWS):
            for j in _places(cols, bound.shape.tk, COLUMNS):
                if not any(lo < j.stop and j.start < hi for lo, hi in seen):
                    continue
                tile, own = bound.tile(i, j), given.of_rows(i)
                found = weigh(bound, tile, own.peak, own.logsum)
                down, along = _overlap(rows, i), _overlap(cols, j)
                block[..., _from(rows, down), _from(cols, along)] = found[
                    ..., _from(i, down), _from(j, along)
                ]
        return block

    def row_sums(
        self, x: Tensor, signs: Tensor | None = None, *, squares: bool = False, places: bool = False
    ) -> RowSums:
        """Sums over the rows of any tensor, in float64."""
        return row_sums(x, signs, squares=squares, places=places)

    def pixels(self, bound: Bound, rows: slice, cols: slice, given: Normaliser, cells: int) -> Pixels:
        """Sums and maxima over squares of cells, from blocks of weights at fixed places."""
        high, wide = (slice(cut.start // cells, -(-cut.stop // cells)) for cut in (rows, cols))
        size = (bound.shape.b, bound.shape.h, high.stop - high.start, wide.stop - wide.start)
        sums = torch.zeros(size, dtype=torch.float64, device=bound.q.device)
        found = Pixels(sums, torch.zeros_like(sums))
        for i in _places(rows, bound.shape.tq, ROWS):
            for j in _places(cols, bound.shape.tk, COLUMNS):
                down, along = _overlap(rows, i), _overlap(cols, j)
                block = self.weights(bound, down, along, given)
                sums, maxima = (
                    by_blocks(by_blocks(block, -2, down.start, cells, how), -1, along.start, cells, how)
                    for how in (torch.sum, torch.amax)
                )
                top, left = down.start // cells - high.start, along.start // cells - wide.start
                here = (..., slice(top, top + sums.shape[-2]), slice(left, left + sums.shape[-1]))
                found.sums[here] += sums
                found.maxima[here] = torch.maximum(found.maxima[here], maxima.double())
        return found


def _places(asked: slice, size: int, step: int) -> list[slice]:
    """Stretches of `step` from 0 on, which hold what was asked for."""
    first = asked.start // step * step if asked.start < asked.stop else asked.stop
    return [slice(i, min(i + step, size)) for i in range(first, asked.stop, step)]


def _overlap(one: slice, other: slice) -> slice:
    return slice(max(one.start, other.start), min(one.stop, other.stop))


def _from(whole: slice, part: slice) -> slice:
    """A part of a span, counted from where the span begins."""
    return slice(part.start - whole.start, part.stop - whole.start)


def _wide(given: Normaliser) -> Normaliser:
    return Normaliser(given.peak.double(), given.logsum.double())


def _no_sums(bound: Bound, probe: Probe, rows: slice) -> ProbeSums:
    return ProbeSums.none(bound.shape.b, bound.shape.h, rows.stop - rows.start, probe.count, bound.q.device)
