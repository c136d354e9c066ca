"""What attention knows of the order of words: nothing by itself, something with positions or a mask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from attnscope.core.mask import Mask
from attnscope.core.masks import causal, full
from attnscope.core.positions import sinusoidal
from attnscope.errors import LessonError
from attnscope.lesson.drawn import drawn, normal
from attnscope.lesson.experiment import Experiment, Table
from attnscope.lesson.given import checked
from attnscope.looks.numbers import count, number
from attnscope.nn import MultiHeadAttention

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WAYS = ("plain", "positions", "causal")
NAMES = ("no positions, no mask", "positions added", "no positions, causal mask")
WIDTH = 4
MOST_SHUFFLED = 5
SCALE = 3.0  # of the drawn vectors: with small ones every weight is nearly even, and little can be seen


@dataclass(frozen=True, eq=False)
class WordOrder(Experiment):
    """Two sentences of the same words through one layer, in three ways.

    out (ways 2 t d): outputs of both sentences, in their own order; moved (ways t): how far the output of
    each word of the first sentence lies from that of the same word in the second, as the largest difference.
    """

    sentences: tuple[str, str]
    words: tuple[tuple[str, ...], tuple[str, ...]]
    ways: tuple[str, ...]
    names: tuple[str, ...]
    seed: int
    out: Tensor
    moved: Tensor

    def tables(self) -> list[Table]:
        """Return how far each word's output moves when the order does."""
        rows = tuple(
            (word, *(number(float(x), 4) for x in self.moved[:, i])) for i, word in enumerate(self.words[0])
        )
        return [
            Table(
                f"“{self.sentences[0]}” and “{self.sentences[1]}”: largest difference of each word's output",
                ("", *self.names),
                rows,
                "Without positions and mask both sentences are one set of words.",
            )
        ]

    def draw(self) -> Figure:
        """Return how far each word's output moves, one group of bars a word."""
        from attnscope.looks.drawing import SERIES, figure

        made, axes = figure(size=(6, 3))
        place = torch.arange(len(self.words[0]), dtype=torch.float64)
        for at, (name, moved) in enumerate(zip(self.names, self.moved, strict=True)):
            axes.bar((place + 0.26 * (at - 1)).tolist(), moved.tolist(), 0.24, color=SERIES[at], label=name)
        axes.set_xticks(place.tolist(), self.words[0])
        axes.set_ylabel("largest difference of the output")
        axes.legend(loc="lower left", bbox_to_anchor=(-0.08, 1.0), ncols=3, fontsize=8, handlelength=1)
        return made


@dataclass(frozen=True, eq=False)
class Shuffle(Experiment):
    """Every order of a few tokens through one layer, in three ways.

    orders (n t): row r says which token stands where; out (ways n t d) in that order. by_word (ways n t): the
    largest difference between the output of the token that stands there and its output in the first order;
    moved (ways n) the largest of them.
    """

    words: tuple[str, ...]
    ways: tuple[str, ...]
    names: tuple[str, ...]
    seed: int
    orders: Tensor
    out: Tensor
    by_word: Tensor
    moved: Tensor

    def tables(self) -> list[Table]:
        """Return the least and the largest of what each way differs by, over all orders but the first."""
        rows = tuple(
            (name, number(float(moved.min()), 4), number(float(moved.max()), 4))
            for name, moved in zip(self.names, self.moved[:, 1:], strict=True)
        )
        return [
            Table(
                f"All {count(len(self.orders))} orders of “{' '.join(self.words)}”, each against the first",
                ("", "least of the largest differences", "largest difference"),
                rows,
                "The first order's outputs go along with their words. Near 0 is: the same outputs, shuffled.",
            )
        ]

    def draw(self) -> Figure:
        """Return the largest difference of every order, in three ways."""
        from attnscope.looks.drawing import SERIES, figure

        made, axes = figure(size=(6, 3))
        for at, (name, moved) in enumerate(zip(self.names, self.moved, strict=True)):
            axes.plot(moved.tolist(), ".", color=SERIES[at], markersize=4, label=name)
        axes.set_xlabel("order")
        axes.set_ylabel("largest difference")
        axes.legend(loc="lower left", bbox_to_anchor=(-0.08, 1.0), ncols=3, fontsize=8, handlelength=1)
        return made


@checked
@torch.no_grad()
def word_order(
    *, sentences: Sequence[str] = ("dog bites man", "man bites dog"), seed: int = 118
) -> WordOrder:
    """Send two orders of the same words through one drawn layer: plain, with positions, and causal.

    Raises LessonError unless the two sentences hold the same words, each of them once.
    """
    if len(sentences) != 2:
        raise LessonError(f"{len(sentences)} sentences", wanted="Two with the same words are wanted")
    first, second = sentences
    words = tuple(first.split()), tuple(second.split())
    if not words[0] or sorted(words[0]) != sorted(words[1]) or len(set(words[0])) < len(words[0]):
        raise LessonError(
            f"“{first}” and “{second}”", wanted="The same words in two orders are wanted, each word once"
        )
    x = _vectors(len(words[0]), seed)
    order = [words[0].index(word) for word in words[1]]
    back = [words[1].index(word) for word in words[0]]
    out = torch.stack([_layer(torch.stack([x, x[order]]), way, seed) for way in WAYS])  # (ways 2 t d)
    moved = (out[:, 1, back] - out[:, 0]).abs().amax(dim=-1)
    return WordOrder((first, second), words, WAYS, NAMES, seed, out, moved)


@checked
@torch.no_grad()
def shuffle(*, words: Sequence[str] = ("dog", "bites", "man", "at", "noon"), seed: int = 118) -> Shuffle:
    """Send every order of the words through one drawn layer: plain, with positions that stay, and causal.

    Raises LessonError for fewer than two words, more than five, or one that comes twice.
    """
    words = tuple(words)
    if not 2 <= len(words) <= MOST_SHUFFLED or len(set(words)) < len(words) or not all(words):
        raise LessonError(
            f"words={words!r}",
            wanted=f"2 to {MOST_SHUFFLED} different words are wanted",
            hint="Five words have 120 orders already",
        )
    x = _vectors(len(words), seed)
    orders = torch.tensor(list(permutations(range(len(words)))))  # (n t), the first as given
    out = torch.stack([_layer(x[orders], way, seed) for way in WAYS])  # (ways n t d)
    by_word = (out - out[:, 0][:, orders]).abs().amax(dim=-1)
    return Shuffle(words, WAYS, NAMES, seed, orders, out, by_word, by_word.amax(dim=-1))


def _layer(x: Tensor, way: str, seed: int) -> Tensor:
    """x (b t d) through the one layer: the positions stay where they are, whatever word stands there."""
    module = drawn(lambda: MultiHeadAttention(WIDTH, 1), seed=seed)
    if way == "positions":
        x = x + sinusoidal(x.shape[1], WIDTH)
    mask: Mask = causal() if way == "causal" else full()
    out: Tensor = module(x, scoring=mask)
    return out


def _vectors(n: int, seed: int) -> Tensor:
    return normal(n, WIDTH, seed=seed + 1) * SCALE
