"""Section 1: what a late word changes before it, in a bidirectional layer and in a causal one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from attnscope.errors import LessonError
from attnscope.lesson.context import attended, attention_layer, embedding, per_token, through
from attnscope.lesson.drawn import seeded
from attnscope.lesson.experiment import Experiment, Table
from attnscope.lesson.given import check_whole, checked
from attnscope.looks.drawing import SERIES, figure
from attnscope.looks.numbers import number, weight

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ANIMAL = "The animal didn't cross the street because it was too"


@dataclass(frozen=True, eq=False)
class LateWord(Experiment):
    """One sentence with two endings, through one attention layer with and without a causal mask.

    start: the words before the ending.   place: of the word that is watched.   token_by_token, bidirectional,
    causal: vectors (2 t d) after one layer, one grid an ending.   looks_*: the weights (2 t) of the watched
    word. *_change: the length (t) of what the ending changed at each word; 0 is exactly no change.
    """

    start: tuple[str, ...]
    endings: tuple[str, str]
    word: str
    place: int
    token_by_token: Tensor
    bidirectional: Tensor
    causal: Tensor
    looks_bidirectional: Tensor
    looks_causal: Tensor
    bidirectional_change: Tensor
    causal_change: Tensor
    token_by_token_change: Tensor

    def tables(self) -> list[Table]:
        names = (*self.start, " / ".join(self.endings))
        changes = tuple(
            (name, *(number(float(x[n]), 3) for x in self._changes())) for n, name in enumerate(names)
        )
        looks = tuple(
            (mask, ending, weight(float(both[n][-1])))
            for mask, both in (("bidirectional", self.looks_bidirectional), ("causal", self.looks_causal))
            for n, ending in enumerate(self.endings)
        )
        one, two = self.endings
        return [
            Table(
                f"What changing {one} to {two} changes at each word",
                ("word", "per-token layer", "attention, bidirectional", "attention, causal"),
                changes,
                "The length of the difference of the two vectors; 0 is exactly none.",
            ),
            Table(f"The weight of {self.word} on the last word", ("mask", "last word", "weight"), looks),
        ]

    def _changes(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.token_by_token_change, self.bidirectional_change, self.causal_change

    def draw(self) -> Figure:
        made, ax = figure(size=(8, 3.4))
        names = [*self.start, "/".join(self.endings)]
        for n, (label, change) in enumerate(
            (("bidirectional", self.bidirectional_change), ("causal", self.causal_change))
        ):
            at = torch.arange(len(names)) + 0.2 * (2 * n - 1)
            bars = ax.bar(at, change.numpy(), width=0.38, color=SERIES[n], label=label)
            written = [number(float(x), 2) for x in change]
            ax.bar_label(bars, written, fontsize=7, color=SERIES[n], padding=2)
        ax.set_xticks(range(len(names)), names, rotation=30, ha="right")
        ax.get_xticklabels()[self.place].set_fontweight("bold")
        ax.set_ylabel("change of the vector")
        ax.set_title(f"Another last word: {self.endings[0]} becomes {self.endings[1]}")
        ax.legend(loc="upper left")
        return made


@checked
def late_word(
    *,
    start: str = ANIMAL,
    endings: Sequence[str] = ("tired", "wide"),
    word: str = "it",
    width: int = 8,
    seed: int = 28,
) -> LateWord:
    """Return what the last word of a sentence changes at `word`, bidirectional and causal.

    Words have random vectors of `width` numbers (seed) and no positions; the layer is one head with random
    projections, added to its input. Raises LessonError unless there are two different endings and the word
    stands before them.
    """
    before = tuple(start.split())
    if len(endings) != 2 or endings[0] == endings[1] or any(len(one.split()) != 1 for one in endings):
        raise LessonError(
            f"endings are {', '.join(map(repr, endings))}", wanted="Two different words are wanted"
        )
    if word not in before:
        raise LessonError(
            f"The word {word!r} is not in {start!r}", wanted="A word before the ending is wanted"
        )
    check_whole("width", width, 1, 1024)
    with seeded(seed), torch.no_grad():
        vectors = embedding([*before, *endings], width)
        layer = attention_layer(width)
        alone = per_token(width)
        both = [torch.stack([vectors[w] for w in (*before, end)]) for end in endings]
        free = [attended(layer, x) for x in both]
        past = [attended(layer, x, causal=True) for x in both]
        deep = [through([alone], x)[0] for x in both]
    place = before.index(word)
    return LateWord(
        start=before,
        endings=(endings[0], endings[1]),
        word=word,
        place=place,
        bidirectional=torch.stack([out for out, _ in free]),
        causal=torch.stack([out for out, _ in past]),
        looks_bidirectional=torch.stack([weights[place] for _, weights in free]),
        looks_causal=torch.stack([weights[place] for _, weights in past]),
        bidirectional_change=(free[0][0] - free[1][0]).norm(dim=-1),
        causal_change=(past[0][0] - past[1][0]).norm(dim=-1),
        token_by_token=torch.stack(deep),
        token_by_token_change=(deep[0] - deep[1]).norm(dim=-1),
    )
