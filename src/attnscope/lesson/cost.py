"""What attention costs: cells and bytes of the grid, of tiles in its place, and of a sliding window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from attnscope.core.dense import steps
from attnscope.core.mask import Mask
from attnscope.core.masks import full, window
from attnscope.core.scoring import Bound, as_scoring
from attnscope.core.tiled import by_tiles
from attnscope.core.walk import column_blocks, row_blocks
from attnscope.lesson.drawn import normal
from attnscope.lesson.experiment import Experiment, Table
from attnscope.lesson.given import check_ascending, check_whole, checked
from attnscope.looks.numbers import count, number, size

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LENGTHS = tuple(2**power for power in range(6, 18))  # 64 to 131,072 tokens
WINDOWS = tuple(2**power for power in range(5, 13))  # 32 to 4,096 keys
LONGEST = 2**20  # a longer one takes seconds and hundreds of MB to count
_FLOAT32 = 4  # bytes
_COMPARED = 1024  # tokens at which tiles are held against the grid


@dataclass(frozen=True)
class Family:
    """One of the two ways out of the square: what it does, gives and costs, and where it is found."""

    name: str
    does: str
    gives: str
    memory: str
    cells: str
    found: str


FAMILIES = (
    Family(
        "tiled exact attention",
        "goes over the grid a tile at a time and keeps two numbers a row",
        "the same output",
        "grows with T",
        "T × T",
        "FlashAttention, PyTorch’s scaled_dot_product_attention, attnscope.attention",
    ),
    Family(
        "restricted patterns",
        "leaves cells out: a sliding window, strides, blocks",
        "another output: the model is trained so",
        "grows with T",
        "T × w for a window of w",
        "Longformer, Mistral’s sliding window, Sparse Transformers",
    ),
)


@dataclass(frozen=True, eq=False)
class Cost(Experiment):
    """Counts for one head at each of `lengths`, in cells and in bytes of float32.

    grid_bytes: of the whole T x T grid. rows_bytes: what tiles keep for every row, its output (d numbers),
    its peak and its sum. tiles, tile_bytes: rows and columns of the one tile at work. window_cells
    [length][window]: what causal sliding windows of `windows` keys see. difference: largest between the
    output over tiles and the output over the grid, at 1,024 tokens of `seed`.
    """

    d: int
    seed: int
    lengths: tuple[int, ...]
    windows: tuple[int, ...]
    cells: tuple[int, ...]
    grid_bytes: tuple[int, ...]
    rows_bytes: tuple[int, ...]
    tiles: tuple[tuple[int, int], ...]
    tile_bytes: tuple[int, ...]
    window_cells: tuple[tuple[int, ...], ...]
    compared: int
    difference: float
    families: tuple[Family, ...]

    def tables(self) -> list[Table]:
        """Return the grid, the tiles beside it, the windows, and the two families."""
        grid = tuple(
            (count(tokens), count(cells), size(nbytes), count(cells // self.cells[0]))
            for tokens, cells, nbytes in zip(self.lengths, self.cells, self.grid_bytes, strict=True)
        )
        tiles = tuple(
            (count(tokens), size(whole), size(rows), size(tile))
            for tokens, whole, rows, tile in zip(
                self.lengths, self.grid_bytes, self.rows_bytes, self.tile_bytes, strict=True
            )
        )
        shown = range(len(self.windows))[::2]
        seen = tuple(
            (count(tokens), count(whole), *(count(cells[at]) for at in shown))
            for tokens, whole, cells in zip(self.lengths, self.cells, self.window_cells, strict=True)
        )
        times = f"times {count(self.lengths[0])}’s"
        last = f"The last line is {size_in_mb(self.grid_bytes[-1])}. Each head of each layer has a grid."
        apart = number(self.difference, 6)
        same = f"At {count(self.compared)} tokens the two outputs differ by {apart} at most."
        return [
            Table("One head’s grid in float32", ("tokens", "cells", "bytes", times), grid, last),
            Table(
                "The same output over tiles",
                ("tokens", "whole grid", f"kept for the rows, d = {self.d}", "one tile at work"),
                tiles,
                same,
            ),
            Table(
                "Cells that a causal sliding window sees",
                ("tokens", "whole grid", *(f"window {count(self.windows[at])}" for at in shown)),
                seen,
                "Once T is well past w this is T × w: the first rows see fewer keys.",
            ),
            Table(
                "Two ways out of the square",
                ("", "what it does", "what it gives", "memory", "cells computed", "known as"),
                tuple(
                    (one.name, one.does, one.gives, one.memory, one.cells, one.found) for one in self.families
                ),
            ),
        ]

    def draw(self) -> Figure:
        """Return bytes held and cells computed over the length, both axes by doublings."""
        from attnscope.looks.drawing import SERIES, figure

        made, (held, computed) = figure(1, 2)
        both = [rows + tile for rows, tile in zip(self.rows_bytes, self.tile_bytes, strict=True)]
        middle = len(self.windows) // 2
        narrow = [cells[middle] for cells in self.window_cells]
        for axes, title, lines in (
            (held, "bytes held, one head", (("whole grid", self.grid_bytes), ("tiles", both))),
            (
                computed,
                "cells computed, one head",
                (("whole grid, or tiles", self.cells), (f"window {count(self.windows[middle])}", narrow)),
            ),
        ):
            for (name, values), colour in zip(lines, SERIES, strict=False):
                axes.plot(self.lengths, values, color=colour, label=name)
            axes.set_xscale("log", base=2)
            axes.set_yscale("log", base=2)
            axes.set_xlabel("tokens")
            axes.set_title(title, loc="left")
            axes.xaxis.set_major_formatter(lambda x, _: count(round(x)))
            axes.legend()
        held.yaxis.set_major_formatter(lambda x, _: size(round(x)))
        computed.yaxis.set_major_formatter(lambda x, _: count(round(x)))
        return made


@checked
def cost(
    *, lengths: Sequence[int] = LENGTHS, windows: Sequence[int] = WINDOWS, d: int = 64, seed: int = 7
) -> Cost:
    """Count what one head of width d holds and computes at each length; nothing of those lengths is run.

    windows: keys that a row of a causal sliding window sees at most, itself included. Tiles are those of
    FlashAttention (Dao et al. 2022), over PyTorch's own operations. Raises LessonError for lengths, windows
    or a d that are not whole numbers in range, in ascending order.
    """
    check_ascending("lengths", lengths, LONGEST)
    check_ascending("windows", windows, LONGEST)
    check_whole("d", d, 1, 1024)
    over = [_bound(tokens, full()) for tokens in lengths]
    cells, tiles = tuple(map(_cells, over)), tuple(map(_tile, over))
    return Cost(
        d=d,
        seed=seed,
        lengths=tuple(lengths),
        windows=tuple(windows),
        cells=cells,
        grid_bytes=tuple(_FLOAT32 * one for one in cells),
        rows_bytes=tuple(_FLOAT32 * (d + 2) * tokens for tokens in lengths),
        tiles=tiles,
        tile_bytes=tuple(_FLOAT32 * rows * columns for rows, columns in tiles),
        window_cells=tuple(
            tuple(_cells(_bound(tokens, window(width - 1))) for width in windows) for tokens in lengths
        ),
        compared=_COMPARED,
        difference=_difference(d, seed),
        families=FAMILIES,
    )


def size_in_mb(nbytes: int) -> str:
    """Return bytes as MB and in their largest unit: "65,536 MB = 64 GB"."""
    return f"{count(nbytes // 2**20)} MB = {size(nbytes)}"


def _bound(tokens: int, mask: Mask) -> Bound:
    """A call of that length whose q and k take no memory: what is visible does not depend on them."""
    nothing = torch.zeros(1, 1, 1, 1).expand(1, 1, tokens, 1)
    return as_scoring(mask).bind(nothing, nothing)


def _cells(bound: Bound) -> int:
    seen = bound.visible.count()
    cells: int = int(seen.sum()) * (bound.shape.tq // seen.shape[-1])
    return cells


def _tile(bound: Bound) -> tuple[int, int]:
    """Rows and columns of the largest tile of the walk over a full grid, which is its first."""
    rows = row_blocks(bound)[0]
    columns = column_blocks(bound, rows)[0]
    return rows.stop - rows.start, columns.stop - columns.start


def _difference(d: int, seed: int) -> float:
    q, k, v = (normal(1, 1, _COMPARED, d, seed=seed + at) for at in range(3))
    tiles: Tensor = by_tiles(as_scoring(full()).bind(q, k), v)
    return float((tiles - steps(q, k, v).out).abs().max())
