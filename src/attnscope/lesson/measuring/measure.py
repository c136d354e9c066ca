"""Measures on this machine what the lengths cost: time and peak memory, within a budget stated before."""

from __future__ import annotations

import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from attnscope.core.attention import path
from attnscope.core.scoring import as_scoring
from attnscope.errors import LessonError
from attnscope.lesson.given import check_ascending, check_whole
from attnscope.lesson.measuring.children import Child, ChildFailed, Stop
from attnscope.lesson.measuring.measured import Measured, Row
from attnscope.lesson.measuring.meter import available
from attnscope.lesson.measuring.ways import WAYS, inputs_bytes
from attnscope.looks.numbers import count, size

SHORTEST, LONGEST = 512, 131_072  # tokens: under the first, what a call costs beside the grid is all there is
LEAST_BUDGET = 32  # MB: the shortest length by tiles
MOST_BUDGET = 65_536  # MB: the grid of the longest
MOST_REPEATS, MOST_D = 20, 1024
_ENOUGH = 20.0  # seconds at one length, after which it is not repeated again
_START, _CELL = 0.6, 1e-8  # seconds to start a process, and for a cell: only to tell how far it is


@dataclass(frozen=True)
class Progress:
    """What is measured now, how many of how many units are done, seconds left, and the rows so far."""

    text: str
    done: float
    total: float
    seconds_left: float | None
    rows: tuple[Row, ...]


def lengths_to(longest: int) -> tuple[int, ...]:
    """Return the doublings from 512 to `longest`, itself included. Raises LessonError."""
    known = [SHORTEST << at for at in range((LONGEST // SHORTEST).bit_length())]
    if longest not in known:
        raise LessonError(
            f"longest={longest!r:.40}", wanted=f"One of {', '.join(map(count, known))} is wanted"
        )
    return tuple(one for one in known if one <= longest)


def measure_cost(
    *,
    lengths: Sequence[int] = lengths_to(16_384),
    budget_mb: int = 256,
    d: int = 64,
    window: int = 512,
    repeats: int = 3,
    threads: int = 1,
    seed: int = 7,
    progress: Callable[[Progress], None] | None = None,
    stop: Stop | None = None,
) -> Measured:
    """Measure one head of width d: the whole grid, our tiles, PyTorch's kernel, and a window, at each length.

    Every way at every length runs in a process of its own. Those of one length take turns, so that what
    disturbs the machine disturbs all; seconds are medians of `repeats` turns after a first one that is not
    counted, fewer where a length takes more than 20 s. What a way may take is counted before it runs, and it
    is left out where that and the inputs of all four pass `budget_mb`; on Linux the system is told to hold
    each process to its count. progress is called before and after each part; what it raises ends the
    measurement. stop.ask(), from any thread, ends it at once with Stopped. Raises LessonError.
    """
    check_ascending("lengths", lengths, LONGEST)
    check_budget(budget_mb)
    check_whole("d", d, 1, MOST_D)
    check_whole("window", window, 1, LONGEST)
    check_whole("repeats", repeats, 1, MOST_REPEATS)
    check_whole("threads", threads, 1, os.cpu_count() or 1)
    plan = _plan(lengths, budget_mb, d)
    stop = stop or Stop()
    teller = _Teller(plan, repeats, progress)
    shared = {"d": d, "window": window, "threads": threads, "seed": seed}
    rows: list[Row] = []
    baselines: list[int] = []
    for tokens in lengths:
        planned = [row for row in plan if row.tokens == tokens]
        stop.check()
        with _children(planned, shared, stop) as children:
            rows += _at_length(planned, children, repeats, teller)
            baselines += [child.baseline for child in children.values() if child.baseline]
        teller.rows = tuple(rows)
    teller.tell("Done", 0)
    return Measured(
        d=d,
        window=window,
        budget_mb=budget_mb,
        threads=threads,
        repeats=repeats,
        seed=seed,
        torch=torch.__version__,
        machine=f"{platform.system()} {platform.machine()}",
        attention_takes=_attention_takes(),
        baseline=round(statistics.median(baselines)) if baselines else 0,
        seconds=teller.spent(),
        rows=tuple(rows),
    )


def _plan(lengths: Sequence[int], budget_mb: int, d: int) -> list[Row]:
    """Every way at every length with its stated bytes; what passes the budget is left out by name."""
    plan = []
    for tokens in lengths:
        inputs = len(WAYS) * inputs_bytes(tokens, d)  # the processes of a length are there together
        for way in WAYS.values():
            stated = inputs + way.need(tokens, d)
            over = stated > budget_mb * 2**20
            budget = size(budget_mb * 2**20)
            reason = f"{count(tokens)} tokens would take {size(stated)}, past the budget of {budget}"
            plan.append(
                Row(way.name, tokens, stated, "skipped" if over else "measured", reason if over else "")
            )
    return plan


@contextmanager
def _children(planned: list[Row], shared: dict[str, Any], stop: Stop) -> Iterator[dict[str, Child]]:
    """A process for each row that is to be measured; all are over at the end."""
    with tempfile.TemporaryDirectory(prefix="attnscope-") as folder, ExitStack() as stack:
        children = {}
        for row in planned:
            if row.state == "measured":
                out = str(Path(folder) / row.way)
                wish = shared | {"way": row.way, "tokens": row.tokens, "out": out}
                children[row.way] = stack.enter_context(Child(wish, stop))
        yield children


def _at_length(planned: list[Row], children: dict[str, Child], repeats: int, teller: _Teller) -> list[Row]:
    """The rows of one length, its ways in turn. The first turn gives the peak and the output alone."""
    tokens, begun = planned[0].tokens, 0.0
    problems: dict[str, str] = {}
    times: dict[str, list[float]] = {name: [] for name in children}
    peaks: dict[str, int] = {}
    starting = f"{count(tokens)} tokens, starting {len(children)} processes"
    teller.tell(starting, 0)
    for turn in range(-1, repeats + 1):  # -1: getting ready
        begun = begun if turn > 0 else time.monotonic()
        for name, child in children.items():
            if name in problems:
                continue
            try:
                if turn < 0:
                    child.ready()
                    teller.tell(starting, _START)
                    continue
                teller.tell(f"{count(tokens)} tokens, {WAYS[name].title}", 0)
                seconds, peaks[name] = child.run()
            except ChildFailed as failure:
                problems[name] = f"{count(tokens)} tokens, {WAYS[name].title}: {failure}"
                continue
            times[name] += [seconds] if turn else []
            teller.tell(f"{count(tokens)} tokens, {WAYS[name].title}", tokens * tokens * _CELL)
        if turn > 0 and time.monotonic() - begun > _ENOUGH:
            break
    teller.skip_to(tokens)
    outs = {name: Path(child.wish["out"]) for name, child in children.items() if name not in problems}
    apart = _differences(outs)
    return [_row(row, times, peaks, problems, apart) for row in planned]


def _row(
    row: Row,
    times: dict[str, list[float]],
    peaks: dict[str, int],
    problems: dict[str, str],
    apart: dict[str, float],
) -> Row:
    if row.way in problems:
        return replace(row, state="failed", reason=problems[row.way])
    if row.state == "skipped":
        return row
    seconds = times[row.way]
    return replace(
        row,
        seconds=statistics.median(seconds),
        least=min(seconds),
        most=max(seconds),
        repeats=len(seconds),
        peak=peaks[row.way],
        difference=apart.get(row.way),
    )


def _differences(outs: dict[str, Path]) -> dict[str, float]:
    """The largest difference of each output from PyTorch's, or from the grid's where that is not there."""
    same = {name: np.fromfile(file, np.float32) for name, file in outs.items() if WAYS[name].same}
    base = same.pop("sdpa", None)
    if base is None:
        base = same.pop("dense", None)
    return {} if base is None else {name: float(np.abs(out - base).max()) for name, out in same.items()}


class _Teller:
    """Counts what is done in seconds as guessed before, and tells what is left at the speed that was true."""

    def __init__(self, plan: list[Row], repeats: int, progress: Callable[[Progress], None] | None) -> None:
        self._progress, self._done, self._begun = progress, 0.0, time.monotonic()
        self.rows: tuple[Row, ...] = ()
        self._ends: dict[int, float] = {}
        total = 0.0
        for row in plan:
            runs = row.state == "measured"
            total += (_START + (repeats + 1) * row.tokens**2 * _CELL) if runs else 0.0
            self._ends[row.tokens] = total
        self._total = total

    def tell(self, text: str, done: float) -> None:
        self._done = min(self._done + done, self._total)  # a sum in other order may end a bit above
        if self._progress is None:
            return
        spent, share = self.spent(), self._done / self._total if self._total else 0.0
        known = bool(self.rows) and share > 0  # the first length says how fast this machine is
        left = round(spent / share * (1 - share), 1) if known else None
        self._progress(Progress(text, self._done, self._total, left, self.rows))

    def skip_to(self, tokens: int) -> None:
        """All of a length is done, repeats that were not needed included."""
        self._done = max(self._done, self._ends[tokens])

    def spent(self) -> float:
        return time.monotonic() - self._begun


def _attention_takes() -> str:
    one = torch.ones(1, 1, 2, 2)
    return path(as_scoring(None).bind(one, one), one)


def check_budget(budget_mb: int) -> None:
    """Raise LessonError for a budget that is out of range, or more than this machine has free."""
    check_whole("budget_mb", budget_mb, LEAST_BUDGET, MOST_BUDGET)
    free = available()
    if free is not None and budget_mb * 2**20 > free:
        raise LessonError(
            f"A budget of {count(budget_mb)} MB",
            wanted=f"No more than this machine has free, which is {count(free // 2**20)} MB",
            hint="Choose a smaller budget, or close what holds memory",
        )
