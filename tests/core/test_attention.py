"""Which way attention goes, and that a hundred thousand positions stay in memory that grows with T."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from attnscope.core import masks
from attnscope.core.arithmetic import Arithmetic
from attnscope.core.attention import SOONER, attention, path
from attnscope.core.bias import KeyBias
from attnscope.core.dense import steps
from attnscope.core.engine import chosen
from attnscope.core.scoring import Scoring, as_scoring
from tests.heard import Counting

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
def test_long_causal_attention_goes_to_the_native_engine(make) -> None:
    q, k, v = make(b=1, h=1, tq=SOONER[ISA])
    few = [x[:, :, :100] for x in (q, k, v)]
    assert path(as_scoring(masks.causal()).bind(*few[:2]), few[2]) == "sdpa"
    assert path(as_scoring(masks.causal()).bind(q, k), v) == "native"
    assert path(as_scoring(masks.full()).bind(q, k), v) == "sdpa"
    theirs = scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(attention(q, k, v, masks.causal()), theirs, rtol=2e-6, atol=2e-6)
    learned = v.clone().requires_grad_()
    assert path(as_scoring(masks.causal()).bind(q, k), learned) == "sdpa"


@pytest.mark.parametrize("scoring", [None, masks.causal(), masks.window(3)], ids=repr)
def test_a_function_mode_hears_attention_alone_and_changes_nothing(make, scoring: masks.Mask | None) -> None:
    mine, mode = [x.requires_grad_() for x in make()], Counting()
    alone = attention(*mine, scoring)
    grads = torch.autograd.grad(alone.sum(), mine)
    with mode:
        out = attention(*mine, scoring)
    heard = [func for func in mode.calls if func in (attention, scaled_dot_product_attention)]
    assert heard == [attention] and torch.equal(out, alone)
    assert all(map(torch.equal, torch.autograd.grad(out.sum(), mine), grads))


def test_a_class_of_tensors_of_ones_own_stays_one(make) -> None:
    class Own(torch.Tensor):
        pass

    out = attention(*(x.as_subclass(Own) for x in make()), masks.window(3))
    assert type(out) is Own
    plain = attention(*make(), masks.window(3))
    torch.testing.assert_close(out.as_subclass(torch.Tensor), plain, rtol=0, atol=1e-6)


def test_a_call_goes_on_one_device_whatever_torchs_own_default_is(make) -> None:
    """Memory that was made on another device was written to at the address that it gave."""
    mine = make()
    alone = attention(*mine, masks.window(3))
    with torch.device("meta"):
        out = attention(*mine, masks.window(3))
    assert torch.equal(out, alone)


def test_torch_exports_and_compiles_it_as_it_would_without_a_mode(make) -> None:
    class Full(torch.nn.Module):
        def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
            return attention(q, k, v)

    q, k, v = make()
    with Counting():
        exported = torch.export.export(Full(), (q, k, v))
    names = [str(node.target) for node in exported.graph.nodes if node.op == "call_function"]
    assert names == ["aten.scaled_dot_product_attention.default"]
    assert torch.equal(exported.module()(q, k, v), attention(q, k, v))


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
