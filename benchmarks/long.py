"""One head of 131,072 tokens: both passes with the blocks of a map, against SDPA, and how both grow.

Each measurement is one process, since SDPA alone takes a minute; `rounds` is not used.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attnscope.core.fold import summarize
from attnscope.core.masks import causal
from benchmarks.bounds import hold
from benchmarks.limits import limit
from benchmarks.pairs import most_held

LENGTHS, WIDTH = (65_536, 131_072), 64
SIDE = 1_024  # blocks of the map along each side
MEMORY = 1_024.0  # MB
SLOWER, LARGER = (3.5, 4.6), (1.8, 2.2)  # from the first length to the second: time grows as T^2, memory as T


def inputs(length: int) -> tuple[Tensor, Tensor, Tensor]:
    """q, k and v of one head."""
    own = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, 1, length, WIDTH, generator=own) for _ in range(3))
    return q, k, v


def child(length: int) -> None:
    """Prints the seconds of SDPA and of summarize(), and the MB that were held past q, k and v: out too."""
    summarize(*inputs(256)[:2], causal())  # what is set up once is not measured
    q, k, v = inputs(length)
    before = most_held()
    begun = time.perf_counter()
    out = scaled_dot_product_attention(q, k, v, is_causal=True)
    theirs = time.perf_counter() - begun
    begun = time.perf_counter()
    summarize(q, k, causal(), v=v, out=out, block=length // SIDE)
    ours = time.perf_counter() - begun
    print(json.dumps({"theirs": theirs, "ours": ours, "memory": most_held() - before}))


def run(rounds: int) -> None:
    """Measures both lengths, and holds them to their bounds."""
    found = []
    for length in LENGTHS:
        program = f"from benchmarks.long import child; child({length})"
        done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
        found.append(json.loads(done.stdout))
        print(f"  {length:,} tokens: summarize {found[-1]['ours']:.1f} s, SDPA {found[-1]['theirs']:.1f} s, "
              f"{found[-1]['memory']:.0f} MB past the inputs")  # fmt: skip
    half, whole = found
    ratio = whole["ours"] / whole["theirs"]
    hold(f"{LENGTHS[1]:,} tokens, both passes with map base, to SDPA", ratio, limit("long"))
    hold(f"{LENGTHS[1]:,} tokens, memory past q, k and v", whole["memory"], MEMORY, "MB")
    to = f"{LENGTHS[1]:,} tokens to {LENGTHS[0]:,}"
    hold(f"time of {to}", whole["ours"] / half["ours"], SLOWER[1], least=SLOWER[0])
    growth = whole["memory"] / half["memory"]
    hold(f"memory of {to}", growth, LARGER[1], least=LARGER[0])
