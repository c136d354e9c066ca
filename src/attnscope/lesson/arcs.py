"""Section 10: what "it" looks at in two sentences that differ in their last word, with invented weights.

Two layers do it. In the first, "it" reads the last word, if the mask lets it; in the second it asks. The
weights are invented; the scores of both layers are chosen so that softmax gives exactly these.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from attnscope.core.dense import Steps, steps
from attnscope.core.masks import causal, full
from attnscope.core.scoring import Scoring
from attnscope.errors import LessonError
from attnscope.lesson.experiment import Experiment, Table
from attnscope.lesson.given import checked, of_kind
from attnscope.looks.drawing import ACCENT, INK, INK_2, SERIES, figure
from attnscope.looks.numbers import weight

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SENTENCE = "The animal didn't cross the street because it was too"
WEIGHTS = {  # of "it", bidirectional, one for each word; the last is the ending's own
    "tired": (0.01, 0.62, 0.01, 0.01, 0.01, 0.08, 0.01, 0.12, 0.01, 0.01, 0.11),
    "wide": (0.01, 0.09, 0.01, 0.01, 0.01, 0.61, 0.01, 0.12, 0.01, 0.01, 0.11),
}
UNDECIDED = (0.02, 0.41, 0.02, 0.02, 0.02, 0.35, 0.02, 0.14)  # of "it" that knows no ending, up to itself
_MASKS = {"bidirectional": full(), "causal": causal()}


@dataclass(frozen=True, eq=False)
class Arcs(Experiment):
    """What one word looks at, for each ending and mask.

    weights: (endings masks t), the asking word's row in the second layer; reads: (endings masks), its weight
    on the last word in the first; masks: "bidirectional" and "causal". All of it is invented.
    """

    sentences: tuple[tuple[str, ...], ...]
    endings: tuple[str, ...]
    masks: tuple[str, ...]
    asking: int
    targets: tuple[int, ...]
    weights: Tensor
    reads: Tensor

    def row(self, ending: str, mask: str) -> Tensor:
        """Return the weights of the asking word, (t)."""
        return self.weights[self.endings.index(ending), self.masks.index(mask)]

    def tables(self) -> list[Table]:
        words = self.sentences[0]
        columns = ("mask", "ending", *(words[j] for j in self.targets), "last word", "sum")
        rows = [
            (
                mask,
                ending,
                *(weight(float(self.row(ending, mask)[j])) for j in self.targets),
                weight(float(self.row(ending, mask)[-1])),
                weight(float(self.row(ending, mask).sum())),
            )
            for mask in self.masks
            for ending in self.endings
        ]
        title = f"What “{words[self.asking]}” looks at (invented weights)"
        return [Table(title, columns, tuple(rows), self._note())]

    def _note(self) -> str:
        same = torch.equal(self.weights[0, 1], self.weights[-1, 1])
        return f"Under the causal mask the sentences give {'the same' if same else 'different'} weights."

    def draw(self) -> Figure:
        made, axes = figure(len(self.endings), len(self.masks), size=(12.5, 2.6 * len(self.endings)))
        for i, words in enumerate(self.sentences):
            for m, mask in enumerate(self.masks):
                at = axes[i][m] if len(self.endings) > 1 else axes[m]
                _draw(at, words, self.weights[i, m], self.asking)
                at.set_title(f"{words[-1]}, {mask}: invented weights")
        return made


@checked
def arcs(
    *,
    sentence: str = SENTENCE,
    weights: Mapping[str, Sequence[float]] = WEIGHTS,
    undecided: Sequence[float] = UNDECIDED,
    asking: str = "it",
    targets: Sequence[str] = ("animal", "street"),
) -> Arcs:
    """Return what `asking` looks at in `sentence` with each ending, bidirectional and causal.

    weights: for each last word, the invented weights of the asking word, one for every word of the sentence
    with it. undecided: its weights where it does not see the ending, one for every word up to itself. Both
    above 0 and of sum 1. Raises LessonError for others.
    """
    start = tuple(sentence.split())
    if not isinstance(weights, Mapping) or not weights:
        raise LessonError(
            f"weights={weights!r:.40}", wanted="At least one last word with its weights is wanted"
        )
    at, aims = _place(start, asking), tuple(_place(start, word) for word in targets)
    ends = {ending: _row(f"The row of {ending!r}", row, len(start) + 1) for ending, row in weights.items()}
    before = _row("The undecided row", undecided, at + 1)
    found = [[_second(row, before, at, mask) for mask in _MASKS.values()] for row in ends.values()]
    return Arcs(
        sentences=tuple((*start, ending) for ending in ends),
        endings=tuple(ends),
        masks=tuple(_MASKS),
        asking=at,
        targets=aims,
        weights=torch.stack([torch.stack([row for row, _ in each]) for each in found]),
        reads=torch.stack([torch.stack([read for _, read in each]) for each in found]),
    )


def _second(row: Tensor, before: Tensor, at: int, mask: Any) -> tuple[Tensor, Tensor]:
    """The asking word's weights in the second layer (t), and how much it read of the last in the first.

    The first layer splits its attention evenly between the last word and all others, whose values are 0; the
    last word's value is twice the change from the undecided logarithms to the ending's. What is read is added
    to the undecided query, whose product with one key a word is the score.
    """
    t = len(row)
    default = torch.zeros(t, dtype=torch.float64)  # of words after the asking one it asks nothing yet
    default[: len(before)] = before.log()
    values = torch.zeros(t, t, dtype=torch.float64)
    values[-1] = 2 * (row.log() - default)
    keys = torch.zeros(t, t, dtype=torch.float64)
    keys[-1] = math.log(t - 1)  # against 0 for each of the t - 1 others
    first = _attend(torch.eye(t, dtype=torch.float64)[at].expand(t, t), keys, values, mask)
    asked = default + first.out[0, 0]
    second = _attend(asked, torch.eye(t, dtype=torch.float64), values, mask)
    return second.weights[0, 0, at], first.weights[0, 0, at, -1]


def _attend(q: Tensor, k: Tensor, v: Tensor, mask: Any) -> Steps:
    return steps(q[None, None], k[None, None], v[None, None], Scoring(mask, scale=1.0))


def _row(name: str, numbers: Sequence[float], size: int) -> Tensor:
    row = torch.tensor(of_kind(name, numbers, "Sequence[float]"), dtype=torch.float64)
    if row.shape != (size,):
        raise LessonError(f"{name} has {row.numel()} weights", wanted=f"{size} are wanted, one for each word")
    if not bool((row > 0).all()) or abs(float(row.sum()) - 1) > 1e-9:
        raise LessonError(
            f"{name} sums to {float(row.sum()):g}, its least weight is {float(row.min()):g}",
            wanted="Weights above 0 that sum to 1 are wanted",
        )
    return row


def _place(words: tuple[str, ...], word: str) -> int:
    if word not in words:
        raise LessonError(
            f"There is no {word!r} in the sentence", wanted=f"One of {', '.join(words)} is wanted"
        )
    return words.index(word)


def _draw(axes: Axes, words: tuple[str, ...], row: Tensor, asking: int) -> None:
    """The words in a line, an arc from the asking word to each other, as wide as its weight."""
    from matplotlib.patches import Arc

    middles, right = [], 0.0
    for word in words:
        middles.append(right + len(word) / 2)
        right += len(word) + 1.6
    axes.set(xlim=(-1, right), ylim=(-4.5, max(middles[asking], right - middles[asking]) * 0.42))
    axes.set_axis_off()
    for j, word in enumerate(words):
        x, w = middles[j], float(row[j])
        axes.text(x, -1, word, ha="center", va="top", color=ACCENT if j == asking else INK, fontsize=9)
        axes.text(x, -2.9, weight(w), ha="center", va="top", color=INK_2, fontsize=8)
        if j != asking and w > 0:
            span = abs(x - middles[asking])
            middle = ((x + middles[asking]) / 2, 0.0)
            axes.add_patch(Arc(middle, span, span * 0.8, theta1=0, theta2=180, lw=12 * w, color=SERIES[1]))
