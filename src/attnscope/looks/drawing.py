"""The figures' common look: one colour for a weight, hatch where nothing is visible, numbers on the cells.

The colours are those of the page (light): eleven stops at equal distance in OKLab, from next to the page at
0 to far from it at 1.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from attnscope.looks.numbers import weight

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure

INK, INK_2, INK_3, LINE, ACCENT, HATCH = "#1b1c1e", "#55585e", "#696c73", "#d4d4cf", "#c2410c", "#e2e2de"
SERIES = ("#1b1c1e", "#3f88cc", "#85888e", "#a6d8ff")  # a chart's lines, in this order: accent is a choice
_STOPS = [
    "#f3f7fa", "#c3e7f4", "#97d3ee", "#6fbde8", "#4da4de", "#358ad2", "#2b6fc1", "#2a55aa", "#293c8e",
    "#25286d", "#1b1a49",
]  # fmt: skip
_DIFFERENCE = [
    "#1e4798", "#1160ab", "#3f88cc", "#6fb1ea", "#a6d8ff", "#eff4f8", "#ffcba7", "#f09b65", "#d26c22",
    "#af3e00", "#8c3710",
]  # fmt: skip
_DARK_FROM = 0.5  # of the map: from here on white is read better than black
_STYLE = {
    "font.size": 10,
    "axes.edgecolor": LINE,
    "axes.labelcolor": INK_2,
    "axes.titlecolor": INK,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": INK_3,
    "ytick.color": INK_3,
    "legend.frameon": False,
    "hatch.color": HATCH,
    "svg.fonttype": "none",
}


@contextmanager
def look() -> Iterator[None]:
    """Give what is drawn inside the common look; it also holds while a figure is written to a file."""
    import matplotlib as mpl

    with mpl.rc_context(_STYLE | {"svg.hashsalt": "attnscope"}):
        yield


def figure(rows: int = 1, columns: int = 1, *, size: tuple[float, float] | None = None) -> tuple[Figure, Any]:
    """Return a new figure and its axes (an array when there are several); `size` in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from attnscope.looks.shown import ShownFigure

    made = ShownFigure(figsize=size or (4.2 * columns, 3.4 * rows), dpi=144, layout="constrained")
    FigureCanvasAgg(made)
    return made, made.subplots(rows, columns)


def colour_map() -> LinearSegmentedColormap:
    """Return the page's map of weights, 0 to 1."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("attnscope", _STOPS)


def difference_map() -> LinearSegmentedColormap:
    """Return the page's map of differences: less, none, more."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("attnscope-difference", _DIFFERENCE)


def heat(
    axes: Axes,
    weights: Tensor,
    *,
    rows: Sequence[str],
    columns: Sequence[str] | None = None,
    title: str = "",
    visible: Tensor | None = None,
    written: bool | None = None,
) -> None:
    """Draw weights (tq tk) in [0, 1]: query rows down, key columns right, hatch where not `visible`.

    `written` puts the numbers on the cells, by default up to 8 columns.
    """
    grid = weights.detach().double().cpu()
    shown = torch.ones_like(grid, dtype=torch.bool) if visible is None else visible.cpu()
    axes.set_facecolor("white")
    axes.patch.set_hatch("////")
    axes.imshow(grid.masked_fill(~shown, torch.nan).numpy(), cmap=colour_map(), vmin=0, vmax=1)
    axes.set_xticks(range(grid.shape[1]), list(columns if columns is not None else rows))
    axes.set_yticks(range(grid.shape[0]), list(rows))
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.set_title(title)
    if written if written is not None else grid.shape[1] <= 8:
        for i, j in zip(*torch.nonzero(shown, as_tuple=True), strict=True):
            x = float(grid[i, j])
            ink = "white" if x > _DARK_FROM else "black"
            axes.text(float(j), float(i), weight(x), ha="center", va="center", color=ink, fontsize=9)


def png(made: Figure, *, about: str | None = None) -> bytes:
    """Return a figure as PNG, without the date and the name of the program; `about` is a text in it."""
    said = {} if about is None else {"attnscope": about}
    return _saved(made, "png", {"Software": None, **said})


def svg(made: Figure, *, about: str | None = None) -> bytes:
    """Return a figure as SVG with its text as text, the same bytes each time; `about` as its description."""
    said = {} if about is None else {"Description": about}
    return _saved(made, "svg", {"Date": None, "Creator": None, **said})


def _saved(made: Figure, form: str, metadata: dict[str, str | None]) -> bytes:
    file = io.BytesIO()
    with look(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # of a script that no font here has
        made.savefig(file, format=form, metadata=metadata)
    return file.getvalue()
