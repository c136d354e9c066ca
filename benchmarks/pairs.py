"""Two ways to one thing, timed in turn in one process, and the peak memory of each in a fresh process."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path


@dataclass(frozen=True)
class Timed:
    """Seconds of each way (medians), the median of their ratio pair by pair, and its least and largest."""

    ours: float
    theirs: float
    ratio: float
    least: float
    most: float


def in_pairs(
    ours: Callable[[], object], theirs: Callable[[], object], *, rounds: int, least: float = 0.0
) -> Timed:
    """Both once to warm up, then in turn, so that what disturbs the machine disturbs both.

    least: seconds for which each way is called again and again in its turn; the times are those of one call.
    """
    ours(), theirs()
    pairs = [(_seconds(ours, least), _seconds(theirs, least)) for _ in range(rounds)]
    ratios = [one / two for one, two in pairs]
    one, two = (statistics.median(column) for column in zip(*pairs, strict=True))
    return Timed(one, two, statistics.median(ratios), min(ratios), max(ratios))


def peak(module: str, way: str) -> float:
    """MB that one way of a program needs at its peak past its inputs, in a fresh process.

    The program has `prepare()` that makes the inputs, and a function of that name that takes them.
    """
    command = [sys.executable, "-m", "benchmarks.pairs", module, way]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def row(name: str, timed: Timed, ours: float | None = None, theirs: float | None = None) -> None:
    """Prints one line of the table; memory in MB."""
    ratio = f"x{timed.ratio:.2f} ({timed.least:.2f} to {timed.most:.2f})"
    memory = "" if ours is None or theirs is None else f"{ours:6.0f} MB {theirs:6.0f} MB"
    print(f"  {name:30s} {_told(timed.ours)} {_told(timed.theirs)}   {ratio:22s} {memory}".rstrip())


def head(ours: str, theirs: str) -> None:
    """Prints the head of the table."""
    print(f"  {'':30s} {ours:>10s} {theirs:>10s}   ratio, its spread      peak memory of each")


def _told(seconds: float) -> str:
    return f"{seconds:8.3f} s" if seconds >= 0.1 else f"{1000 * seconds:7.2f} ms"


def _seconds(work: Callable[[], object], least: float) -> float:
    begun, calls, passed = time.perf_counter(), 0, 0.0
    while not calls or passed < least:
        work()
        calls, passed = calls + 1, time.perf_counter() - begun
    return passed / calls


def _child(module: str, way: str) -> None:
    program = import_module(f"benchmarks.{module}")
    inputs = program.prepare()
    before = most_held()
    getattr(program, way)(*inputs)
    print(most_held() - before)


def most_held() -> float:
    """MB that this process has held at most. ru_maxrss alone would begin with what the parent held."""
    status = Path("/proc/self/status")
    if status.exists():
        return (
            float(
                next(line for line in status.read_text().splitlines() if line.startswith("VmHWM")).split()[1]
            )
            / 1024
        )
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2  # bytes on macOS


if __name__ == "__main__":
    _child(*sys.argv[1:])
