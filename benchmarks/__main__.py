"""`python -m benchmarks [PROGRAM ...]`: run the programs, print what they measure, and at the end every bound
with what was measured.

Exits 1 where a bound is not kept.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from importlib import import_module
from pathlib import Path

import torch

from attnscope.errors import EngineError
from benchmarks.bounds import HELD, broken, table
from benchmarks.limits import LIMITS, running

BOUNDED = {
    "window": "attention() through a window of 512 at 16,384 tokens, against SDPA with the equal mask",
    "output": "attention() over causal calls of 2,048 to 16,384 tokens, against SDPA",
    "fold": "summarize() at 8,192 tokens, every statistic on, against SDPA",
    "decode": "the last rows before 8,192 keys, by the native engine and by torch",
    "record": "SmolLM2 recorded to disk with certificates and summaries, against its forward alone",
    "long": "one head of 131,072 tokens, both passes with the blocks of a map, against SDPA",
    "maps": "any tile of a map of 131,072 tokens, alone and four at once; the walk against SDPA",
}
"""The programs whose figures have bounds; these run where none is named."""

OTHERS = {
    "speed": "which share of a matrix product the native engine reaches, and what its time is spent on",
    "summary": "summarize() and certify() at 2,048 tokens, against SDPA",
    "tap": "a layer that makes its own grid of attention, alone and with its softmax tapped",
    "planted": "a head of 131,072 tokens with a stripe, a sink and a needle: what its map shows of them",
    "generate": "SmolLM2 generating 200 tokens from 500, recorded to disk, against the same without",
    "calibrate": "how far clean heads go, by route and dtype, and the margin of each limit",
    "faults": "which share of the heads in which a fault is planted the certificate refuses",
}
PROGRAMS = BOUNDED | OTHERS
"""Each is a module of this package with `run(rounds)`."""

BEGIN, END = "<!-- benchmarks -->\n", "<!-- end of benchmarks -->\n"
"""What --write puts its table between."""


def main() -> None:
    """Runs the named programs, or those with bounds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "programs", nargs="*", metavar="PROGRAM",
        help=f"of {', '.join(PROGRAMS)}; none is {', '.join(BOUNDED)}",
    )  # fmt: skip
    parser.add_argument("--rounds", type=int, default=5, help="pairs to time in turn (default 5)")
    parser.add_argument(
        "--engine", choices=("torch", "native"), help="what walks the tiles (default: as always)"
    )
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help="put the bounds between the marks of a file"
    )
    chosen = parser.parse_args()
    unknown = [name for name in chosen.programs if name not in PROGRAMS]
    if unknown:
        parser.error(f"there is no program {unknown[0]!r}; there are {', '.join(PROGRAMS)}")
    if chosen.engine:
        os.environ["ATTNSCOPE_ENGINE"] = chosen.engine  # of the processes that are started as well
    try:
        walks = running()
    except EngineError as error:
        parser.error(str(error))
    threads = torch.get_num_threads()
    engine = "torch engine" if walks == "torch" else f"native engine with {walks}"
    row = walks if walks in LIMITS["output"] else "others"
    said = f"torch {torch.__version__}, {threads} threads, {platform.machine()}, {engine}, bounds of {row}"
    print(said)
    for name in chosen.programs or BOUNDED:
        print(f"\n{name}: {PROGRAMS[name]}", flush=True)
        begun = time.perf_counter()
        import_module(f"benchmarks.{name}").run(max(1, chosen.rounds))
        print(f"  ({time.perf_counter() - begun:.0f} s)", flush=True)
    if HELD:
        print("", *table(), sep="\n")
    if chosen.write is not None:
        write(chosen.write, [f"Measured with {said}:", "", *table()])
    if broken():
        print(f"\nnot kept: {'; '.join(broken())}")
        sys.exit(1)


def write(path: Path, lines: list[str]) -> None:
    """Puts lines between the marks of a file."""
    before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise SystemExit(f"{path} lacks the lines {BEGIN.strip()} and {END.strip()}")
    path.write_text("".join([before, BEGIN, *(f"{line}\n" for line in lines), END, after]), encoding="utf-8")


if __name__ == "__main__":
    main()
