"""A few last rows against 8,192 keys, as in decoding: the native engine against the engine of torch."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from attnscope.core.attention import attention
from attnscope.core.engine import Name, normaliser, using
from attnscope.core.fold import summarize
from attnscope.core.masks import causal
from attnscope.core.scoring import Scoring
from benchmarks.bounds import hold
from benchmarks.limits import limit, running
from benchmarks.pairs import head, in_pairs, row

KEYS, HEADS, KEY_HEADS, WIDTH = 8_192, 9, 3, 64  # SmolLM2's
ROWS = (9, 1)
SAMPLE = (
    0.05  # seconds of calls in a row: one alone takes a millisecond, and so does what else a machine does
)


def prepare(rows: int = 9) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """q, k, v and an out."""
    own = torch.Generator().manual_seed(0)
    q, out = (torch.randn(1, HEADS, rows, WIDTH, generator=own) for _ in range(2))
    k, v = (torch.randn(1, KEY_HEADS, KEYS, WIDTH, generator=own) for _ in range(2))
    return q, k, v, out


def on(name: Name, work: Callable[[], object]) -> Callable[[], object]:
    """The same on one engine."""

    def run() -> object:
        with using(name):
            return work()

    return run


def run(rounds: int) -> None:
    """Times what is made of a step."""
    if running() == "torch":
        print("  the native engine does not run here")
        return
    head("native", "torch")
    for rows in ROWS:
        q, k, v, out = prepare(rows)
        scoring = Scoring(causal(), offset=KEYS - rows)
        ways: dict[str, Callable[[], object]] = {
            "normaliser": lambda q=q, k=k, s=scoring: normaliser(q, k, s),
            "summary, certified": lambda q=q, k=k, v=v, o=out, s=scoring: summarize(q, k, s, v=v, out=o),
        }
        if rows > 1:  # one row sees every key: that goes to SDPA on both
            ways["out"] = lambda q=q, k=k, v=v, s=scoring: attention(q, k, v, s)
        for name, work in ways.items():
            timed = in_pairs(on("native", work), on("torch", work), rounds=4 * rounds, least=SAMPLE)
            row(f"{name}, {rows} rows", timed)
            hold(f"{name} of {rows} rows before {KEYS:,} keys, to torch", timed.ratio, limit("decode"))
