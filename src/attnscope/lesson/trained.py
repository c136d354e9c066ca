"""The same heads before and after training, on the same line, and those of the larger model."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from attnscope.errors import LessonError
from attnscope.gpt import GPT, load_shipped, shipped_folder
from attnscope.lesson.experiment import Experiment, Table
from attnscope.lesson.given import checked
from attnscope.lesson.habits import Habit, habits_of
from attnscope.lesson.looked import TOP, Looked, at_head, look, shown
from attnscope.looks.numbers import number, weight
from attnscope.models.tokens import Token, of_text
from attnscope.plain import plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINE = "ROMEO:\nBut, soft! what light"
_GAP = 5  # cells between two small pictures
LONGEST = 64  # characters: the context of the lesson's model
_RECORD = "training.json"
_A_HABIT = 2  # times an even spread, from which on a head is said to have it
_OTHERS = (2, 3, 4, 5)  # seeds of other models that were never trained either


@dataclass(frozen=True)
class Finding:
    """One thing to see: in which model and head, which habit it is of ("" for none), and the sentence."""

    model: str
    habit: str
    layer: int
    head: int
    says: str


@dataclass(frozen=True, eq=False)
class TrainedHeads(Experiment):
    """The line, the models on it, and what the numbers say of their heads.

    untrained is the model that training began with: same seed, same shape, no step. even: the share of each
    key in the last row if all were alike, 1 / t. draws: for other seeds, where and how large the largest
    weight of the last row is in a model that was never trained: (seed, layer, head, key, weight).
    """

    text: str
    tokens: tuple[Token, ...]
    seed: int
    steps: int
    even: float
    untrained: Looked
    lesson: Looked
    embedded: Looked
    habits: tuple[Habit, ...]
    draws: tuple[tuple[int, int, int, int, float], ...]

    @property
    def models(self) -> tuple[Looked, Looked, Looked]:
        """Return the three, in the order of the lesson."""
        return self.untrained, self.lesson, self.embedded

    def findings(self) -> list[Finding]:
        """Return what there is to see, each as one sentence with its numbers, and the head it is seen in."""
        layer, head, key, most = self.untrained.last()
        said = (
            f"Before training the largest weight in any head’s last row is {weight(most)}, in "
            f"{at_head(layer, head)} on {self.place(key)}: {_times(most, self.even)} the even share of "
            f"{weight(self.even)}. It means nothing: other draws put theirs elsewhere."
        )
        trained = (self._finding(model, one) for model in (self.lesson, self.embedded) for one in self.habits)
        return [Finding("untrained", "", layer, head, said), *trained]

    def place(self, at: int) -> str:
        """Return a character with its position, as one reads it: "t 21", "space 15"."""
        return f"{shown(self.tokens[at])} {at}"

    def tables(self) -> list[Table]:
        """Return the last row's largest weights, the habits, and what each model expects next."""
        rows = []
        for model in self.models:
            layer, head, key, most = model.last()
            times = f"{number(most / self.even, 1)} times"
            rows.append((model.title, at_head(layer, head), self.place(key), weight(most), times))
        draws = [
            (
                f"untrained, seed {seed}",
                at_head(layer, head),
                self.place(key),
                weight(most),
                _times(most, self.even),
            )
            for seed, layer, head, key, most in self.draws
        ]
        t = len(self.tokens)
        note = f"An even share of the last row is 1/{t} = {weight(self.even)}."
        columns = ("model", "head", "on", "weight", "of the even share")
        last = Table("The last row’s largest weight", columns, (*rows, *draws), note)
        see = Table("What there is to see", ("",), tuple((one.says,) for one in self.findings()))
        return [last, self._each_head(), *(self._habit(one) for one in self.habits), self._next(), see]

    def draw(self) -> Figure:
        """Return every head of the lesson's model before and after, and of the embedded model."""
        from attnscope.looks.drawing import figure

        made, axes = figure(1, len(self.models), size=(13.0, 5.0))
        for one, model in zip(axes, self.models, strict=True):
            _mosaic(one, model)
        return made

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values, the grids without the cells that are not visible."""
        return {
            "text": self.text,
            "tokens": [token.to_dict() | {"i": i} for i, token in enumerate(self.tokens)],
            "seed": self.seed,
            "steps": self.steps,
            "even": self.even,
            "models": [model.to_dict() for model in self.models],
            "habits": plain(list(self.habits)),
            "draws": plain(self.draws),
            "findings": plain(self.findings()),
        }

    def _finding(self, model: Looked, habit: Habit) -> Finding:
        layer, head, share = model.strongest(habit.name)
        even = f"an even spread would give {weight(habit.even)}"
        said = f"{model.title}: {at_head(layer, head)} puts {weight(share)} on {habit.says}; {even}"
        if share < _A_HABIT * habit.even:
            said = (
                f"{model.title}: no head makes a habit of {habit.says}; the most is {weight(share)}, in "
                f"{at_head(layer, head)}, and {even}"
            )
        elif model is self.lesson:
            before = float(self.untrained.habits[habit.name][layer, head])
            said += f", and the same head before training {weight(before)}"
        return Finding(model.name, habit.name, layer, head, f"{said}.")

    def _each_head(self) -> Table:
        largest = {model.name: model.weights[:, :, -1].amax(dim=-1) for model in self.models[:2]}
        heads = range(self.lesson.weights.shape[1])
        rows = tuple(
            (name, f"layer {layer}", *(weight(float(x)) for x in row))
            for name, grid in largest.items()
            for layer, row in enumerate(grid)
        )
        columns = ("model", "", *(f"head {head}" for head in heads))
        return Table("The last row’s largest weight, head by head", columns, rows)

    def _habit(self, habit: Habit) -> Table:
        rows = tuple(
            (model.title, f"layer {layer}", *(weight(float(x)) for x in row))
            for model in self.models
            for layer, row in enumerate(model.habits[habit.name])
        )
        widest = max(len(row) for row in rows)
        rows = tuple(row + ("",) * (widest - len(row)) for row in rows)
        note = f"Mean over {habit.rows} rows; an even spread would give {weight(habit.even)}."
        columns = ("model", "", *(f"head {head}" for head in range(widest - 2)))
        return Table(f"Weight on {habit.says}", columns, rows, note)

    def _next(self) -> Table:
        rows = tuple(
            (model.title, *(f"{shown(token)} {weight(p)}" for token, p in model.next[-1]))
            for model in self.models
        )
        columns = ("model", *(f"{at + 1}." for at in range(TOP)))
        return Table(f"What comes after {self.place(len(self.tokens) - 1)}", columns, rows)


@checked
def trained_heads(*, text: str = LINE) -> TrainedHeads:
    """Look at every head of three models on one line: the lesson's untrained and trained, and embedded.

    The untrained one is what `attnscope train --preset lesson` makes of the seed in the shipped training.json
    before its first step. Weights are those that `record` gives. Raises LessonError for a text of no or more
    than 64 characters, UnknownCharacter for one that the models do not know.
    """
    if not 2 <= len(text) <= LONGEST:
        raise LessonError(
            f"A text of {len(text)} characters",
            wanted=f"From 2 to {LONGEST} are wanted, which is what the model reads",
        )
    trained = load_shipped("lesson")
    facts = json.loads((shipped_folder("lesson") / _RECORD).read_text("utf-8"))
    seed, steps = facts["seed"], facts["recipe"]["steps"]
    habits = habits_of(text)
    heads = trained.config.n_layers * trained.config.n_heads
    first, after, larger = (
        look(model, text, habits, name=name, title=title, says=says)
        for model, name, title, says in (
            (_untrained(trained, seed), "untrained", "lesson, untrained", f"{heads} heads as drawn"),
            (trained, "lesson", "lesson, trained", f"the same {heads} heads after {steps:,} steps"),
            (load_shipped("embedded"), "embedded", "embedded", "a larger model, trained longer"),
        )
    )
    draws = tuple((other, *look(_untrained(trained, other), text).last()) for other in _OTHERS)
    tokens = tuple(of_text(at, one) for at, one in zip(trained.tokenizer.encode(text), text, strict=True))
    return TrainedHeads(text, tokens, seed, steps, 1 / len(text), first, after, larger, habits, draws)


def _untrained(trained: GPT, seed: int) -> GPT:
    """A model as training begins it: the shape and characters of `trained`, drawn from the seed."""
    return GPT(trained.config, trained.tokenizer, seed=seed).eval()


def _mosaic(axes: Any, model: Looked) -> None:
    """Every head as a small picture, layers down and heads across, each row by its largest weight."""
    from attnscope.looks.drawing import colour_map

    layers, heads, t, _ = model.weights.shape
    side = t + _GAP
    whole = torch.full((layers * side, heads * side), torch.nan)
    seen = torch.ones(t, t).tril() > 0
    for layer in range(layers):
        for head in range(heads):
            grid = model.weights[layer, head]
            by_row = (grid / grid.amax(dim=-1, keepdim=True)).masked_fill(~seen, torch.nan)
            whole[layer * side : layer * side + t, head * side : head * side + t] = by_row
    axes.imshow(whole.numpy(), cmap=colour_map(), vmin=0, vmax=1, interpolation="nearest")
    axes.set_xticks([head * side + t / 2 for head in range(heads)], [f"H{head}" for head in range(heads)])
    axes.set_yticks([layer * side + t / 2 for layer in range(layers)], [f"L{at}" for at in range(layers)])
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_title(model.title, loc="left")


def _times(most: float, even: float) -> str:
    return f"{number(most / even, 1)} times"
