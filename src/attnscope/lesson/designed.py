"""Two heads designed by hand on a line of words: the previous position, and copies of the same word."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from attnscope.core.dense import Steps, steps
from attnscope.core.designed import previous_position, same_token
from attnscope.core.masks import causal
from attnscope.errors import LessonError
from attnscope.lesson.experiment import Experiment, Table
from attnscope.lesson.given import checked
from attnscope.looks.numbers import number, typed, weight

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TEXT = "to be or not to be"
OFFERED = (TEXT, "a rose is a rose is a rose", "the more you look the more you see", "one two three four")
WORTHS = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
HEADS = ("A, the previous position", "B, copies of the same word")
MOST_WORDS = 12


@dataclass(frozen=True, eq=False)
class Line:
    """A line at every worth: weights (worths 2 t t), row sums of exp (worths 2 t), matches (2 t t)."""

    text: str
    words: tuple[str, ...]
    weights: Tensor
    sums: Tensor
    matches: Tensor


@dataclass(frozen=True, eq=False)
class DesignedHeads(Experiment):
    """The two heads on a line; `lines` holds every line and `worths` every worth that the page offers.

    weights (2 t t) are those of the chosen line and worth: first head A, then head B. exps holds exp(worth)
    of each worth.
    """

    text: str
    words: tuple[str, ...]
    worth: float
    q: Tensor
    k: Tensor
    weights: Tensor
    worths: tuple[float, ...]
    exps: tuple[float, ...]
    lines: tuple[Line, ...]

    def tables(self) -> list[Table]:
        """Return one table of weights a head, query rows down and keys across."""
        heads = zip(HEADS, self.weights, strict=True)
        return [
            Table(
                f"Head {name}; a match is worth {typed(self.worth)}",
                ("", *self.words),
                tuple(
                    (f"{i} {word}", *(weight(float(x)) if j <= i else "" for j, x in enumerate(grid[i])))
                    for i, word in enumerate(self.words)
                ),
                "Causal: what is left blank is exactly 0.",
            )
            for name, grid in heads
        ]

    def draw(self) -> Figure:
        """Return the two heads' grids side by side."""
        from attnscope.looks.drawing import figure, heat

        made, axes = figure(1, 2, size=(2.2 + 0.9 * len(self.words), 1 + 0.5 * len(self.words)))
        seen = torch.ones(self.weights.shape[-2:]).tril() > 0
        for one, name, grid in zip(axes, HEADS, self.weights, strict=True):
            heat(one, grid, rows=self.words, title=name, visible=seen)
        return made


@checked
@torch.no_grad()
def designed_heads(*, text: str = TEXT, worth: float = 5.0) -> DesignedHeads:
    """Attend by the two designed heads to the words of `text`, under a causal mask.

    `worth` is the scaled score of a key that matches, against 0 for any other. Raises LessonError for a text
    without words or with too many, and for a worth that is not a number from -20 to 20.
    """
    if not -20 <= worth <= 20:
        raise LessonError(
            f"worth={worth}", wanted="A score from -20 to 20 is wanted", hint="5 gives the lesson's figures"
        )
    worths = tuple(sorted({*WORTHS, worth}))
    lines = tuple(_line(one, worths) for one in dict.fromkeys((text, *OFFERED)))
    q, k = _heads(lines[0].words, worth)
    return DesignedHeads(
        text=text,
        words=lines[0].words,
        worth=worth,
        q=q,
        k=k,
        weights=lines[0].weights[worths.index(worth)],
        worths=worths,
        exps=tuple(math.exp(one) for one in worths),
        lines=lines,
    )


def _line(text: str, worths: tuple[float, ...]) -> Line:
    words = tuple(text.split())
    if not 1 <= len(words) <= MOST_WORDS:
        raise LessonError(
            f"The text {_number_of(words)}",
            wanted=f"1 to {MOST_WORDS} words are wanted, with blanks between them",
        )
    seen = [_seen(words, worth) for worth in worths]
    q, k = _heads(words, 1.0)
    return Line(
        text=text,
        words=words,
        weights=torch.stack([one.weights[0] for one in seen]),
        sums=torch.stack([one.lse[0].exp() for one in seen]),
        matches=((q @ k.mT)[0] > 0).tril(),
    )


def _seen(words: tuple[str, ...], worth: float) -> Steps:
    q, k = _heads(words, worth)
    return steps(q, k, torch.zeros_like(k), causal())


def _heads(words: tuple[str, ...], worth: float) -> tuple[Tensor, Tensor]:
    """q and k of both heads, (1 2 t t) each."""
    ids = torch.tensor([[words.index(word) for word in words]])
    both = previous_position(len(words), worth=worth), same_token(ids, worth=worth)
    q, k = (torch.cat(parts, dim=1) for parts in zip(*both, strict=True))
    return q, k


def _number_of(words: tuple[str, ...]) -> str:
    """How many words there are, as the end of a sentence."""
    return "has no words" if not words else f"has {number(len(words), 0)} words"
