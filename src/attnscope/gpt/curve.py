"""The losses of a run as files: losses.csv and losses.png."""

from __future__ import annotations

import io
from pathlib import Path

from attnscope.errors import TrainingError
from attnscope.files import write_whole
from attnscope.gpt.history import History

CSV, PNG = "losses.csv", "losses.png"
TRAINING, VALIDATION = "#7a8190", "#c2410c"


def write_curve(history: History, folder: Path, title: str) -> None:
    """Write both files into the folder. Raises TrainingError where that is not possible."""
    write_whole(folder / CSV, history.to_csv().encode(), TrainingError)
    write_whole(folder / PNG, _picture(history, title), TrainingError)


def _picture(history: History, title: str) -> bytes:
    """A PNG of 1280 x 800: batch losses as means of 50 steps, validation losses as points."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), dpi=160, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    if means := history.smoothed():
        axes.plot(*zip(*means, strict=True), color=TRAINING, label="training, mean of 50 steps")
    if points := sorted(history.validation.items()):
        axes.plot(*zip(*points, strict=True), "o-", color=VALIDATION, label="validation, whole last 10%")
        step, loss = points[-1]
        axes.annotate(
            f"{loss:.4f}", (step, loss), (0, 10), textcoords="offset points", ha="right", color=VALIDATION
        )
    axes.set_xlabel("step")
    axes.set_ylabel("loss, nats a character")
    axes.set_title(title, loc="left")
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    if axes.lines:
        axes.legend(frameon=False)
    file = io.BytesIO()
    figure.savefig(file, format="png", metadata={"Software": None})
    return file.getvalue()
