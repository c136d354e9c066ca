"""What each measurement may come to, by the instruction set that the native engine runs with here.

The figures of AVX-512 are the project's aims. Those of AVX2 are what two quiet cores measured, with a margin.
The others (other instruction sets, and the engine of torch) are what the engine of torch was once held to.
"""

from __future__ import annotations

import torch

from attnscope.core.engine import Native, engine_of
from attnscope.core.masks import causal
from attnscope.core.native.library import Library, library
from attnscope.core.scoring import Scoring

OTHERS = "others"

LIMITS = {  # to SDPA, where nothing else is said
    "pass 2": {"avx512": 0.6, "avx2": 1.4, OTHERS: 4.0},
    "both passes": {"avx512": 1.0, "avx2": 1.5, OTHERS: 5.5},
    "both passes, bfloat16": {"avx512": 1.0, "avx2": 1.6, OTHERS: 8.0},
    "long": {"avx512": 1.0, "avx2": 1.3, OTHERS: 5.5},
    "output": {"avx512": 0.8, "avx2": 1.1, OTHERS: 1.1},  # 1.1: short calls are SDPA's own
    "window": {"avx512": 1 / 25, "avx2": 1 / 25, OTHERS: 0.1},
    "map": {"avx512": 1.0, "avx2": 1.0, OTHERS: 5.5},  # its normaliser known, as that of a recording is
    "map, both passes": {"avx512": 1.0, "avx2": 1.5, OTHERS: 5.5},
    "tile": {"avx512": 40.0, "avx2": 40.0, OTHERS: 150.0},  # milliseconds
    "record": {"avx512": 1.8, "avx2": 2.0, OTHERS: 4.0},  # to the forward alone
    "decode": {"avx512": 1.0, "avx2": 1.0, OTHERS: 1.1},  # to the engine of torch
}


def running() -> str:
    """The instruction set with which ordinary calls go through the native engine, or "torch"."""
    q, found = torch.zeros(1, 1, 1, 8), library()
    native = isinstance(engine_of(Scoring(causal()).bind(q, q)), Native)
    return found.isa() if native and isinstance(found, Library) else "torch"


def limit(name: str) -> float:
    """What a measurement may come to here. Raises KeyError for one that has no limit."""
    own = LIMITS[name]
    return own.get(running(), own[OTHERS])
