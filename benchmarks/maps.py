"""The map of a head of 131,072 tokens: its walk and memory against SDPA, and how long any tile takes."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attnscope.core.engine import normaliser
from attnscope.core.masks import causal
from attnscope.maps import Pyramid, of_call
from benchmarks.bounds import hold
from benchmarks.limits import limit
from benchmarks.pairs import peak

LENGTH, WIDTH = 131_072, 64
TILES = 40
"""Tiles that are asked for at each level, or all of them where there are fewer."""

FINE = (8, 1)
"""Cells along a side of a pixel of levels that are held to the bound by themselves: the slowest are there."""

TOGETHER = 150.0
"""Milliseconds in which 95 of 100 tiles must be there where four are asked at once."""

MEMORY = 1_024.0
"""MB over what q, k and v take."""


def prepare() -> tuple[Tensor, Tensor, Tensor]:
    """q, k and v."""
    own = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, 1, LENGTH, WIDTH, generator=own) for _ in range(3))
    return q, k, v


def walked(q: Tensor, k: Tensor, v: Tensor) -> Pyramid:
    """Both passes: the normaliser, and all that the map keeps."""
    pyramid = Pyramid(of_call(q, k, causal(), normaliser=normaliser(q, k, causal())))
    pyramid.build()
    return pyramid


def run(rounds: int) -> None:
    """Walks the head once, whatever `rounds` says, and holds its tiles to their bounds."""
    q, k, v = prepare()
    begun = time.perf_counter()
    scaled_dot_product_attention(q, k, v, is_causal=True)
    theirs = time.perf_counter() - begun
    begun = time.perf_counter()
    known = normaliser(q, k, causal())
    first = time.perf_counter() - begun
    pyramid = Pyramid(of_call(q, k, causal(), normaliser=known))
    begun = time.perf_counter()
    pyramid.build()
    ours = time.perf_counter() - begun
    memory = peak("maps", "walked")
    print(
        f"  normaliser {first:.0f} s, walked in {ours:.0f} s, SDPA {theirs:.0f} s; "
        f"{pyramid.nbytes / 1e6:.0f} MB are kept"
    )
    hold("the map of 131,072 tokens, normaliser known, to SDPA", ours / theirs, limit("map"))
    hold(
        "the map of 131,072 tokens, both passes, to SDPA", (first + ours) / theirs, limit("map, both passes")
    )
    hold("the map of 131,072 tokens, memory past q, k and v", memory, MEMORY, "MB")
    levels = {"of any level": list(range(pyramid.geometry.depth + 1))}
    levels |= {
        f"of {cells} cells a pixel": [pyramid.geometry.depth - cells.bit_length() + 1] for cells in FINE
    }
    for what, chosen in levels.items():
        places = list(_places(pyramid, chosen))
        alone = [_took(pyramid, place) for place in places]
        with ThreadPoolExecutor(4) as pool:
            gate = threading.Barrier(4)
            together = list(pool.map(lambda place, gate=gate: _took(pyramid, place, gate), places))
        for name, times, most in (("alone", alone, limit("tile")), ("four at once", together, TOGETHER)):
            slowest, middle = statistics.quantiles(times, n=20)[-1], statistics.median(times)
            print(f"  a tile {what}, {name}: median {middle * 1e3:.0f} ms")
            hold(f"95% of tiles {what}, {name}", slowest * 1e3, most, "ms")


def _places(pyramid: Pyramid, levels: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Tiles of these levels at random, in which something is visible; a multiple of four of them."""
    own = torch.Generator().manual_seed(7)
    for level in levels:
        rows, _ = pyramid.geometry.tiles(level)
        for row in torch.randint(rows, (TILES,), generator=own).tolist():
            yield level, row, int(torch.randint(row + 1, (1,), generator=own))


def _took(pyramid: Pyramid, place: tuple[int, int, int], gate: threading.Barrier | None = None) -> float:
    """Seconds from asking to having the bytes; with a gate, four are asked at the same moment."""
    if gate is not None:
        gate.wait()
    begun = time.perf_counter()
    pyramid.tile(*place).encode("max")
    return time.perf_counter() - begun
