"""Section 10: the way from X to the outputs as boxes and arrows, each arrow with its shape.

The shapes are read from tensors that went that way, through core; nothing is written by hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from attnscope.core.dense import steps
from attnscope.core.masks import causal
from attnscope.lesson.experiment import Experiment, Table
from attnscope.lesson.given import check_whole, checked
from attnscope.looks.drawing import INK, INK_2, INK_3, figure
from attnscope.looks.numbers import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 4096  # tokens or numbers: a grid of this side is 64 MB
_PLACES = (  # of each box: what stands in it, its column, its row
    ("x", "X", 0, 1), ("q", "Q = X Wq", 1, 0), ("k", "K = X Wk", 1, 1), ("v", "V = X Wv", 1, 2),
    ("scores", "Q Kᵀ", 2, 0.5), ("scale", "÷ √d", 3, 0.5), ("mask", "mask", 4, 0.5),
    ("softmax", "softmax by row", 5, 0.5), ("mix", "weights × V", 6, 1), ("out", "outputs", 7, 1),
)  # fmt: skip


@dataclass(frozen=True)
class Box:
    """A box: what stands in it, what it does in one sentence, and its place (column, row)."""

    id: str
    text: str
    says: str
    column: float
    row: float


@dataclass(frozen=True)
class Arrow:
    """An arrow from box to box: the axes by name and by size."""

    start: str
    end: str
    axes: tuple[str, ...]
    shape: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Pipeline(Experiment):
    """The boxes and arrows for t tokens, inputs of d_model numbers, one head of d."""

    t: int
    d_model: int
    d: int
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]

    def tables(self) -> list[Table]:
        names = {box.id: box.text for box in self.boxes}
        rows = tuple(
            (names[arrow.start], names[arrow.end], " × ".join(arrow.axes), written(arrow.shape))
            for arrow in self.arrows
        )
        does = tuple((box.text, box.says) for box in self.boxes)
        title = f"The pipeline: {self.t} tokens, d_model = {self.d_model}, one head of d = {self.d}"
        return [
            Table(title, ("from", "to", "axes", "shape"), rows),
            Table("What each box does", ("box", "does"), does),
        ]

    def draw(self) -> Figure:
        made, axes = figure(size=(13.0, 3.2))
        _draw(axes, self.boxes, self.arrows)
        return made


@checked
def pipeline(*, t: int = 8, d_model: int = 64, d: int = 16) -> Pipeline:
    """Return the pipeline of one head for t tokens. Raises LessonError for sizes that cannot be."""
    check_sizes(t=t, d_model=d_model, d=d)
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(t, d_model, generator=generator)
    project = [torch.randn(d_model, d, generator=generator) for _ in range(3)]
    q, k, v = (x @ w for w in project)
    seen = steps(q[None, None], k[None, None], v[None, None], causal())
    grids = (seen.products, seen.scaled, seen.scores, seen.weights)
    products, scaled, scores, weights = (tuple(grid.shape[2:]) for grid in grids)
    inputs, one = tuple(x.shape), tuple(q.shape)
    wide, narrow, square = ("t", "d_model"), ("t", "d"), ("t", "t")
    arrows = (
        *(Arrow("x", name, wide, inputs) for name in ("q", "k", "v")),
        Arrow("q", "scores", narrow, one),
        Arrow("k", "scores", narrow, tuple(k.shape)),
        Arrow("scores", "scale", square, products),
        Arrow("scale", "mask", square, scaled),
        Arrow("mask", "softmax", square, scores),
        Arrow("softmax", "mix", square, weights),
        Arrow("v", "mix", narrow, tuple(v.shape)),
        Arrow("mix", "out", narrow, tuple(seen.out.shape[2:])),
    )
    return Pipeline(t, d_model, d, _boxes(t, d_model, d), arrows)


def _boxes(t: int, d_model: int, d: int) -> tuple[Box, ...]:
    n, wide, narrow = count(t), count(d_model), count(d)
    says = {
        "x": f"The input: {n} tokens, each a vector of {wide} numbers.",
        "q": f"Each token’s query: {narrow} numbers that say what it looks for, made of all {wide}.",
        "k": f"Each token’s key: {narrow} numbers by which it is found, made of all {wide}.",
        "v": f"Each token’s value: {narrow} numbers that it hands over, made of all {wide}.",
        "scores": f"Every query times every key: {n} × {n} products, a row for each query.",
        "scale": f"Every product is divided by √{narrow}, so that the spread does not grow with d.",
        "mask": "Scores of the keys that a query may not see become −∞.",
        "softmax": "Each row becomes weights from 0 to 1 that sum to 1; −∞ becomes exactly 0.",
        "mix": "Each output is the sum of all values, each times its weight.",
        "out": f"{n} vectors of {narrow} numbers: what each token has gathered from those it looked at.",
    }
    return tuple(Box(id, text, says[id], column, row) for id, text, column, row in _PLACES)


def check_sizes(**sizes: int) -> None:
    """Raise LessonError unless every size is a whole number from 1 to MOST."""
    for name, size in sizes.items():
        check_whole(name, size, 1, MOST)


def written(shape: tuple[int, ...]) -> str:
    """Return a shape as it stands on an arrow: 8 × 64."""
    return " × ".join(count(size) for size in shape)


def _draw(axes: Axes, boxes: tuple[Box, ...], arrows: tuple[Arrow, ...]) -> None:
    places = {box.id: (box.column, box.row) for box in boxes}
    axes.set(xlim=(-0.35, 7.35), ylim=(2.4, -0.4))
    axes.set_axis_off()
    frame = {"boxstyle": "round,pad=0.5", "facecolor": "white", "edgecolor": INK_3}
    drawn = {
        box.id: axes.text(
            *places[box.id], box.text, ha="center", va="center", fontsize=9, color=INK, bbox=frame, zorder=3
        )
        for box in boxes
    }
    for arrow in arrows:
        start, end = places[arrow.start], places[arrow.end]
        style = {"arrowstyle": "->", "color": INK_2, "lw": 0.9, "shrinkA": 4, "shrinkB": 4}
        line = {"patchA": drawn[arrow.start].get_bbox_patch(), "patchB": drawn[arrow.end].get_bbox_patch()}
        axes.annotate("", xy=end, xytext=start, arrowprops=style | line)
        x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
        back = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
        axes.text(x, y, written(arrow.shape), ha="center", va="center", fontsize=7, color=INK_2, bbox=back)
