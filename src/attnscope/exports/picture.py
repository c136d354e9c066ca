"""The picture of a head that `attnscope map` writes: the map, its rulers, its side bars, and what is said."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from attnscope.exports.about import certificate, certified
from attnscope.looks.drawing import INK_2, INK_3, colour_map, figure, look
from attnscope.looks.numbers import count, typed, weight
from attnscope.maps import HIDDEN, Part, Pyramid, part_of
from attnscope.models import axis_of
from attnscope.models.tokens import shown
from attnscope.recording.mixes import meaning_of, name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from attnscope.recording import Recording, Site

LETTERED = 40
"""Rows or columns up to which each is labelled with its token."""

WRITTEN = 12
"""Rows and columns up to which the weight stands in its cell."""

WIDTH = 9.0
"""Inches."""

FLOOR = 1e-5
"""Where the logarithmic colours begin: five decades below 1."""

_WORDS = {"max": "the largest {}", "mean": "the mean {}", "sum": "the sum of {}"}


@dataclass(frozen=True)
class Wish:
    """What is drawn: rows and columns of cells, "max", "mean" or "sum", in a "log" or "linear" scale."""

    rows: slice
    cols: slice
    reduce: str
    scale: str


def draw(recording: Recording, site: Site, pyramid: Pyramid, wish: Wish, *, head: int, batch: int) -> Figure:
    """Return the picture of a part of a head, of its weights or, where the pyramid is of these, of weight
    times length of value. Raises RecordingError for a part that is not there.
    """
    part = part_of(pyramid, wish.rows, wish.cols, wish.reduce)  # type: ignore[arg-type]
    with look(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # of a script that no font here has
        made, axes = _panels(part, wish)
        drawn = _drawn(site, pyramid)
        image = _map(axes["map"], part, wish, drawn.most)
        _legend(made, axes["colours"], image, _pixel(part, wish, drawn))
        _rulers(axes["map"], recording, site, part, wish, batch)
        _sides(axes, pyramid, part, wish, drawn)
        model = recording.model.get("label") or recording.model.get("class") or "a model"
        place = f"{model} · {site.name} · layer {site.layer}, head {head}"
        place += f" · {drawn.name}" if drawn.meaning else ""
        high = made.get_figheight()
        made.text(0.12 / WIDTH, 1 - 0.12 / high, place, va="top", fontsize=12, parse_math=False)
        sealed = certified(certificate(site, head, batch=batch), site.route)
        lines = [_grid_line(site, wish), drawn.meaning, _left_out(pyramid, drawn), sealed]
        told = "\n".join(line for line in lines if line)
        made.text(0.12 / WIDTH, 0.1 / high, told, va="bottom", fontsize=8.5, color=INK_2)
    return made


def _panels(part: Part, wish: Wish) -> tuple[Figure, dict[str, Axes]]:
    """Return the figure and its axes: the side bars stand exactly beside the rows and keys they speak of."""
    high, wide = wish.rows.stop - wish.rows.start, wish.cols.stop - wish.cols.start
    left, top = (1.5 if _lettered(part, cut) else 0.8 for cut in (wish.rows, wish.cols))
    across = WIDTH - left - 1.3
    down = across * min(max(high / wide, 0.15), 2.0)
    foot = 2.15  # of bar, legend and words
    size = (WIDTH, down + top + 0.35 + foot)
    made, first = figure(size=size)
    first.remove()
    made.set_layout_engine("none")
    boxes = {
        "map": (left, foot, across, down),
        "rows": (left + across + 0.12, foot, 0.9, down),
        "keys": (left, foot - 0.72, across, 0.6),
        "colours": (left, foot - 0.92, across, 0.1),
    }
    inches = (*size, *size)
    return made, {
        name: made.add_axes(tuple(x / of for x, of in zip(box, inches, strict=True)))
        for name, box in boxes.items()
    }


@dataclass(frozen=True)
class _Drawn:
    """What the cells are: the name of their numbers, the largest that one may be, what a length is (""  in
    the picture of weights), and what the bar below the keys is called.
    """

    name: str
    most: float
    meaning: str
    received: str


def _drawn(site: Site, pyramid: Pyramid) -> _Drawn:
    lengths = pyramid.head.lengths
    if lengths is None:
        return _Drawn("weight", 1.0, "", "received")
    name, finite = name_of(site.lengths), lengths[lengths.isfinite()]
    most = float(finite.max()) if len(finite) else 0.0  # a weight of 1 on the longest value
    meaning = f"{meaning_of(site.lengths)}, {typed(most, 3)} at most"
    return _Drawn(name, most or 1.0, meaning, name.replace("weight", "received"))


def _legend(made: Figure, axes: Axes, image: Any, words: str) -> None:
    bar = made.colorbar(image, cax=axes, orientation="horizontal")
    bar.outline.set_visible(False)
    least, most = image.norm.vmin, image.norm.vmax
    if least > 0:
        powers = range(math.ceil(math.log10(least) - 1e-9), math.floor(math.log10(most) + 1e-9) + 1)
        inner = [10.0**power for power in powers if 10.0**power > 2.5 * least]  # with room to be read
        bar.set_ticks([least, *inner], labels=[f"≤ {typed(least, 3)}", *(typed(tick, 3) for tick in inner)])
        bar.minorticks_off()
    axes.tick_params(labelsize=8, length=2)
    axes.set_xlabel(words, loc="left", color=INK_2, fontsize=8.5)


def _map(axes: Axes, part: Part, wish: Wish, most: float) -> Any:
    from matplotlib.colors import LogNorm, Normalize

    highest = most * part.cells if wish.reduce == "sum" else most  # a row's weights are 1 at most together
    floor = FLOOR * most
    values = part.values.masked_fill(part.values == HIDDEN, torch.nan)
    if wish.scale == "log":
        norm: Any = LogNorm(floor, highest, clip=True)
        values = values.clamp(min=floor)
    else:
        norm = Normalize(0.0, highest, clip=True)
    axes.set_facecolor("white")
    axes.patch.set_hatch("////")
    cover = (part.cols.start, part.cols.stop, part.rows.stop, part.rows.start)
    image = axes.imshow(
        values.double().numpy(), cmap=colour_map(), norm=norm, extent=cover, interpolation="nearest",
        aspect="auto",
    )  # fmt: skip
    axes.set_xlim(wish.cols.start, wish.cols.stop)
    axes.set_ylim(wish.rows.stop, wish.rows.start)
    if part.cells == 1 and max(part.values.shape) <= WRITTEN:
        _written(axes, part, image, floor)
    return image


def _written(axes: Axes, part: Part, image: Any, floor: float) -> None:
    """Puts each visible number in its cell, in the ink that is read better there."""
    for i, row in enumerate(part.values.tolist()):
        for j, value in enumerate(row):
            if value != HIDDEN:
                dark = float(image.norm(max(value, 0.0) or floor)) > 0.5
                place = (part.cols.start + j + 0.5, part.rows.start + i + 0.5)
                axes.text(
                    *place, weight(value), ha="center", va="center", fontsize=8,
                    color="white" if dark else "black",
                )  # fmt: skip


def _rulers(axes: Axes, recording: Recording, site: Site, part: Part, wish: Wish, batch: int) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.set_xlabel("key j", loc="left")
    axes.set_ylabel("query i", loc="top")
    offset = site.offset or 0
    for axis, side, cut, first in (
        (axes.xaxis, "columns", wish.cols, 0),
        (axes.yaxis, "rows", wish.rows, offset),
    ):
        if _lettered(part, cut):
            tokens = axis_of(recording, site, side, batch=batch).tokens[cut]
            names = [_name(token, first + cut.start + at) for at, token in enumerate(tokens)]
            axis.set_ticks([cut.start + at + 0.5 for at in range(len(names))], names)
            for label in axis.get_ticklabels():
                label.set_parse_math(False)
                label.set_fontsize(7)
                if side == "columns":
                    label.set_rotation(90)
        else:
            axis.set_major_locator(MaxNLocator(nbins=6, integer=True))
            axis.set_major_formatter(FuncFormatter(lambda at, _, first=first: count(int(at) + first)))
    axes.tick_params(length=2, color=INK_3)


def _lettered(part: Part, cut: slice) -> bool:
    return part.cells == 1 and cut.stop - cut.start <= LETTERED


def _name(token: Any, position: int) -> str:
    if token["kind"] == "place":
        return count(position)
    text = shown(token)
    return f"{text if len(text) <= 14 else text[:13] + '…'} {count(position)}"


def _sides(axes: dict[str, Axes], pyramid: Pyramid, part: Part, wish: Wish, drawn: _Drawn) -> None:
    """Entropy of the weights beside the rows, and what the keys receive or give in all below them, at the
    zoom of the map.
    """
    entropy, received = (
        _reduced(pyramid.sides.of(name)[cut], part.cells)
        for name, cut in (("entropy", part.rows), ("received", part.cols))
    )
    places = [torch.arange(cut.start, cut.stop, part.cells).double() for cut in (part.rows, part.cols)]
    rows, keys = axes["rows"], axes["keys"]
    grey: dict[str, Any] = {"color": "#b4b4b0", "linewidth": 0}
    rows.fill_betweenx(_steps(places[0], part.rows.stop), _steps(entropy), step=None, **grey)
    keys.fill_between(_steps(places[1], part.cols.stop), _steps(received), step=None, **grey)
    rows.set_ylim(wish.rows.stop, wish.rows.start)
    keys.set_xlim(wish.cols.start, wish.cols.stop)
    rows.set_xlim(left=0)
    keys.set_ylim(bottom=0)
    keys.invert_yaxis()
    of_weights = "\nof the weights" if drawn.meaning else ""
    rows.set_title(f"entropy, nats{of_weights}", fontsize=8, color=INK_2)
    keys.set_ylabel(drawn.received.replace(" × ", "\n× "), fontsize=8)
    rows.set_yticks([])
    keys.set_xticks([])
    for one in (rows, keys):
        one.tick_params(labelsize=7, length=2)


def _steps(values: Tensor, end: float | None = None) -> Any:
    """Each value twice, so that a filled line has a step a pixel; with `end`, the edges of the pixels."""
    if end is None:
        return values.double().repeat_interleave(2).numpy()
    edges = torch.cat([values, torch.tensor([float(end)])])
    return edges.repeat_interleave(2)[1:-1].numpy()


def _reduced(values: Tensor, cells: int) -> Tensor:
    from attnscope.maps.bars import reduced

    return reduced(values, cells, "mean")


def _pixel(part: Part, wish: Wish, drawn: _Drawn) -> str:
    scale = "logarithmic" if wish.scale == "log" else "linear"
    if part.cells == 1:
        return f"a pixel is the {drawn.name} of one cell; {scale}"
    name = "the weights" if wish.reduce == "sum" and not drawn.meaning else drawn.name
    return f"a pixel is {_WORDS[wish.reduce].format(name)} of {part.cells} × {part.cells} cells; {scale}"


def _grid_line(site: Site, wish: Wish) -> str:
    shown_part = (wish.rows, wish.cols) == (slice(0, site.tq), slice(0, site.tk))
    said = f"{count(site.tq)} queries, {count(site.tk)} keys"
    if shown_part:
        return f"{said}; hatch: not visible, exactly 0"
    cut = f"queries {count(wish.rows.start)} to {count(wish.rows.stop - 1)}, keys {count(wish.cols.start)}"
    return f"{cut} to {count(wish.cols.stop - 1)} of {said}; hatch: not visible, exactly 0"


def _left_out(pyramid: Pyramid, drawn: _Drawn) -> str:
    """Return which key takes or gives the most, and how much of a row goes to no key at all."""
    sides = pyramid.sides
    total, largest = float(sides.received.double().sum()), int(sides.received.argmax())
    if not total > 0:
        return f"No row has any {drawn.name} on a key"
    share = weight(float(sides.received[largest]) / total)
    does = "gives" if drawn.meaning else "receives"
    said = [f"key {count(largest)} {does} the most, {share} of all {drawn.name}"]
    if sides.sink is not None:
        said.append(
            f"{weight(float(sides.sink.double().mean()))} of a row, in the mean, goes to a learned sink"
        )
    return "; ".join(said)
