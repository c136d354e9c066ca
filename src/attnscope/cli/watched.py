"""The picture of heads along a training: when previous-token and induction heads appear, and the loss beside
them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from attnscope.gpt.history import History
from attnscope.looks.drawing import ACCENT, INK, INK_3, LINE, figure, look, png, svg
from attnscope.looks.numbers import number
from attnscope.measure.classes import RULES
from attnscope.measure.scores import SCORE
from attnscope.measure.watching import WATCHED, Watch

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PICTURES = ("heads.png", "heads.svg")
PANELS = ("previous_token", "induction_stripe", "induction_mass")


def pictures(watch: Watch, history: History, title: str) -> tuple[bytes, bytes]:
    """Return a PNG and an SVG: a line for each head over the steps, the strongest at the end in ink, with the
    level of a uniform head and, where there is a rule, what it asks for; and the loss.
    """
    with look():
        made, axes = figure(2, 2, size=(9.6, 6.6))
        *panels, last = axes.flatten()
        for one, score in zip(panels, PANELS, strict=True):
            _panel(one, watch, score)
        _losses(last, history)
        steps = max((key[0] for key in watch.values), default=0)
        for one in axes.flatten():
            one.set_xlim(0, max(1, steps))
            one.set_xlabel("step")
        made.suptitle(title, x=0.01, ha="left", fontsize=12)
        return png(made), svg(made)


def appeared(watch: Watch, score: str) -> tuple[int, int, int] | None:
    """Return the step, layer and head at which a score first reached what its rule asks for; None where none
    did.
    """
    least = _least(score)
    at = WATCHED.index(score)
    reached = [key for key, row in watch.values.items() if key[0] >= 0 and row[at] >= least]
    return min(reached) if reached else None


def sentence(watch: Watch, score: str) -> str:
    """Return what is to be said of a score along the run."""
    found, name = appeared(watch, score), SCORE[score].title
    if found is not None:
        step, layer, head = found
        return f"{name}: layer {layer}, head {head} reached {_least(score):g} by step {step:,}"
    at = WATCHED.index(score)
    most = max((row[at] for key, row in watch.values.items() if key[0] >= 0), default=math.nan)
    return f"{name}: no head reached {_least(score):g}; the most was {number(most, 3)}"


def _panel(axes: Axes, watch: Watch, score: str) -> None:
    at = WATCHED.index(score)
    lines: dict[tuple[int, int], list[tuple[int, float]]] = {}
    for step, layer, head in sorted(watch.values):
        if step >= 0:
            lines.setdefault((layer, head), []).append((step, watch.values[step, layer, head][at]))
    last = {place: line[-1][1] for place, line in lines.items() if not math.isnan(line[-1][1])}
    best = max(last, key=lambda place: last[place], default=None)
    for place, line in lines.items():
        if place != best:
            axes.plot(*zip(*line, strict=True), color=LINE, linewidth=0.8)
    if best is not None:
        axes.plot(*zip(*lines[best], strict=True), color=INK, linewidth=1.6)
        axes.annotate(
            f"layer {best[0]}, head {best[1]}: {number(last[best], 2)}", (lines[best][-1][0], last[best]),
            (0, 5), textcoords="offset points", ha="right", fontsize=8,
        )  # fmt: skip
    level = watch.values.get((-1, 0, 0))
    if level is not None:
        axes.axhline(level[at], color=INK_3, linewidth=0.8, linestyle=":")
        axes.text(0, level[at], "uniform", fontsize=8, color=INK_3, va="bottom")
    if not math.isinf(_least(score)):
        axes.axhline(_least(score), color=ACCENT, linewidth=0.8, linestyle="--")
    axes.set_ylim(0, 1)
    axes.set_title(SCORE[score].title)


def _losses(axes: Axes, history: History) -> None:
    if means := history.smoothed(width=10):
        axes.plot(*zip(*means, strict=True), color=INK_3, linewidth=1.0, label="training, mean of 10 steps")
    if points := sorted(history.validation.items()):
        axes.plot(*zip(*points, strict=True), "o", color=INK, label="validation")
    if axes.lines:
        axes.legend(frameon=False, fontsize=8)
    axes.set_title("loss, nats a character")


def _least(score: str) -> float:
    return next((rule.least for rule in RULES if rule.score == score), math.inf)
