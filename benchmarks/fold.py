"""summarize() with every statistic on, against SDPA on the same q, k and v: pass 2 alone, both passes, and
both in bfloat16.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attnscope.core.engine import normaliser
from attnscope.core.fold import Summary, summarize
from attnscope.core.masks import causal
from benchmarks.bounds import hold
from benchmarks.limits import limit
from benchmarks.pairs import head, in_pairs, peak, row

LENGTH, HEADS, WIDTH, BLOCK = 8_192, 4, 64, 16


def prepare() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """q, k, v and the out of causal attention."""
    own = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, HEADS, LENGTH, WIDTH, generator=own) for _ in range(3))
    return q, k, v, theirs(q, k, v)


def theirs(q: Tensor, k: Tensor, v: Tensor, out: Tensor | None = None) -> Tensor:
    """The call that is looked at."""
    return scaled_dot_product_attention(q, k, v, is_causal=True)


def ours(q: Tensor, k: Tensor, v: Tensor, out: Tensor) -> Summary:
    """Both passes."""
    return summarize(q, k, causal(), v=v, out=out, block=BLOCK)


def run(rounds: int) -> None:
    """Times both ways against SDPA, and holds them to their bounds."""
    inputs = prepare()
    q, k, v, out = inputs
    known = normaliser(q, k, causal())
    head("summarize", "SDPA")
    ways = {
        "pass 2": lambda: summarize(q, k, causal(), v=v, out=out, normaliser=known, block=BLOCK),
        "both passes": lambda: ours(*inputs),
    }
    timed = {name: in_pairs(way, lambda: theirs(*inputs), rounds=rounds) for name, way in ways.items()}
    halves = [x.bfloat16() for x in inputs]
    timed["both passes, bfloat16"] = in_pairs(lambda: ours(*halves), lambda: theirs(*halves), rounds=rounds)
    row("pass 2", timed["pass 2"])
    row("both passes", timed["both passes"], peak("fold", "ours"), peak("fold", "theirs"))
    hold("8,192 tokens, pass 2 with normaliser known, to SDPA", timed["pass 2"].ratio, limit("pass 2"))
    hold("8,192 tokens, both passes, to SDPA", timed["both passes"].ratio, limit("both passes"))
    name = "both passes, bfloat16"
    row(name, timed[name])
    hold(f"8,192 tokens, {name}, to SDPA in bfloat16", timed[name].ratio, limit(name))
