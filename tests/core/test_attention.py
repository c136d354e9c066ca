"""Which way attention goes, and that a hundred thousand positions stay in memory that grows with T."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest
import torch

from attnscope.core import masks
from attnscope.core.arithmetic import Arithmetic
from attnscope.core.attention import SOONER, attention, attention_to_hear, path
from attnscope.core.bias import KeyBias
from attnscope.core.dense import steps
from attnscope.core.engine import chosen
from attnscope.core.scoring import Scoring, as_scoring

REAL = torch.arange(13) < 9
FOUND = chosen()
OURS, ISA = ("tiles", "") if isinstance(FOUND, str) else ("native", FOUND.isa())


@pytest.mark.parametrize(
    ("scoring", "want"),
    [
        (None, "sdpa"),
        (masks.causal(), "sdpa"),
        (masks.from_tensor(torch.ones(13, 13, dtype=torch.bool).tril()), "sdpa"),
        (masks.window(None, None), "sdpa"),
        (masks.padding(REAL), "sdpa"),
        (Scoring(scale=0.3, offset=4), "sdpa"),
        (masks.padding(torch.zeros(13, dtype=torch.bool)), OURS),
        (masks.causal() & masks.padding(REAL), OURS),
        (masks.window(3), OURS),
        (Scoring(mask=masks.causal(), offset=2), OURS),
        (Scoring(mask=masks.causal(), offset=12), "sdpa"),
        (Scoring(softcap=3.0), OURS),
        (Scoring(sinks=torch.zeros(6)), OURS),
        (Scoring(bias=KeyBias(torch.zeros(2, 13))), OURS),
        (Scoring(arithmetic=Arithmetic(scores=torch.bfloat16)), OURS),
        (Scoring(scale=0.0), OURS),
        (Scoring(mask=masks.causal(), scale=-1.0), OURS),
    ],
)
def test_the_kernel_takes_what_it_can_express(make, scoring: Scoring | masks.Mask | None, want: str) -> None:
    q, k, v = make()
    assert path(as_scoring(scoring).bind(q, k), v) == want
    torch.testing.assert_close(attention(q, k, v, scoring), steps(q, k, v, scoring).out)


@pytest.mark.parametrize("mask", [masks.causal(), masks.padding(REAL)])
@pytest.mark.parametrize("where", ["k", "v"])
def test_numbers_that_are_not_finite_do_not_go_to_a_kernel_that_leaks_them(
    make, mask: masks.Mask, where: str
) -> None:
    """Case 7: F.scaled_dot_product_attention lets a hidden NaN through."""
    inputs = make()
    getattr(inputs, where)[1, 2, 3, 0] = math.nan
    assert path(as_scoring(mask).bind(inputs.q, inputs.k), inputs.v) == OURS


@pytest.mark.skipif(ISA not in SOONER, reason="no engine here that is sooner than the kernel")
def test_long_causal_attention_goes_to_the_native_engine_unless_it_is_to_be_heard(make) -> None:
    q, k, v = make(b=1, h=1, tq=SOONER[ISA])
    few = [x[:, :, :100] for x in (q, k, v)]
    assert path(as_scoring(masks.causal()).bind(*few[:2]), few[2]) == "sdpa"
    assert path(as_scoring(masks.causal()).bind(q, k), v) == "native"
    assert path(as_scoring(masks.full()).bind(q, k), v) == "sdpa"
    ours, heard = attention(q, k, v, masks.causal()), attention_to_hear(q, k, v, masks.causal())
    assert torch.equal(heard, torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True))
    torch.testing.assert_close(ours, heard, rtol=2e-6, atol=2e-6)
    learned = v.clone().requires_grad_()
    assert path(as_scoring(masks.causal()).bind(q, k), learned) == "sdpa"


def test_a_rule_and_float64_go_over_tiles(make) -> None:
    q, k, v = make()
    ruled = as_scoring(masks.rule(lambda b, h, i, j: (i + j) % 2 == 0))
    assert path(ruled.bind(q, k), v) == "tiles"
    assert path(as_scoring(masks.window(3)).bind(q.double(), k.double()), v.double()) == "tiles"


def test_a_decode_step_sees_every_key_and_goes_to_the_kernel(make) -> None:
    q, k, v = make(tq=1, tk=13)
    scoring = Scoring(mask=masks.causal(), offset=12)
    assert path(scoring.bind(q, k), v) == "sdpa"
    torch.testing.assert_close(attention(q, k, v, scoring), steps(q, k, v, scoring).out)


LONG = """
import resource, torch
from attnscope.core import masks
from attnscope.core.attention import attention
from attnscope.core.engine import normaliser

torch.set_num_threads(1)
q, k, v = (torch.randn(1, 1, 100_000, 16) for _ in range(3))
attention(q[:, :, :600], k[:, :, :600], v[:, :, :600], masks.window(31))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
first = masks.spans(torch.zeros(100_000).long(), torch.full((100_000,), 4))
attention(q, k, v, masks.window(63) | first)
normaliser(q, k, masks.window(31))
leaves = [x[:, :, :20_000].clone().requires_grad_() for x in (q, k, v)]
attention(*leaves, masks.window(63)).sum().backward()
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_a_hundred_thousand_positions_take_under_200_megabytes() -> None:
    """Case 36: a grid of booleans alone would take 10 GB, and 400 MB for the gradients' 20,000 positions."""
    got = subprocess.run(
        [sys.executable, "-c", LONG], capture_output=True, text=True, timeout=240, check=False
    )
    assert got.returncode == 0, got.stderr
    assert int(got.stdout) < 200
