"""ALiBi: no position vectors, but a score that falls with distance, by another slope for each head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from attnscope.core.dense import steps
from attnscope.core.masks import causal
from attnscope.core.positions import alibi, alibi_slopes
from attnscope.core.scoring import Scoring
from attnscope.errors import LessonError
from attnscope.lesson.experiment import Experiment, Table
from attnscope.lesson.given import checked
from attnscope.looks.numbers import number, typed, weight

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_HEADS, MOST_TOKENS = 16, 32


@dataclass(frozen=True, eq=False)
class Slopes(Experiment):
    """What the slopes alone do: slopes (h,), scores and weights (h t t) of keys that all match equally.

    reach (h,) is the mean distance of the last row, in tokens.
    """

    slopes: Tensor
    scores: Tensor
    weights: Tensor
    reach: Tensor

    def tables(self) -> list[Table]:
        """Return each head's slope, its weights one and several tokens back, and how far it looks."""
        t = self.weights.shape[-1]
        back = [distance for distance in (0, 1, 4, 8) if distance < t]
        rows = tuple(
            (
                str(head),
                f"1/{typed(1 / float(slope), 0)}",
                *(weight(float(self.weights[head, -1, t - 1 - distance])) for distance in back),
                number(float(self.reach[head]), 2),
            )
            for head, slope in enumerate(self.slopes)
        )
        names = tuple("itself" if distance == 0 else f"{distance} back" for distance in back)
        return [
            Table(
                f"ALiBi with {len(self.slopes)} heads: weights of the last of {t} tokens, all keys alike",
                ("head", "slope", *names, "mean distance"),
                rows,
                "The score of a key is lowered by slope × distance.",
            )
        ]

    def draw(self) -> Figure:
        """Return the last row's weights over distance, one line a head."""
        from attnscope.looks.drawing import LINE, SERIES, figure

        made, axes = figure(size=(6, 3.4))
        t = self.weights.shape[-1]
        last = f"1/{typed(1 / float(self.slopes[-1]), 0)}"
        for head, row in enumerate(self.weights[:, -1]):
            one = f"slope 1/{typed(1 / float(self.slopes[head]), 0)}"
            label = f"{one} to {last}" if head == len(SERIES) else None
            colour = LINE
            if head < len(SERIES):
                label, colour = one, SERIES[head]
            axes.plot(range(t), row.flip(0).tolist(), color=colour, linewidth=1.4, label=label)
        axes.set_xlabel("tokens back")
        axes.set_ylabel("weight")
        axes.legend()
        return made


@checked
@torch.no_grad()
def slopes(*, heads: int = 8, tokens: int = 16) -> Slopes:
    """Give keys that all match equally the ALiBi bias of each head, under a causal mask.

    Raises LessonError for more heads or tokens than can be shown.
    """
    if not 1 <= heads <= MOST_HEADS or not 2 <= tokens <= MOST_TOKENS:
        raise LessonError(
            f"heads={heads} and tokens={tokens}",
            wanted=f"1 to {MOST_HEADS} heads and 2 to {MOST_TOKENS} tokens are wanted",
        )
    alike = torch.zeros(1, heads, tokens, 1)
    places = torch.arange(tokens, dtype=torch.float32)
    back = (places[-1] - places)[:, None]  # (t 1), the distance of each key from the last row
    seen = steps(alike, alike, back.expand_as(alike), Scoring(causal(), bias=alibi(heads, tokens)))
    return Slopes(
        slopes=alibi_slopes(heads),
        scores=seen.scores[0],
        weights=seen.weights[0],
        reach=seen.out[0, :, -1, 0],
    )
