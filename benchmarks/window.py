"""A sliding window: attention(), which leaves out what is not seen, against SDPA with the equal mask, which
visits every cell.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attnscope.core.attention import attention
from attnscope.core.masks import window
from benchmarks.bounds import hold
from benchmarks.limits import limit
from benchmarks.pairs import head, in_pairs, peak, row

LENGTH, WINDOW, HEADS, WIDTH = 16_384, 512, 2, 64


def prepare() -> tuple[Tensor, Tensor, Tensor]:
    """q, k and v."""
    own = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, HEADS, LENGTH, WIDTH, generator=own) for _ in range(3))
    return q, k, v


def ours(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """attention(): what the window touches."""
    return attention(q, k, v, window(WINDOW - 1))


def theirs(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """SDPA with the mask as a tensor, made once for the call."""
    place = torch.arange(LENGTH)
    behind = place[:, None] - place
    return scaled_dot_product_attention(q, k, v, attn_mask=(behind >= 0) & (behind < WINDOW))


def run(rounds: int) -> None:
    """Times both and prints the row."""
    inputs = prepare()
    torch.testing.assert_close(ours(*inputs), theirs(*inputs), rtol=1e-4, atol=1e-5)
    head("attention", "SDPA")
    timed = in_pairs(lambda: ours(*inputs), lambda: theirs(*inputs), rounds=min(rounds, 3))
    row(f"window {WINDOW} of {LENGTH:,}", timed, peak("window", "ours"), peak("window", "theirs"))
    hold("a window of 512 at 16,384 tokens, to SDPA with the mask", timed.ratio, limit("window"))
