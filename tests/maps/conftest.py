"""Heads over any scoring, with more rows than a tile has pixels, and what a map must say of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from attnscope.core.masks import causal, documents, full, padding, rule, window
from attnscope.core.scoring import Scoring

SIZES = {"square": (613, 613), "low": (301, 1_100), "one row": (1, 700), "tall": (700, 90)}
"""Rows and columns, none of them a multiple of a tile."""

KINDS: dict[str, Callable[[int, int], Scoring]] = {
    "full": lambda tq, tk: Scoring(full(), offset=0),
    "causal": lambda tq, tk: Scoring(causal(), offset=tk - tq),
    "window": lambda tq, tk: Scoring(window(37), offset=tk - tq),
    "sinks": lambda tq, tk: Scoring(causal(), sinks=torch.tensor([-1.0, 2.0]), offset=tk - tq),
    "padded": lambda tq, tk: Scoring(
        causal() & padding(torch.arange(tk)[None] % 131 != 7), offset=tk - tq
    ),
    "first and near": lambda tq, tk: Scoring(
        window(50) | (causal() & rule(lambda b, h, i, j: j < 3)), offset=tk - tq
    ),
    "rule": lambda tq, tk: Scoring(
        causal() & rule(lambda b, h, i, j: (i * j + h) % 3 != 1), offset=tk - tq
    ),
    "documents": lambda tq, tk: Scoring(
        documents((torch.arange(tk) // 211 % 2)[None, tk - tq :], (torch.arange(tk) // 211 % 2)[None]),
        offset=tk - tq,
    ),
}  # fmt: skip


@pytest.fixture(scope="session")
def drawn() -> Callable[..., tuple[Tensor, Tensor]]:
    """drawn(tq, tk): q of two heads and k of one, (1 2 tq 8) and (1 1 tk 8)."""

    def make(tq: int, tk: int, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
        own = torch.Generator().manual_seed(5)
        return (
            torch.randn(1, 2, tq, 8, generator=own).mul(2).to(dtype),
            torch.randn(1, 1, tk, 8, generator=own).mul(2).to(dtype),
        )

    return make
