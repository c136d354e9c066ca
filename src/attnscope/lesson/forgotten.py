"""Section 4: what forgetting positions costs, in the losses of the lesson's model with and without them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from attnscope.errors import LessonError
from attnscope.gpt import load_shipped, shipped_folder
from attnscope.gpt.curve import CSV
from attnscope.gpt.history import History
from attnscope.lesson.diagnose_order import OrderDiagnosis, diagnose_order
from attnscope.lesson.experiment import Experiment, Table
from attnscope.lesson.given import checked
from attnscope.looks.drawing import SERIES, figure
from attnscope.looks.numbers import count, number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MODELS = ("lesson", "lesson-no-positions")
LINE = "ROMEO:\nBut, soft! what light"


@dataclass(frozen=True, eq=False)
class Curve:
    """The losses of one training, in nats a character: (n 2) each of (step, loss).

    training: means of 50 batches, at the middle step.   validation: the whole last tenth of the text.
    """

    name: str
    training: Tensor
    validation: Tensor

    @property
    def last(self) -> float:
        """Return the validation loss at the end."""
        return float(self.validation[-1, 1])


@dataclass(frozen=True, eq=False)
class ForgottenPositions(Experiment):
    """The same model trained with and without positions, and what the checker of order says of each."""

    with_positions: Curve
    without_positions: Curve
    order_with: OrderDiagnosis
    order_without: OrderDiagnosis

    @property
    def cost(self) -> float:
        """Return by how much the validation loss at the end is higher without positions, nats a character."""
        return self.without_positions.last - self.with_positions.last

    def tables(self) -> list[Table]:
        one, two = self.with_positions.validation, self.without_positions.validation
        rows = tuple(
            (count(int(a[0])), number(float(a[1]), 4), number(float(b[1]), 4), number(float(b[1] - a[1]), 4))
            for a, b in zip(one, two, strict=True)
        )
        order = (
            (
                "with positions",
                self.order_with.sentence,
                number(self.order_with.as_it_is.difference, 4),
                _bare(self.order_with),
            ),
            (
                "without",
                self.order_without.sentence,
                number(self.order_without.as_it_is.difference, 4),
                _bare(self.order_without),
            ),
        )
        return [
            Table(
                "Validation loss, nats a character",
                ("step", "with positions", "without", "cost"),
                rows,
                "The same model, text, seed and steps; the causal mask carries enough order to learn from.",
            ),
            Table(
                "Can each model tell an order?",
                ("model", "finding", "difference of shuffled", "with the mask lifted"),
                order,
            ),
        ]

    def draw(self) -> Figure:
        made, ax = figure(size=(7.2, 4.0))
        for colour, label, curve in (
            (SERIES[0], "with positions", self.with_positions),
            (SERIES[1], "without positions", self.without_positions),
        ):
            ax.plot(*curve.training.T.numpy(), color=colour, linewidth=1.0, alpha=0.55)
            ax.plot(
                *curve.validation.T.numpy(), "o-", color=colour, markersize=4, label=f"{label}, validation"
            )
            above = curve is self.without_positions
            ax.annotate(
                number(curve.last, 4), tuple(curve.validation[-1].tolist()), (0, 10 if above else -16),
                textcoords="offset points", ha="right", color=colour,
            )  # fmt: skip
        ax.set_ylim(1.4, 3.0)
        ax.set_xlabel("step")
        ax.set_ylabel("loss, nats a character")
        ax.set_title("Forgetting positions costs; thin lines: training, means of 50 steps")
        ax.legend()
        return made


@checked
def forgotten_positions(*, text: str = LINE) -> ForgottenPositions:
    """Return the losses of the shipped models with and without positions, and whether each can tell an order.

    text: what the checker shuffles, in characters of the models. Raises LessonError for a text of fewer than
    two characters, and what the tokenizer raises for a character that the models do not know.
    """
    if len(text) < 2:
        raise LessonError(f"The text is {text!r}", wanted="At least two characters to shuffle are wanted")
    curves = [_curve(name) for name in MODELS]
    orders = []
    for name in MODELS:
        model = load_shipped(name)
        ids = torch.tensor([model.tokenizer.encode(text)])
        orders.append(diagnose_order(model, ids))
    return ForgottenPositions(curves[0], curves[1], orders[0], orders[1])


def _curve(name: str) -> Curve:
    history = History.from_csv((shipped_folder(name) / CSV).read_text(encoding="utf-8"))
    return Curve(
        name,
        torch.tensor(history.smoothed(), dtype=torch.float64),
        torch.tensor(sorted(history.validation.items()), dtype=torch.float64),
    )


def _bare(order: OrderDiagnosis) -> str:
    return "no mask" if order.unmasked is None else number(order.unmasked.difference, 4)
