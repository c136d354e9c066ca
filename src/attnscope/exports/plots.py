"""matplotlib pictures of heads in the colours of the page: each takes an Axes, draws into it, and returns it.

Nothing of matplotlib's own state is read or changed; without an Axes a figure of its own is made, which is
`ax.figure`.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from attnscope.errors import RecordingError, Uncertified
from attnscope.exports.wanted import Place, wanted
from attnscope.looks.drawing import INK, INK_2, colour_map, figure
from attnscope.looks.numbers import count, typed
from attnscope.maps import HIDDEN, Pyramid, of_site, part_of
from attnscope.models import axis_of
from attnscope.models.reading import mixes_of, weights_of
from attnscope.models.tokens import shown
from attnscope.recording import Recording, Site
from attnscope.recording.asked import Where, cut_of, index_of
from attnscope.recording.mixes import meaning_of, name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Scale = Literal["linear", "log"]

LETTERED = 40
"""Rows or columns up to which each is labelled with its token."""

_SMALL = 64  # pixels a side of a small picture
_FLOOR = 1e-4  # where logarithmic colours begin, as on the page
_LINE = 64  # characters of a line of tokens


def plot_head(
    recording: Recording, site: int | str | Site, head: int, *, rows: Where = None, cols: Where = None,
    scale: Scale = "linear", values: bool = False, run: int = -1, batch: int = 0, ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw the weights of one head, queries down and keys across, and return the Axes.

    Colours go from 0 to 1 whatever the head, or over four decades with scale="log"; what no query sees is
    hatched. Past 1,024 cells a side a pixel is the largest weight of its cells, which the label says. values:
    weight times the length of the key's value in place of weights, in colours up to the largest that is
    drawn, which the label says with the unit. Raises RecordingError and ShapeError for what is not there,
    Uncertified for a refused head, NotKept where lengths of values are not known.
    """
    asked = wanted(recording, site, head, rows=rows, cols=cols, run=run, batch=batch, values=values)
    ((one, number),) = asked.heads
    down, across = asked.part(one)
    part = part_of(Pyramid(of_site(one, number, batch=batch, values=values)), down, across, "max")
    axes = _axes(ax)
    cover = (part.cols.start - 0.5, part.cols.stop - 0.5, part.rows.stop - 0.5, part.rows.start - 0.5)
    most = _largest(part.values) if values else 1.0
    _image(axes, part.values, cover, scale, most=most)
    axes.set_xlim(across.start - 0.5, across.stop - 0.5)
    axes.set_ylim(down.stop - 0.5, down.start - 0.5)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    for axis, side, cut in ((axes.xaxis, "columns", across), (axes.yaxis, "rows", down)):
        if part.cells == 1 and cut.stop - cut.start <= LETTERED:
            tokens = axis_of(recording, one, side, batch=batch).tokens[cut]
            words = [_word(dict(token)) for token in tokens]
            axis.set_ticks(range(cut.start, cut.stop), words)
            if side == "columns" and any(len(word) > 2 for word in words):  # side by side they would overlap
                axis.set_tick_params(labelrotation=90)
            for label in axis.get_ticklabels():
                label.set_parse_math(False)
    what = name_of(one.lengths) if values else "weight"
    axes.set_title(f"{_named(one)}, head {number}{f': {what}' if values else ''}", color=INK)
    told = [f"a pixel is the largest {what} of {part.cells} × {part.cells} cells"] if part.cells > 1 else []
    if values:
        told += [f"the strongest colour is {typed(most, 3)}", *wrap(meaning_of(one.lengths), _LINE)]
    axes.set_xlabel("\n".join(told), color=INK_2)
    return axes


def plot_heads(
    recording: Recording, site: Place = None, *, heads: Sequence[tuple[Site, int]] | None = None,
    rows: Where = None, cols: Where = None, values: bool = False, run: int = -1, batch: int = 0,
    ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw every head small, calls of attention down and heads across, and return the Axes.

    Each row of a head is coloured by its own largest weight, as on the page. A head that was refused is
    crossed out. values: weight times the length of the key's value in place of weights, which the label says.
    Raises RecordingError for what is not there, NotKept where lengths of values are not known.
    """
    chosen = list(
        heads if heads is not None else wanted(recording, site, run=run, batch=batch, values=values).heads
    )
    axes = _axes(ax)
    sites = list(dict.fromkeys(one for one, _ in chosen))
    most = max(one.heads for one in sites)
    for one, head in chosen:
        line = sites.index(one)
        box = (head + 0.06, head + 0.94, line + 0.94, line + 0.06)
        try:
            small = _small(one, head, (rows, cols), batch, values)
        except Uncertified:
            axes.plot(box[:2], box[2:], color=INK_2, linewidth=0.8)
            axes.plot(box[:2], box[:1:-1], color=INK_2, linewidth=0.8)
            continue
        largest = small.amax(1, keepdim=True).clamp(min=torch.finfo(small.dtype).tiny)
        _image(axes, torch.where(small == HIDDEN, HIDDEN, small / largest), box, "linear", hatch=False)
    axes.set_xlim(0, most)
    axes.set_ylim(len(sites), 0)
    axes.set_aspect("equal")
    axes.set_xticks([head + 0.5 for head in range(most)], [f"H{head}" for head in range(most)])
    axes.set_yticks([line + 0.5 for line in range(len(sites))], [_short(one, sites) for one in sites])
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    for edge in axes.spines.values():
        edge.set_visible(False)
    if values:
        names = " or ".join(sorted({name_of(one.lengths) for one in sites}))
        axes.set_xlabel(f"{names}, each row by its own largest", color=INK_2)
    return axes


def plot_tokens(
    recording: Recording, site: int | str | Site, head: int, query: int = -1, *, values: bool = False,
    run: int = -1, batch: int = 0, ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw the text with each token in the colour of the weight that one query gives it, and return the Axes.

    query: its number, from the end where it is negative. The query itself is framed where it stands in the
    same text. values: weight times the length of the token's value in place of the weight, in colours up to
    the largest of the row, which the title says. Raises RecordingError and ShapeError for what is not there,
    Uncertified for a refused head, NotKept where lengths of values are not known.
    """
    ((one, number),) = wanted(recording, site, head, run=run, batch=batch, values=values).heads
    i = index_of(query, one.tq, "query")
    cells = mixes_of if values else weights_of
    row = cells(one, number, slice(i, i + 1), slice(0, one.tk), batch=batch)[0]
    most = _largest(row) if values else 1.0
    tokens = axis_of(recording, one, "columns", batch=batch).tokens
    own = i + (one.offset or 0) if one.kind == "self" else -1
    axes, colours = _axes(ax), colour_map()
    x = line = 0
    for at, (token, weight) in enumerate(zip(tokens, row.tolist(), strict=True)):
        word = _word(dict(token))
        if x and x + len(word) + 1 > _LINE:
            x, line = 0, line + 1
        _chip(axes, (x, line), word, None if weight == HIDDEN else colours(weight / most), framed=at == own)
        x += len(word) + 1
        if "\n" in str(token["text"]):
            x, line = 0, line + 1
    axes.set_xlim(0, _LINE)
    axes.set_ylim(line + 1, 0)
    axes.set_axis_off()
    title = f"{_named(one)}, head {number}: where query {count(i)} looks"
    if values:
        title += f"\n{name_of(one.lengths)}, the strongest colour is {typed(most, 3)}"
    axes.set_title(title, color=INK)
    return axes


def _chip(axes: Axes, at: tuple[int, int], word: str, colour: Any, *, framed: bool) -> None:
    from matplotlib.patches import Rectangle

    x, line = at
    face = "white" if colour is None else colour
    how: dict[str, Any] = {"edgecolor": "#c2410c", "linewidth": 1.5} if framed else {"linewidth": 0}
    how |= {"hatch": "////"} if colour is None else {}
    axes.add_patch(Rectangle((x, line + 0.1), len(word) + 0.6, 0.8, facecolor=face, **how))
    dark = colour is not None and 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2] < 0.5
    axes.text(
        x + (len(word) + 0.6) / 2, line + 0.5, word, ha="center", va="center", family="monospace",
        fontsize=8, color="white" if dark else "black", parse_math=False,
    )  # fmt: skip


def _axes(given: Axes | None) -> Axes:
    if given is not None:
        if not hasattr(given, "imshow"):
            raise RecordingError(f"ax is a {type(given).__name__}", wanted="An Axes of matplotlib, or None")
        return given
    made: Axes = figure(size=(6.4, 6.0))[1]
    return made


def _image(
    axes: Axes, values: Tensor, box: tuple[float, float, float, float], scale: Scale, *, hatch: bool = True,
    most: float = 1.0,
) -> None:  # fmt: skip
    """Put numbers from 0 to `most` into a box; what is HIDDEN is left to the ground, which is hatched."""
    from matplotlib.colors import LogNorm, Normalize

    if scale not in ("linear", "log"):
        raise RecordingError(f"scale={scale!r:.40}", wanted='"linear" or "log"')
    hidden = values == HIDDEN
    norm: Any = Normalize(0, most, clip=True)
    if scale == "log":
        norm, values = LogNorm(_FLOOR * most, most, clip=True), values.clamp(min=_FLOOR * most)
    if hatch:
        axes.set_facecolor("white")
        axes.patch.set(hatch="////", edgecolor="#e2e2de")
    grid = values.masked_fill(hidden, torch.nan).double().numpy()
    axes.imshow(grid, cmap=colour_map(), norm=norm, extent=box, interpolation="nearest", aspect="auto")


def _small(site: Site, head: int, part: tuple[Where, Where], batch: int, values: bool) -> Tensor:
    rows, cols = cut_of(part[0], site.tq, "row"), cut_of(part[1], site.tk, "column")
    pyramid = Pyramid(of_site(site, head, batch=batch, values=values))
    return part_of(pyramid, rows, cols, "max", most=_SMALL).values


def _largest(values: Tensor) -> float:
    """Return the largest number that is drawn, 1 where none is above 0."""
    finite = values[values.isfinite()]
    return max(float(finite.max()), 0.0) or 1.0 if len(finite) else 1.0


def _named(site: Site) -> str:
    name = f"Encoder layer {site.layer}" if site.stack == "encoder" else f"Layer {site.layer}"
    return f"{name}, cross" if site.kind == "cross" else name


def _short(site: Site, sites: Sequence[Site]) -> str:
    mixed = len({one.stack for one in sites}) > 1
    letter = "X" if site.kind == "cross" else "E" if mixed and site.stack == "encoder" else "L"
    return f"{letter}{site.layer}"


def _word(token: dict[str, Any]) -> str:
    text = shown(token)
    return text if len(text) <= 14 else text[:13] + "…"
