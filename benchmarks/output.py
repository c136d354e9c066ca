"""attention() over plain causal calls, against SDPA with is_causal."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attnscope.core.attention import attention
from attnscope.core.masks import causal
from benchmarks.bounds import hold
from benchmarks.limits import limit
from benchmarks.pairs import head, in_pairs, peak, row

HEADS = {2_048: 4, 4_096: 2, 8_192: 1, 16_384: 1}
"""Heads by length, so that each takes about as long."""

WIDTHS = (64, 128)


def prepare(length: int = 8_192, width: int = 64) -> tuple[Tensor, Tensor, Tensor]:
    """q, k and v."""
    own = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, HEADS[length], length, width, generator=own) for _ in range(3))
    return q, k, v


def ours(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """attention(), which chooses the way."""
    return attention(q, k, v, causal())


def theirs(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """SDPA."""
    return scaled_dot_product_attention(q, k, v, is_causal=True)


def run(rounds: int) -> None:
    """Times every length and width, and holds the slowest of the ratios to the bound."""
    head("attention", "SDPA")
    for width in WIDTHS:
        ratios = []
        for length in HEADS:
            inputs = prepare(length, width)
            torch.testing.assert_close(ours(*inputs), theirs(*inputs), rtol=1e-4, atol=1e-5)
            timed = in_pairs(lambda x=inputs: ours(*x), lambda x=inputs: theirs(*x), rounds=rounds)
            row(f"{length:,} tokens, width {width}", timed)
            ratios.append(timed.ratio)
        name = f"causal output, 2,048 to 16,384 tokens, width {width}, to SDPA"
        hold(name, max(ratios), limit("output"))
    print(
        f"  memory at 8,192 tokens: {peak('output', 'ours'):.0f} MB, SDPA {peak('output', 'theirs'):.0f} MB"
    )
