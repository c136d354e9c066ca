"""The picture that `attnscope compare` writes: a head of each recording, and their difference."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from attnscope.comparison.contrast import Block, Contrast
from attnscope.exports.picture import FLOOR, LETTERED
from attnscope.looks.drawing import HATCH, INK_2, INK_3, colour_map, difference_map, figure, look
from attnscope.looks.numbers import count, typed
from attnscope.models.reading import HIDDEN
from attnscope.models.tokens import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from attnscope.comparison.alignment import Alignment
    from attnscope.comparison.pairing import Pair
    from attnscope.comparison.side import Side
    from attnscope.recording import Site

MOST = 768
"""Pixels along a side of each picture."""

WIDTH = 12.0
"""Inches."""

NEAR = 1e-4
"""Where the logarithmic colours of a difference begin, on both sides of 0."""


def draw(sides: tuple[Side, Side], pair: Pair, contrast: Contrast, scale: str) -> Figure:
    """Return the three pictures: A, B, and B − A."""
    size = max(contrast.rows.count, contrast.cols.count, 1)
    cells = -(-size // MOST)
    block = contrast.block() if cells == 1 else contrast.reduced(cells)
    with look(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # of a script that no font here has
        high = min(8.0, max(2.4, 3.6 * contrast.rows.count / max(1, contrast.cols.count))) + 1.7
        made, axes = figure(1, 3, size=(WIDTH, high))
        names = [
            f"{letter}: {side.label} · layer {site.layer}, head {head}"
            for letter, side, (site, head) in zip("AB", sides, pair.both, strict=True)
        ]
        for at, values, name in zip(axes[:2], (block.a, block.b), names, strict=True):
            _weights(made, at, values, name, scale, cells)
        _difference(made, axes[2], block, scale, cells)
        for side, at in enumerate(axes):
            _rulers(at, sides, pair, contrast, cells, queries=side == 0)
        made.supxlabel(_told(contrast), x=0.01, ha="left", fontsize=8.5, color=INK_2)
    return made


def _weights(made: Figure, axes: Axes, values: Tensor, name: str, scale: str, cells: int) -> None:
    from matplotlib.colors import LogNorm, Normalize

    norm: Any = LogNorm(FLOOR, 1.0, clip=True) if scale == "log" else Normalize(0.0, 1.0)
    seen = values.masked_fill(values == HIDDEN, torch.nan)
    least = FLOOR if scale == "log" else 0.0
    image = _image(axes, seen.clamp(min=least), colour_map(), norm, gone=values.isnan())
    bar = _legend(made, axes, image, _pixel("the weight", "the largest weight", cells))
    if scale == "log":
        bar.set_ticks([1e-5, 1e-3, 0.1, 1.0], labels=["≤ 1e−5", ".001", ".1", "1"])
        bar.minorticks_off()
    axes.set_title(name, fontsize=9, parse_math=False)


def _difference(made: Figure, axes: Axes, block: Block, scale: str, cells: int) -> None:
    from matplotlib.colors import Normalize, SymLogNorm

    log = scale == "log"
    norm: Any = SymLogNorm(NEAR, vmin=-1.0, vmax=1.0, base=10) if log else Normalize(-1.0, 1.0)
    values = block.difference
    gone = values.isnan()
    image = _image(axes, values.masked_fill(values.isinf(), torch.nan), difference_map(), norm, gone=gone)
    bar = _legend(made, axes, image, _pixel("B − A", "B − A where it is largest", cells))
    ticks = [-1.0, -0.01, 0.0, 0.01, 1.0] if log else [-1.0, -0.5, 0.0, 0.5, 1.0]
    bar.set_ticks(ticks, labels=[f"{'+' if tick > 0 else ''}{typed(tick, 2)}" for tick in ticks])
    bar.minorticks_off()
    axes.set_title("B − A: blue where B has less, orange where B has more", fontsize=9)


def _image(axes: Axes, values: Tensor, colours: Any, norm: Any, *, gone: Tensor) -> Any:
    """Draws a picture: hatch where nothing is visible, grey where a place has no fellow or is not there."""
    from matplotlib.colors import ListedColormap

    axes.set_facecolor("white")
    axes.patch.set_hatch("////")
    image = axes.imshow(values.double().numpy(), cmap=colours, norm=norm, interpolation="nearest")
    if bool(gone.any()):
        grey = torch.where(gone, 1.0, torch.nan).double().numpy()
        axes.imshow(grey, cmap=ListedColormap([HATCH]), interpolation="nearest")
    return image


def _legend(made: Figure, axes: Axes, image: Any, words: str) -> Any:
    bar = made.colorbar(image, ax=axes, orientation="horizontal", fraction=0.05, pad=0.03)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=8, length=2)
    bar.ax.set_xlabel(words, loc="left", color=INK_2, fontsize=8.5)
    return bar


def _pixel(one: str, many: str, cells: int) -> str:
    return f"a pixel is {one}" if cells == 1 else f"a pixel is {many} of {cells} × {cells} cells"


def _rulers(
    axes: Axes, sides: tuple[Side, Side], pair: Pair, contrast: Contrast, cells: int, *, queries: bool
) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.xaxis.tick_top()
    axes.tick_params(length=2, color=INK_3)
    for axis, side, aligned in ((axes.xaxis, "columns", contrast.cols), (axes.yaxis, "rows", contrast.rows)):
        if side == "rows" and not queries:
            axis.set_ticks([])
            continue
        if cells > 1 or aligned.count > LETTERED:
            axis.set_major_locator(MaxNLocator(nbins=5, integer=True))
            axis.set_major_formatter(FuncFormatter(lambda at, _: count(int(at) * cells)))
            continue
        axis.set_ticks(range(aligned.count), slot_names(sides, (pair.site_a, pair.site_b), aligned, side))
        for label in axis.get_ticklabels():
            label.set_parse_math(False)
            label.set_fontsize(7)
            if side == "columns":
                label.set_rotation(90)
    if queries:
        axes.set_ylabel("query", loc="top")


def slot_names(sides: tuple[Side, Side], sites: Sequence[Site], aligned: Alignment, side: str) -> list[str]:
    """Return what stands in each slot: the tokens of A, of B where A has none, of both where they differ."""
    words = []
    for of, site, groups in zip(sides, sites, (aligned.a, aligned.b), strict=True):
        tokens = of.tokens(site, side)
        words.append(["".join(shown(tokens[at]) for at in places) for places in groups.places()])
    return [
        (a or b) if a == b or not (a and b) else f"{a} | {b}" for a, b in zip(words[0], words[1], strict=True)
    ]


def _told(contrast: Contrast) -> str:
    alone = [
        f"{which} of A and {other} of B"
        for which, other in (contrast.rows.unmatched, contrast.cols.unmatched)
    ]
    said = f"aligned by {contrast.rows.how}"
    if any((*contrast.rows.unmatched, *contrast.cols.unmatched)):
        said += f"; without a fellow: {alone[0]} queries, {alone[1]} keys (grey)"
    return f"{said}; hatch: not visible, exactly 0"
