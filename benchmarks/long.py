"""One head of 131,072 tokens: both passes with the blocks of a map, against SDPA, and how both grow.

Each measurement is a process of its own; rounds past three are not made, since one takes a minute and a half.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from statistics import median

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attnscope.core.fold import summarize
from attnscope.core.masks import causal
from benchmarks.bounds import hold
from benchmarks.limits import limit
from benchmarks.pairs import most_held

LENGTHS, WIDTH = (65_536, 131_072), 64
BLOCK = 128  # cells along each side of a block of the map's base, at both lengths: 1,024 blocks at the longer
GIVEN_BACK = {"MALLOC_MMAP_THRESHOLD_": "131072"}  # glibc: what is freed is the system's at once, not kept
ROUNDS = 3
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
    summarize(q, k, causal(), v=v, out=out, block=BLOCK)
    ours = time.perf_counter() - begun
    print(json.dumps({"theirs": theirs, "ours": ours, "memory": most_held() - before}))


def run(rounds: int) -> None:
    """Measures both lengths in turn, and holds the medians to their bounds."""
    pairs = [(measured(LENGTHS[0]), measured(LENGTHS[1])) for _ in range(min(rounds, ROUNDS))]
    wholes = [whole for _, whole in pairs]
    ratio = median(whole["ours"] / whole["theirs"] for whole in wholes)
    memory = median(whole["memory"] for whole in wholes)
    hold(f"{LENGTHS[1]:,} tokens, both passes with map base, to SDPA", ratio, limit("long"))
    hold(f"{LENGTHS[1]:,} tokens, memory past q, k and v", memory, MEMORY, "MB")
    to = f"{LENGTHS[1]:,} tokens to {LENGTHS[0]:,}"
    slower = median(whole["ours"] / half["ours"] for half, whole in pairs)
    hold(f"time of {to}", slower, SLOWER[1], least=SLOWER[0])
    hold(f"memory of {to}", memory / median(half["memory"] for half, _ in pairs), LARGER[1], least=LARGER[0])


def measured(length: int) -> dict[str, float]:
    """What a process of its own prints of this length."""
    command = [sys.executable, "-c", f"from benchmarks.long import child; child({length})"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | GIVEN_BACK)
    found: dict[str, float] = json.loads(done.stdout)
    print(f"  {length:,} tokens: summarize {found['ours']:.1f} s, SDPA {found['theirs']:.1f} s, "
          f"{found['memory']:.0f} MB past the inputs")  # fmt: skip
    return found
