"""A head of 131,072 tokens with planted structure: a previous-token stripe, a sink and one needle cell.

Its map must show all three: the needle is found by top-k, by the list of largest cells and at level 0, exact.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

import torch
from torch import Tensor

from attnscope.core.engine import normaliser
from attnscope.core.fold import summarize
from attnscope.core.masks import causal
from attnscope.maps import Pyramid, largest_cells, of_call

LENGTH, WIDTH, MARKS = 131_072, 64, 60


@dataclass(frozen=True)
class Planted:
    """q, k: (1 1 t 64).   needle: the row and column of the cell that no rule foretells."""

    q: Tensor = field(repr=False)
    k: Tensor = field(repr=False)
    needle: tuple[int, int]


def plant(length: int) -> Planted:
    """Most of the width marks positions at random, so that a row finds the key before its own; one number
    says "first"; the rest is noise.

    Scores of marks that are not meant are about normal. Those that are meant stand ln(length) + 2.5 (the
    key before), + 1.5 (the first) and + 6 (the needle) above their mean: no row is all noise at any length.
    """
    own = torch.Generator().manual_seed(131)
    marks = torch.randn(length, MARKS, generator=own)
    marks /= marks.norm(dim=1, keepdim=True)
    base, scale = math.log(length), math.sqrt(WIDTH)
    q, k = (0.1 * torch.randn(length, WIDTH, generator=own) for _ in range(2))
    k[:, :MARKS], k[:, MARKS] = marks, 0
    k[0, :MARKS], k[0, MARKS] = 0, 1
    q[1:, :MARKS], q[:, MARKS] = marks[:-1] * scale * (base + 2.5), scale * (base + 1.5)
    i, j = length * 3 // 4 + 5, length // 6 + 3
    q[i, :MARKS] = marks[j] * scale * (base + 6)
    return Planted(q[None, None], k[None, None], (i, j))


def exact_weight(planted: Planted, i: int, j: int) -> float:
    """The weight of one cell, in float64 from q and k alone."""
    scores = planted.k[0, 0, : i + 1].double() @ planted.q[0, 0, i].double() / math.sqrt(WIDTH)
    return float(scores.softmax(dim=0)[j])


def run(rounds: int) -> None:
    """Walks the head once, whatever `rounds` says, and prints what is found; else exits 1."""
    planted, begun = plant(LENGTH), time.perf_counter()
    known = normaliser(planted.q, planted.k, causal())
    pyramid = Pyramid(of_call(planted.q, planted.k, causal(), normaliser=known))
    pyramid.build()
    took = time.perf_counter() - begun
    print(f"  {LENGTH:,} tokens walked in {took:.0f} s; {pyramid.nbytes / 1e6:,.0f} MB kept")
    print("  the needle is planted at ({:,}, {:,})".format(*planted.needle))
    found = _found(planted, pyramid)
    for line, right in found.items():
        print(f"  {'found' if right else 'NOT FOUND':9s} {line}")
    if not all(found.values()):
        raise SystemExit(1)


def _found(planted: Planted, pyramid: Pyramid) -> dict[str, bool]:
    """What was looked for, in words with its figures, and whether it was found."""
    i, j = planted.needle
    row = summarize(planted.q, planted.k, causal(), rows=slice(i, i + 1))
    key = int(row.top_keys[0, 0, 0, 0])
    begun = time.perf_counter()
    far = largest_cells(pyramid, 5, skip_first=True, near=2)[0]
    took = time.perf_counter() - begun
    cells, whole = pyramid.geometry.cells(0), pyramid.tile(0, 0, 0).values("max")
    deepest = pyramid.tile(pyramid.geometry.depth, i // 256, j // 256).values("max")
    shown, exact = float(deepest[i % 256, j % 256]), exact_weight(planted, i, j)
    pixel = float(whole[i // cells, j // cells])
    stripe, sink = float(whole.diagonal().min()), float(whole[1:, 0].min())
    return {
        f"the largest of its row's top 8: key {key:,}": key == j,
        f"the first of the largest cells: ({far.i:,}, {far.j:,}), in {took:.1f} s": (far.i, far.j) == (i, j),
        f"its pixel at level 0: {pixel:.7f}": abs(pixel - shown) <= 1e-6 * shown,
        f"its cell: {shown:.7f}, in float64 {exact:.7f}": abs(shown - exact) <= 2e-5 * exact,
        f"the stripe at level 0: {stripe:.3f} or more": stripe > 0.3,
        f"the sink at level 0: {sink:.3f} or more": sink > 0.1,
    }
