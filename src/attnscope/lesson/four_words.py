"""Four words by hand: every number of "the cat sat down", and the walk of one of its queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from attnscope.errors import LessonError
from attnscope.lesson.experiment import Experiment, Table
from attnscope.lesson.given import checked
from attnscope.lesson.walk.beginning import FIRST, WK, WORDS, WQ, WV, identity
from attnscope.lesson.walk.recipe import recipe
from attnscope.lesson.walk.sheet import PROJECTED, Edit, Rows, Sheet
from attnscope.lesson.walk.values import evaluate
from attnscope.lesson.walk.walk import Walk, walk
from attnscope.lesson.walk.writing import three, typed
from attnscope.looks.numbers import count, number
from attnscope.plain import plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Write = Callable[[float], str]
Matrix = Sequence[Sequence[float]] | Tensor
QUERY = 2  # sat


@dataclass(frozen=True, eq=False)
class FourWords(Experiment):
    """The numbers of a sheet, (n n) and (n d) in float64, and its walk.

    `products` come from one matrix product, `loops` from two loops over the words. weights and outputs are
    those without a mask, causal_weights and causal_outputs those with it; `walk` does as the sheet says.
    """

    words: tuple[str, ...]
    q: Tensor
    k: Tensor
    v: Tensor
    products: Tensor
    loops: Tensor
    weights: Tensor
    outputs: Tensor
    causal_weights: Tensor
    causal_outputs: Tensor
    walk: Walk

    def tables(self) -> list[Table]:
        """Return queries, keys and values, products, weights and outputs in both ways, and the walk."""
        gap = float((self.products - self.loops).abs().max())
        cells = count(self.products.numel())
        same = f"Two loops and one matrix product give the same {cells} numbers"
        apart = "." if gap == 0 else f", up to {number(gap, 3)}."
        ones = "Every row adds up to 1."
        return [
            self._vectors(
                "Queries, keys and values", {"query": self.q, "key": self.k, "value": self.v}, typed
            ),
            self._grid("Products q · k", self.products, typed, same + apart),
            self._grid("Weights, every word visible", self.weights, three, ones),
            self._grid(
                "Weights, causal", self.causal_weights, three, f"{ones} 0 is exact: hidden, not small."
            ),
            self._vectors(
                "Outputs", {"every word visible": self.outputs, "causal": self.causal_outputs}, three
            ),
            self._steps(),
        ]

    def draw(self) -> Figure:
        """Return the weights without a mask and under a causal one, side by side."""
        from attnscope.looks.drawing import figure, heat

        made, axes = figure(1, 2)
        seen = torch.ones_like(self.weights, dtype=torch.bool)
        labels = self.walk.values.labels
        heat(axes[0], self.weights, rows=labels, title="Every word visible")
        heat(axes[1], self.causal_weights, rows=labels, title="Causal", visible=seen.tril())
        return made

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers, the sheet, the walk's steps, and the recipe by which a page walks itself."""
        kept = {name: plain(value) for name, value in vars(self).items() if name != "walk"}
        steps = [step.to_dict() | {"text": step.text} for step in self.walk.steps]
        found = {"sheet": self.walk.sheet.to_dict(), "query": self.walk.query, "steps": steps}
        return {"recipe": recipe()} | found | kept

    def _grid(self, title: str, grid: Tensor, write: Write, note: str) -> Table:
        labels = self.walk.values.labels
        rows = [(word, *map(write, row)) for word, row in zip(labels, grid.tolist(), strict=True)]
        return Table(title, ("", *labels), tuple(rows), note)

    def _vectors(self, title: str, columns: dict[str, Tensor], write: Write) -> Table:
        rows = [
            (word, *(f"[{', '.join(map(write, grid[i].tolist()))}]" for grid in columns.values()))
            for i, word in enumerate(self.walk.values.labels)
        ]
        return Table(title, ("", *columns), tuple(rows))

    def _steps(self) -> Table:
        word = self.walk.values.labels[self.walk.query]
        rows = [(str(step.number), step.stage, step.text) for step in self.walk.steps]
        mask = "causal" if self.walk.sheet.causal else "no mask"
        return Table(f"The walk of {word}, {mask}", ("step", "stage", "what happens"), tuple(rows))


@checked
@torch.no_grad()
def four_words(
    *,
    words: Sequence[str] = WORDS[:FIRST],
    x: Matrix | None = None,
    wq: Matrix | None = None,
    wk: Matrix | None = None,
    wv: Matrix | None = None,
    q: Matrix | None = None,
    k: Matrix | None = None,
    v: Matrix | None = None,
    causal: bool = False,
    scale: bool = True,
    query: int | None = None,
) -> FourWords:
    """Attend with a handful of words and numbers that one can check by hand.

    By default the lesson's: "the cat sat down", x the identity (one row for each distinct word), and wq, wk,
    wv (width d) the queries, keys and values themselves; more words take spare rows. q, k, v (n d) stand
    instead of what x and a matrix would give. `causal` and `scale` are what the walk follows, by default that
    of the third word. Raises LessonError for what is no sheet: 2 to 8 words, d and width 1 to 8, numbers
    that are finite and up to a million.
    """
    listed = tuple(words)
    rows = len(set(listed))
    spare = {"x": identity(rows), "wq": WQ[:rows], "wk": WK[:rows], "wv": WV[:rows]}
    given = {"x": x, "wq": wq, "wk": wk, "wv": wv}
    matrices = {name: spare[name] if one is None else _rows(name, one) for name, one in given.items()}
    edited = tuple(
        Edit(name, i, c, value)
        for name, one in zip(PROJECTED, (q, k, v), strict=True)
        for i, row in enumerate(() if one is None else _vectors(name, one, len(listed), matrices["wq"]))
        for c, value in enumerate(row)
    )
    sheet = Sheet(listed, **matrices, edited=edited, causal=causal, scale=scale)
    return of_sheet(sheet, query=query)


@torch.no_grad()
def of_sheet(sheet: Sheet, *, query: int | None = None) -> FourWords:
    """Return the numbers of a sheet, such as a saved one, and the walk of the word at position `query`."""
    open_, masked = (evaluate(replace(sheet, causal=causal)).grids for causal in (False, True))
    q, k = open_["q"], open_["k"]
    return FourWords(
        words=sheet.words,
        q=q,
        k=k,
        v=open_["v"],
        products=q @ k.T,
        loops=torch.stack([torch.stack([one.dot(other) for other in k]) for one in q]),
        weights=open_["weights"],
        outputs=open_["out"],
        causal_weights=masked["weights"],
        causal_outputs=masked["out"],
        walk=walk(sheet, min(QUERY, sheet.n - 1) if query is None else query),
    )


def _vectors(name: str, matrix: Matrix, n: int, projection: Rows) -> Rows:
    """The rows of q, k or v: one for each word, as wide as the projections make them."""
    rows, d = _rows(name, matrix), len(projection[0]) if projection else 0
    if len(rows) != n or any(len(row) != d for row in rows):
        raise LessonError(
            f"{name} is {len(rows)} by {len(rows[0]) if rows else 0}", wanted=f"{n} by {d} is wanted"
        )
    return rows


def _rows(name: str, matrix: Matrix) -> Rows:
    """A matrix as rows of Python floats: the sheet checks every number."""
    rows = matrix.tolist() if isinstance(matrix, Tensor) else matrix
    if not isinstance(rows, list | tuple) or not all(isinstance(row, list | tuple) for row in rows):
        raise LessonError(f"{name} is {rows!r:.60}", wanted="Rows of numbers are wanted")
    return tuple(tuple(row) for row in rows)
