"""The walk over the tiles of the visible region: where all but the oracle get their scores."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from attnscope.core.normaliser import RowState, nothing_seen, of_sinks, of_tile
from attnscope.core.scores import Tile
from attnscope.core.scoring import Bound

TILE_CELLS = 2**19  # cells of a tile, all heads and batches together: grids of 2 MB in float32 stay in cache
TILE_ROWS = 128
LEAST_COLUMNS = 64
SHORT_GAP = 32  # columns: a hole this narrow costs less to compute than another tile


def walk(
    bound: Bound,
    *,
    rows: slice | None = None,
    heads: slice | None = None,
    batch: slice | None = None,
    tile_rows: int | None = None,
    tile_cols: int | None = None,
) -> Iterator[Tile]:
    """The tiles that hold every visible cell of these rows: row blocks in order, in each its columns too.

    A block of rows from which nothing is visible gives no tile. Tile.rows and Tile.cols are absolute; its
    tensors hold the asked heads and batches. A sliding window of w costs tq * w, not tq * tk.
    """
    for block in row_blocks(bound, rows=rows, tile_rows=tile_rows):
        yield from walk_columns(bound, block, heads=heads, batch=batch, tile_cols=tile_cols)


def row_blocks(bound: Bound, *, rows: slice | None = None, tile_rows: int | None = None) -> list[slice]:
    """The blocks of rows, in order, in which a walk goes."""
    start, stop, _ = (rows or slice(None)).indices(bound.shape.tq)
    step = tile_rows or _rows(bound)
    return [slice(i, min(i + step, stop)) for i in range(start, stop, step)]


def walk_columns(
    bound: Bound,
    rows: slice,
    *,
    heads: slice | None = None,
    batch: slice | None = None,
    tile_cols: int | None = None,
) -> Iterator[Tile]:
    """The tiles of one block of rows, columns in order."""
    for cols in column_blocks(bound, rows, heads=heads, batch=batch, tile_cols=tile_cols):
        yield bound.tile(rows, cols, heads=heads, batch=batch)


def column_blocks(
    bound: Bound,
    rows: slice,
    *,
    heads: slice | None = None,
    batch: slice | None = None,
    tile_cols: int | None = None,
) -> list[slice]:
    """The columns of the tiles of one block of rows, in order: none where nothing is visible."""
    step = tile_cols or _columns(bound, rows, heads, batch)
    ranges = bound.visible.ranges(rows, gap=SHORT_GAP)
    return [slice(j, min(j + step, hi)) for lo, hi in ranges for j in range(lo, hi, step)]


def state_of_rows(bound: Bound, rows: slice) -> RowState:
    """Peak and sum of a block of rows, the learned sinks included."""
    state = sinks_of_rows(bound, rows)
    if bound.arithmetic.subtract_max:
        return _state_at_final_peak(bound, rows, state)
    for tile in walk_columns(bound, rows):
        state = state.merge(of_tile(bound, tile))
    return state


def sinks_of_rows(bound: Bound, rows: slice) -> RowState:
    """The state of a block of rows before its first key: its learned sinks, or nothing seen."""
    nothing = _identity(bound, rows)
    return of_sinks(bound, nothing) or nothing


def _state_at_final_peak(bound: Bound, rows: slice, start: RowState) -> RowState:
    """As the model does it: the row's maximum first, then every score less that maximum, rounded."""
    peak = start.peak
    for tile in walk_columns(bound, rows):
        peak = torch.maximum(peak, tile.scores.detach().amax(dim=-1))
    sinks = of_sinks(bound, start, peak=peak)
    total = torch.zeros_like(peak) if sinks is None else sinks.total
    for tile in walk_columns(bound, rows):
        total = total + of_tile(bound, tile, peak).total
    return RowState(peak, total)


def _identity(bound: Bound, rows: slice) -> RowState:
    return nothing_seen(
        bound.shape.b, bound.shape.h, rows.stop - rows.start, dtype=bound.dtype, device=bound.q.device
    )


def _rows(bound: Bound) -> int:
    """Rows of a tile: fewer than TILE_ROWS, in sixteens, where so many heads would make it large."""
    most = 4 * TILE_CELLS // max(1, bound.shape.b * bound.shape.h * LEAST_COLUMNS)
    return min(TILE_ROWS, max(16, most // 16 * 16))


def _columns(bound: Bound, rows: slice, heads: slice | None, batch: slice | None) -> int:
    """Columns of a tile, so that it stays under TILE_CELLS."""
    count = len(range(*(heads or slice(None)).indices(bound.shape.h)))
    count *= len(range(*(batch or slice(None)).indices(bound.shape.b)))
    cells = max(1, count * (rows.stop - rows.start))
    columns: int = max(LEAST_COLUMNS, TILE_CELLS // cells // LEAST_COLUMNS * LEAST_COLUMNS)
    return columns
