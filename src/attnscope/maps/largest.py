"""The largest cells of a head, found through the maxima of the pixels that are kept, then computed."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from attnscope.core.top import top_of
from attnscope.errors import RecordingError
from attnscope.maps.head import COLUMNS, Head
from attnscope.maps.pyramid import Pyramid

MOST = 10_000
"""Cells that a list may hold."""

AROUND = (64, 512)
"""Rows and columns of an area whose cells are computed together."""

Area = tuple[slice, slice]
"""Rows and columns of cells."""

SMALLEST = torch.finfo(torch.float32).smallest_normal


@dataclass(frozen=True)
class Large:
    """weight: as the recording shows it, of row i and column j."""

    weight: float
    i: int
    j: int


@dataclass(frozen=True)
class _Left:
    """Which cells are left out: the first key that any row sees, and keys closer than `near` positions."""

    head: Head
    first: int | None
    near: int

    def columns(self, rows: slice, base: int) -> list[slice]:
        """The columns, in whole pixels, in which a cell of these rows may be left out."""
        found = [] if self.first is None else [(self.first, self.first + 1)]
        if self.near:
            offset = self.head.offset or 0
            found.append((rows.start + offset - self.near + 1, rows.stop + offset + self.near - 1))
        cut: list[slice] = []
        for lo, hi in sorted(found):
            lo, hi = max(lo, 0) // base * base, min(-(-hi // base) * base, self.head.tk)
            if cut and lo <= cut[-1].stop:
                lo, hi = cut[-1].start, max(hi, cut.pop().stop)
            if lo < hi:
                cut.append(slice(lo, hi))
        return cut

    def out_of(self, weights: Tensor, rows: slice, cols: slice) -> Tensor:
        """The block with -1 where a cell is left out or is no number."""
        i, j = (torch.arange(cut.start, cut.stop) for cut in (rows, cols))
        out = weights.isnan()
        if self.first is not None:
            out = out | (j == self.first)
        if self.near:
            out = out | ((i[:, None] + (self.head.offset or 0) - j).abs() < self.near)
        return weights.masked_fill(out, -1.0)


def largest_cells(pyramid: Pyramid, n: int = 20, *, skip_first: bool = False, near: int = 0) -> list[Large]:
    """The n largest weights of a head with their cells, largest first, fewer where fewer are above 0.

    skip_first: leave out the first key that any row sees (the first token, past the padding on its left).
    near: leave out keys closer than so many positions to their query: 1 leaves out the query's own, 2 its
    neighbours too. Of equal weights the upper left come first. What is kept is float32: weights of float64
    are told apart no finer where the list ends.

    Raises RecordingError for what cannot be counted, and where `near` is asked of cross attention.
    """
    if not 1 <= n <= MOST:
        raise RecordingError(f"n={n}", wanted=f"1 to {MOST:,} cells")
    if near < 0 or (near and pyramid.head.offset is None):
        raise RecordingError(
            f"near={near}", wanted="0 or more, and 0 in cross attention, whose rows and columns are apart"
        )
    near = min(near, 2**62)  # past any distance, and within what a tensor holds
    left = _Left(pyramid.head, _first_key(pyramid) if skip_first else None, near)
    clean = _top_pixels(pyramid, n, left)
    found = _largest(
        (cell for area, meant in _gathered(clean) for cell in _cells(pyramid, area, left, n, meant)), n
    )
    least = found[-1].weight if len(found) == n else 0.0
    mixed = (cell for area in _mixed(pyramid, left, least) for cell in _cells(pyramid, area, left, n))
    return _largest(itertools.chain(found, mixed), n)


def _first_key(pyramid: Pyramid) -> int:
    runs = pyramid.head.visible.ranges(slice(0, pyramid.head.tq))
    first = runs[0][0] if runs else 0
    valid = pyramid.head.visible.valid
    return first if valid is None else first + int(valid[0, first:].to(torch.uint8).argmax())


def _top_pixels(pyramid: Pyramid, n: int, left: _Left) -> list[Area]:
    """The places of the n pixels of the base with the largest maxima, no cell of which is left out."""
    base, size = pyramid.base, pyramid.geometry.base
    best: list[tuple[float, int, int]] = []
    for at, band in enumerate(base.bands):
        top = at * base.height
        without = left.columns(_rows_of(pyramid, at), size)
        for run in band:
            largest = run.values[1].nan_to_num(nan=-1.0)
            for cut in without:
                largest = _hidden(largest, run.first, cut, size)
            flat = top_of(largest.reshape(1, 1, 1, -1), n)
            wide = largest.shape[1]
            for value, place in zip(flat.scores[0, 0, 0].tolist(), flat.keys[0, 0, 0].tolist(), strict=True):
                if value <= 0:
                    break
                best.append((-value, top + place // wide, run.first + place % wide))
        best = sorted(best)[:n]
    return [
        (_cut(row * size, size, pyramid.head.tq), _cut(col * size, size, pyramid.head.tk))
        for _, row, col in best
    ]


def _hidden(largest: Tensor, first: int, cut: slice, size: int) -> Tensor:
    start, stop = cut.start // size - first, -(-cut.stop // size) - first
    if stop <= 0 or start >= largest.shape[1]:
        return largest
    largest = largest.clone()
    largest[:, max(start, 0) : stop] = -1.0
    return largest


def _mixed(pyramid: Pyramid, left: _Left, least: float) -> Iterator[Area]:
    """Stretches in which some cells are left out or no numbers, and others may be as large as `least`."""
    base, size = pyramid.base, pyramid.geometry.base
    for at, band in enumerate(base.bands):
        rows = _rows_of(pyramid, at)
        if any(bool(run.values[1].isnan().any()) for run in band):
            yield from _beside_nan(pyramid, rows)
            continue
        top = slice(at * base.height, at * base.height + -(-(rows.stop - rows.start) // size))
        for cols in left.columns(rows, size):
            for first in range(cols.start, cols.stop, COLUMNS):
                piece = _cut(first, COLUMNS, cols.stop)
                largest = base.block(top, slice(first // size, -(-piece.stop // size)))[1]
                if bool((largest >= max(least, SMALLEST)).any()):
                    yield rows, piece


def _beside_nan(pyramid: Pyramid, rows: slice) -> Iterator[Area]:
    """The rows of a band that hold numbers, whole: a row with one NaN has NaN alone."""
    sound = (~pyramid.sides.entropy[rows].isnan()).int()
    edges = torch.nn.functional.pad(sound, (1, 1)).diff().nonzero()[:, 0].tolist()
    for first, stop in zip(edges[::2], edges[1::2], strict=True):
        stretch = slice(rows.start + first, rows.start + stop)
        for run in pyramid.head.runs(stretch):
            for start in range(run.start, run.stop, COLUMNS):
                yield stretch, _cut(start, COLUMNS, run.stop)


def _gathered(places: list[Area]) -> Iterator[tuple[Area, Tensor]]:
    """Places that lie close together: the area around them, and which of its cells are meant."""
    blocks: dict[tuple[int, int], list[Area]] = {}
    for rows, cols in places:
        blocks.setdefault((rows.start // AROUND[0], cols.start // AROUND[1]), []).append((rows, cols))
    for block in blocks.values():
        top, left = (min(place[side].start for place in block) for side in (0, 1))
        end, right = (max(place[side].stop for place in block) for side in (0, 1))
        meant = torch.zeros(end - top, right - left, dtype=torch.bool)
        for rows, cols in block:
            meant[rows.start - top : rows.stop - top, cols.start - left : cols.stop - left] = True
        yield (slice(top, end), slice(left, right)), meant


def _cells(pyramid: Pyramid, area: Area, left: _Left, n: int, meant: Tensor | None = None) -> Iterator[Large]:
    """The n largest cells above 0 of an area that are not left out, and of these the ones that are meant."""
    rows, cols = area
    block = left.out_of(pyramid.head.weights(rows, cols), rows, cols)
    if meant is not None:
        block = block.masked_fill(~meant, -1.0)
    flat = top_of(block.reshape(1, 1, 1, -1), min(n, block.numel()))
    wide = cols.stop - cols.start
    for value, place in zip(flat.scores[0, 0, 0].tolist(), flat.keys[0, 0, 0].tolist(), strict=True):
        if value <= 0:
            break
        yield Large(value, rows.start + place // wide, cols.start + place % wide)


def _largest(cells: Iterable[Large], n: int) -> list[Large]:
    return sorted(set(cells), key=lambda cell: (-cell.weight, cell.i, cell.j))[:n]


def _rows_of(pyramid: Pyramid, band: int) -> slice:
    height = pyramid.base.height * pyramid.geometry.base
    return _cut(band * height, height, pyramid.head.tq)


def _cut(start: int, step: int, size: int) -> slice:
    return slice(start, min(start + step, size))
