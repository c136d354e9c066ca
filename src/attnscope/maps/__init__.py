"""The map of a head: its whole grid as tiles of 256 x 256 pixels at every zoom, and its largest cells.

    maps = Maps(run.sites)                      # pyramids of heads, the last kept up to a limit of bytes
    pyramid = maps.pyramid(site=3, head=5)      # Uncertified for a refused head, as site.weights
    pyramid = Pyramid(of_call(q, k, causal()))  # or of q, k, Scoring and Normaliser alone
    maps.pyramid(3, 5, values=True)             # the second picture: weight times length of the key's value
    pyramid.build(progress)                     # one walk; progress(rows done, rows); raise in it to stop
    pyramid.built, pyramid.done, pyramid.nbytes

    g = pyramid.geometry
    g.depth                                     # levels are 0 .. depth; depth draws one cell a pixel
    g.cells(level)                              # cells along a side of a pixel, 2 ** (depth - level)
    g.tiles(level), g.pixels(level)             # (rows, columns) of tiles, of pixels
    g.base                                      # cells a side from which on pixels are kept, not computed

    tile = pyramid.tile(level, row, col)
    tile.shape, tile.rows, tile.cols            # pixels; slices of the cells covered; smaller at the edge
    tile.values("sum" | "mean" | "max")         # (r c) float32, HIDDEN (-1) where no cell is visible
    tile.encode("sum", "max", form="float32")   # raw little-endian planes; form="bfloat16" is half as long
    pyramid.bar("entropy" | "sink", level, row, "mean")            # beside the tiles of that row
    pyramid.bar("received" | "received_mean", level, col, "max")   # below the tiles of that column
    part_of(pyramid, slice(0, 900), slice(5, 90), "max")           # any part, in at most 1,024 pixels a side
    largest_cells(pyramid, 20, skip_first=True, near=1)            # [Large(weight, i, j)], exact

A tile of a level is the reduction of the four below it: sums to rounding, maxima as they are (by the torch
engine to the last bits of a score, from computed pixels to kept ones), means as sum / visible cells. Rows
are counted from 0; row i stands at position i + (pyramid.head.offset or 0). At the deepest level a pixel is
site.weights().
"""

from __future__ import annotations

from attnscope.maps.bars import BARS, OF_KEYS, OF_ROWS, Sides
from attnscope.maps.geometry import SIDE, Geometry
from attnscope.maps.head import Head, mixed, of_call, of_site
from attnscope.maps.largest import Large, largest_cells
from attnscope.maps.part import Part, part_of
from attnscope.maps.pyramid import Pyramid
from attnscope.maps.shelf import Maps
from attnscope.maps.tile import FORMS, REDUCTIONS, Address, Reduction, Tile
from attnscope.models.reading import HIDDEN

__all__ = [
    "BARS", "FORMS", "HIDDEN", "OF_KEYS", "OF_ROWS", "REDUCTIONS", "SIDE", "Address", "Geometry", "Head",
    "Large", "Maps", "Part", "Pyramid", "Reduction", "Sides", "Tile", "largest_cells", "mixed", "of_call",
    "of_site", "part_of",
]  # fmt: skip
