"""A width seen as heads: what splitting does to the numbers, and what each head is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.autograd.functional import jacobian

from attnscope.lesson.drawn import drawn, normal
from attnscope.lesson.experiment import Experiment, Table
from attnscope.lesson.given import check_whole, checked
from attnscope.looks.numbers import count, number, weight
from attnscope.nn import CausalSelfAttention
from attnscope.nn.heads import join_heads, split_heads

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_TOKENS = 64


@dataclass(frozen=True, eq=False)
class Split(Experiment):
    """One sequence through one layer, its queries seen as heads and joined again.

    queries (1 t c); heads (1 h t d), the same numbers; joined (1 t c); lossless: joined is bit-equal to
    queries; weights (h t t). influence (h c): how far a head's d numbers of one token move with each of that
    token's c inputs, as the length of their gradient, and least the smallest of them; sliced (h c): the same
    for slices of the unprojected input.
    """

    seed: int
    queries: Tensor
    heads: Tensor
    joined: Tensor
    lossless: bool
    weights: Tensor
    influence: Tensor
    least: float
    sliced: Tensor

    def tables(self) -> list[Table]:
        """Return the shapes there and back, what each head weighs, and what each is made of."""
        _, h, t, d = self.heads.shape
        shapes = (
            ("queries", _shape(self.queries), count(self.queries.numel())),
            (f"seen as {h} heads", _shape(self.heads), count(self.heads.numel())),
            ("side by side again", _shape(self.joined), count(self.joined.numel())),
        )
        own = tuple(
            (f"head {i}", _shape(grid), weight(float(grid[-1].max())), str(int(grid[-1].argmax())))
            for i, grid in enumerate(self.weights)
        )
        made = tuple(
            (
                f"head {i}",
                f"{int((self.influence[i] > 0).sum())} of {self.influence.shape[1]}",
                number(float(self.influence[i].min()), 3),
                f"{int((self.sliced[i] > 0).sum())} of {self.sliced.shape[1]}",
            )
            for i in range(h)
        )
        same = "bit for bit" if self.lossless else "with a difference"
        return [
            Table("Seen as heads, and back", ("", "shape", "numbers"), shapes, f"The same numbers, {same}."),
            Table(
                "Each head has weights of its own",
                ("", "weights", f"largest of row {t - 1}", "at key"),
                own,
            ),
            Table(
                "What a head's numbers are made of",
                ("", "inputs that move its query", "least influence", "as a slice of the input"),
                made,
                f"All {d} numbers of a head come from all inputs: the projection comes before the split.",
            ),
        ]  # fmt: skip

    def draw(self) -> Figure:
        """Return the heads' weights above, and below them which inputs move each head."""
        from attnscope.looks.drawing import INK, SERIES, figure, heat

        h, t = len(self.weights), self.weights.shape[-1]
        made, axes = figure(2, h, size=(2.7 * h, 4.8))
        seen = torch.ones(t, t).tril() > 0
        above, below = axes.reshape(2, h)
        for head in range(h):
            rows = [str(row) for row in range(t)]
            heat(
                above[head], self.weights[head], rows=rows, title=f"head {head}", visible=seen, written=False
            )
            below[head].fill_between(
                range(self.sliced.shape[1]), self.sliced[head], color=SERIES[3], step="mid"
            )
            below[head].plot(self.influence[head], color=INK, linewidth=1)
            below[head].set_ylim(0)
            below[head].set_xlabel("input")
        below[0].set_ylabel("moves the head by")
        below[0].set_title("line: learned, area: a slice of the input", fontsize=8)
        return made


@checked
@torch.no_grad()
def split(*, tokens: int = 10, d_model: int = 64, n_heads: int = 4, seed: int = 5) -> Split:
    """See the queries of one drawn sequence (1, tokens, d_model) as heads, and put them together again.

    The layer is CausalSelfAttention(d_model, n_heads). Raises LessonError for a length it cannot show,
    ShapeError where d_model is not n_heads equal parts.
    """
    check_whole("tokens", tokens, 1, MOST_TOKENS)
    check_whole("d_model", d_model, 1, 1024)
    check_whole("n_heads", n_heads, 1, 64)
    module = drawn(lambda: CausalSelfAttention(d_model, n_heads), seed=seed)
    x = normal(1, tokens, d_model, seed=seed + 1)
    heads = module.project(x)[0]
    queries = module.qkv(x)[..., :d_model]
    joined = join_heads(heads)

    def queries_of(token: Tensor) -> Tensor:
        return module.project(token[None, None])[0][0, :, 0]  # (h d)

    def slices_of(token: Tensor) -> Tensor:
        return split_heads(token[None, None], n_heads)[0, :, 0]  # (h d)

    with torch.enable_grad():
        learned, sliced = (
            jacobian(made_of, x[0, -1])  # type: ignore[no-untyped-call]
            for made_of in (queries_of, slices_of)
        )  # (h d c)
    influence = learned.norm(dim=1)
    return Split(
        seed=seed,
        queries=queries,
        heads=heads,
        joined=joined,
        lossless=torch.equal(joined, queries) and torch.equal(split_heads(joined, n_heads), heads),
        weights=module.steps(x).weights[0],
        influence=influence,
        least=float(influence.min()),
        sliced=sliced.norm(dim=1),
    )


def _shape(x: Tensor) -> str:
    return f"({', '.join(map(str, x.shape))})"
