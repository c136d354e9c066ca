"""`python -m benchmarks [--rounds N] [PROGRAM ...]`: run the programs and print one table each."""

from __future__ import annotations

import argparse
import platform
import sys
import time
from importlib import import_module

import torch

from benchmarks.bounds import MISSED

PROGRAMS = {
    "window": "attention() through a window of 512 at 16,384 tokens, against SDPA with the equal mask",
    "fold": "summarize() at 8,192 tokens, every statistic on, against SDPA",
    "long": "one head of 131,072 tokens, both passes, against SDPA, and how both grow",
    "forward": "SmolLM2 recorded with certificate and summary, against its forward alone",
    "summary": "summarize() and certify() at 2,048 tokens, against SDPA",
    "tap": "a layer that makes its own grid of attention, alone and with its softmax tapped",
    "maps": "any tile of a map of 131,072 tokens, alone and four at once; the walk against SDPA",
    "planted": "a head of 131,072 tokens with a stripe, a sink and a needle: what its map shows of them",
    "generate": "SmolLM2 generating 200 tokens from 500, recorded to disk, against the same without",
    "calibrate": "how far clean heads go, by route and dtype, and the margin of each limit",
    "faults": "which share of the heads in which a fault is planted the certificate refuses",
}
"""Each is a module of this package with `run(rounds)`."""


def main() -> None:
    """Runs the named programs, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "programs", nargs="*", metavar="PROGRAM", help=f"of {', '.join(PROGRAMS)}; none is all"
    )
    parser.add_argument("--rounds", type=int, default=5, help="pairs to time in turn (default 5)")
    chosen = parser.parse_args()
    unknown = [name for name in chosen.programs if name not in PROGRAMS]
    if unknown:
        parser.error(f"there is no program {unknown[0]!r}; there are {', '.join(PROGRAMS)}")
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {platform.machine()}")
    for name in chosen.programs or PROGRAMS:
        print(f"\n{name}: {PROGRAMS[name]}")
        begun = time.perf_counter()
        import_module(f"benchmarks.{name}").run(max(1, chosen.rounds))
        print(f"  ({time.perf_counter() - begun:.0f} s)")
    if MISSED:
        print(f"\nnot kept: {'; '.join(MISSED)}")
        sys.exit(1)


main()
