"""What a measurement found: seconds and peak memory of every way at every length, and what was not run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from attnscope.lesson.experiment import Experiment, Table
from attnscope.lesson.measuring.ways import WAYS
from attnscope.looks.numbers import count, number, size

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Row:
    """One way at one length.

    stated: bytes that it may take at most, by count, before anything runs. measured: seconds is the median of
    `repeats` runs, least and most its ends, peak the bytes held past the inputs, difference the largest from
    PyTorch's output (None for that itself, and for the window, whose output is another). skipped and failed:
    reason says why, and nothing was measured.
    """

    way: str
    tokens: int
    stated: int
    state: Literal["measured", "skipped", "failed"]
    reason: str = ""
    seconds: float | None = None
    least: float | None = None
    most: float | None = None
    repeats: int = 0
    peak: int | None = None
    difference: float | None = None


@dataclass(frozen=True, eq=False)
class Measured(Experiment):
    """A measurement on this machine, one head of width d in float32 on the CPU.

    budget_mb: what all processes at once may take past themselves. baseline: bytes that each process holds
    before it begins, which is Python and PyTorch. attention_takes: the way that `attnscope.attention` goes
    for these calls, "sdpa" or "tiles".
    """

    d: int
    window: int
    budget_mb: int
    threads: int
    repeats: int
    seed: int
    torch: str
    machine: str
    attention_takes: str
    baseline: int
    seconds: float
    rows: tuple[Row, ...]

    def tables(self) -> list[Table]:
        """Return seconds, peak memory and differences, a line for each length."""
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        how = f"Medians of {self.repeats}, in turn, {threads}, torch {self.torch}, {self.machine}."
        missing = {row.reason for row in self.rows if row.state == "failed"}
        skipped = [row for row in self.rows if row.state == "skipped"]
        said = f"{_listed(skipped)}" if skipped else ""
        notes = " ".join([how, said, *sorted(missing)]).strip()
        took = f"Each process holds {size(self.baseline)} of its own before that: Python and PyTorch."
        same = "The window’s output is another, so it is not compared."
        return [
            self._table("Seconds", notes, lambda row: _seconds(row.seconds)),
            self._table("Peak memory past the inputs", took, lambda row: size_of(row.peak)),
            self._table(
                "Largest difference from PyTorch’s output",
                same,
                lambda row: "–" if row.difference is None else number(row.difference, 6),
            ),
        ]

    def draw(self) -> Figure:
        """Return seconds and peak memory over the length, both axes by doublings."""
        from attnscope.looks.drawing import SERIES, figure

        made, (time, memory) = figure(1, 2)
        for name, colour in zip(WAYS, SERIES, strict=True):
            rows = [row for row in self.rows if row.way == name and row.state == "measured"]
            tokens = [row.tokens for row in rows]
            style = {"color": colour, "label": self.title(name), "marker": "o", "markersize": 3}
            time.plot(tokens, [row.seconds for row in rows], **style)
            memory.plot(tokens, [max(row.peak or 0, 1) / 2**20 for row in rows], **style)
        for axes, title in ((time, "seconds"), (memory, "peak memory, MB")):
            axes.set_xscale("log", base=2)
            axes.set_yscale("log", base=10)
            axes.set_xlabel("tokens")
            axes.set_title(title, loc="left")
            axes.xaxis.set_major_formatter(lambda x, _: count(round(x)))
        time.legend(frameon=False)
        return made

    def title(self, way: str) -> str:
        """Return what a way is called."""
        return f"{WAYS[way].title} {count(self.window)}" if way == "window" else WAYS[way].title

    def _table(self, title: str, note: str, cell: Callable[[Row], str]) -> Table:
        lengths = sorted({row.tokens for row in self.rows})
        at = {(row.way, row.tokens): row for row in self.rows}

        def written(way: str, tokens: int) -> str:
            row = at.get((way, tokens))
            if row is None or row.state == "failed":
                return "–"
            return "not run" if row.state == "skipped" else cell(row)

        lines = tuple((count(tokens), *(written(way, tokens) for way in WAYS)) for tokens in lengths)
        return Table(title, ("tokens", *map(self.title, WAYS)), lines, note)


def size_of(nbytes: int | None) -> str:
    """Return bytes as `size` writes them, or a dash."""
    return "–" if nbytes is None else size(nbytes)


def _seconds(x: float | None) -> str:
    if x is None:
        return "–"
    return number(x, 4 if x < 0.1 else 3 if x < 1 else 2)


def _listed(rows: list[Row]) -> str:
    """The shortest length of each way that was not run, with what it would have taken."""
    first = {row.way: row for row in reversed(rows)}
    return " ".join(f"{WAYS[row.way].title.capitalize()}: {row.reason}." for row in first.values())
