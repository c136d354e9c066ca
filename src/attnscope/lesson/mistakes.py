"""Section 4: the usual mistakes, made on purpose, beside the right weights and what a checker says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from attnscope.core.dense import steps
from attnscope.core.masks import causal, from_tensor
from attnscope.core.positions import sinusoidal
from attnscope.core.scoring import Scoring
from attnscope.errors import LessonError
from attnscope.lesson.checks.finding import Finding
from attnscope.lesson.context import attention_layer, embedding
from attnscope.lesson.diagnose import diagnose
from attnscope.lesson.diagnose_order import diagnose_order
from attnscope.lesson.drawn import generator_of, seeded
from attnscope.lesson.experiment import Experiment, Table
from attnscope.lesson.given import check_whole, checked
from attnscope.looks.drawing import figure, heat
from attnscope.looks.numbers import typed, weight
from attnscope.plain import plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_WORDS = 16
WORDS = ("the", "cat", "sat", "down")
REPEATED = ("to", "be", "or", "not", "to", "be")


@dataclass(frozen=True, eq=False)
class Case:
    """One mistake: the weights it gives and the right ones (t t), and what gives it away.

    code: how it is written by mistake, and `mended` how it should be.   visible: what the mask shows (t t).
    rows, columns: the sums of the wrong weights.   found: what the checker says with mask, q and k (or, for
    positions, with the module); alone: what it says of the weights by themselves.
    """

    name: str
    title: str
    says: str
    code: str
    mended: str
    words: tuple[str, ...]
    weights: Tensor
    right: Tensor
    visible: Tensor
    rows: Tensor
    columns: Tensor
    found: tuple[Finding, ...]
    alone: tuple[Finding, ...]


@dataclass(frozen=True, eq=False)
class Mistakes(Experiment):
    """The six usual mistakes. fill: the finite number that leaks.   d: the width of q and k."""

    cases: tuple[Case, ...]
    d: int
    fill: float

    def case(self, name: str) -> Case:
        """Return a mistake by its name. Raises LessonError with the names there are."""
        for case in self.cases:
            if case.name == name:
                return case
        names = ", ".join(case.name for case in self.cases)
        raise LessonError(f"There is no mistake {name!r}", wanted=f"One of {names} is wanted")

    def tables(self) -> list[Table]:
        rows = tuple(
            (case.title, _span(case.rows), _span(case.columns), one.name.replace("_", " "), one.sentence)
            for case in self.cases
            for one in case.found
        )
        alone = tuple(
            (
                case.title,
                ", ".join(
                    f"{one.name.replace('_', ' ')}{'' if one.sure else ' (perhaps)'}" for one in case.alone
                )
                or "nothing",
            )
            for case in self.cases
        )
        return [
            Table(
                "Six mistakes and what the checker says",
                ("mistake", "rows sum to", "columns sum to", "finding", "evidence"),
                rows,
                "Right weights: every row sums to 1, hidden cells are exactly 0, and the columns are free.",
            ),
            Table("What the weights alone give away, without mask, q and k", ("mistake", "finding"), alone),
        ]

    def draw(self) -> Figure:
        made, axes = figure(2, len(self.cases), size=(3.0 * len(self.cases), 6.2))
        for n, case in enumerate(self.cases):
            for row, (weights, title) in enumerate(((case.right, "right"), (case.weights, case.title))):
                shown = case.visible if row == 0 else case.visible | (weights > 0)
                heat(axes[row][n], weights, rows=case.words, visible=shown, title=title)
        return made

    def to_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = plain(self)
        return found


@checked
def mistakes(*, words: Sequence[str] = WORDS, d: int = 64, fill: float = -2.0, seed: int = 239) -> Mistakes:
    """Return the six usual mistakes, made on a causal head over `words` and, for positions, on repeated
    words.

    q and k are random (seed), d numbers wide; `fill` is what the leaking mask writes instead of -inf. Every
    grid comes from the dense steps. Raises LessonError for fewer than three words or a fill that is not
    finite.
    """
    check_whole("d", d, 1, 4096)
    if not 3 <= len(words) <= MOST_WORDS:
        raise LessonError(f"{len(words)} words", wanted=f"3 to {MOST_WORDS} words are wanted")
    if not -1e30 < fill < 1e30:
        raise LessonError(f"fill={fill}", wanted="A finite number is wanted: -inf is no mistake")
    generator = generator_of(seed)
    q, k = (torch.randn(1, 1, len(words), d, generator=generator, dtype=torch.float64) for _ in range(2))
    made = tuple(_made(name, q, k, tuple(words), fill) for name in _GRIDS)
    return Mistakes((*made, _without_positions(seed)), d, fill)


_GRIDS = {
    "wrong_axis": (
        "Softmax over the wrong axis",
        "Each key’s column is made to sum to 1, and a query’s row sums to anything.",
        "scores.softmax(dim=-2)",
        "scores.softmax(dim=-1)",
    ),
    "unscaled": (
        "No scaling",
        "Products of {d} numbers spread as √{d}, and softmax looks at one key alone.",
        "(q @ k.mT).softmax(-1)",
        "(q @ k.mT / d**0.5).softmax(-1)",
    ),
    "inverted_mask": (
        "Mask the wrong way round",
        "True was meant as “hidden” and read as “may attend”: every word looks at the words after it alone.",
        "scores.masked_fill(mask, -inf)",
        "scores.masked_fill(~mask, -inf)",
    ),
    "mask_after_softmax": (
        "Mask after softmax",
        "The share of the hidden keys is thrown away, and what is left is no whole.",
        "scores.softmax(-1) * mask",
        "scores.masked_fill(~mask, -inf).softmax(-1)",
    ),
    "leaking_fill": (
        "A finite fill that leaks",
        "A fill that is not small enough leaves every hidden key a weight.",
        "scores.masked_fill(~mask, fill)",
        "scores.masked_fill(~mask, -inf)",
    ),
}


def _made(name: str, q: Tensor, k: Tensor, words: tuple[str, ...], fill: float) -> Case:
    title, says, code, mended = _GRIDS[name]
    says = says.format(d=q.shape[-1])
    right = steps(q, k, k, causal())
    visible = right.visible[0, 0]
    grids = {
        "wrong_axis": lambda: steps(k, q, q, from_tensor(visible.T)).weights.mT,
        "unscaled": lambda: steps(q, k, k, Scoring(causal(), scale=1.0)).weights,
        "inverted_mask": lambda: steps(q, k, k, from_tensor(~visible)).weights,
        "mask_after_softmax": lambda: steps(q, k, k).weights * visible,
        "leaking_fill": lambda: of_scores(right.scaled.masked_fill(~visible, fill)),
    }
    weights = grids[name]()[0, 0]
    if name == "leaking_fill":
        code = code.replace("fill)", f"{typed(fill)})".replace("−", "-"))
    found = diagnose(weights, mask=causal(), q=q[0, 0], k=k[0, 0])
    alone = diagnose(weights)
    sums = (weights.sum(dim=1), weights.sum(dim=0))
    return Case(
        name, title, says, code, mended, words, weights, right.weights[0, 0], visible, *sums,
        found.findings, alone.findings,
    )  # fmt: skip


def of_scores(scores: Tensor) -> Tensor:
    """Return the weights of given scores (1 1 tq tk): softmax of each row, by the dense steps.

    The rows of the identity ask, and the keys are the columns of the scores, so that q·k are the scores.
    """
    asks = torch.eye(scores.shape[-2], dtype=scores.dtype)[None, None]
    return steps(asks, scores.mT, scores.mT, Scoring(scale=1.0)).weights


class Attention(nn.Module):
    """One attention layer over words, with or without positions added to what goes in."""

    def __init__(self, width: int, positions: bool) -> None:
        super().__init__()
        self.layer = attention_layer(width)
        self.positions = positions

    def forward(self, x: Tensor) -> Tensor:
        """(b t d) -> (b t d)."""
        out: Tensor = self.layer(self.placed(x))
        return out

    def placed(self, x: Tensor) -> Tensor:
        """x with its positions, where they are not forgotten."""
        return x + sinusoidal(x.shape[1], x.shape[2]).to(x) if self.positions else x


def _without_positions(seed: int, width: int = 8) -> Case:
    with seeded(seed), torch.no_grad():
        vectors = embedding(REPEATED, width)
        x = torch.stack([vectors[word] for word in REPEATED])[None]
        wrong = Attention(width, positions=False)
        right = Attention(width, positions=True)
        right.load_state_dict(wrong.state_dict())
        grids = [one.layer.steps(one.placed(x)).weights[0, 0] for one in (wrong, right)]
    found = diagnose_order(wrong, x)
    weights = grids[0]
    return Case(
        "no_positions",
        "No positions",
        "The words go in without their places: both “to” ask the same, and both “be” answer the same.",
        "x = embed(ids)",
        "x = embed(ids) + position(places)",
        REPEATED, weights, grids[1], torch.ones_like(weights, dtype=torch.bool),
        weights.sum(dim=1), weights.sum(dim=0), found.findings, diagnose(weights).findings,
    )  # fmt: skip


def _span(sums: Tensor) -> str:
    low, high = weight(float(sums.min())), weight(float(sums.max()))
    return low if low == high else f"{low} to {high}"
