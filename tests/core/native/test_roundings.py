"""The native engine rounds what a model rounds, step by step, as the torch engine does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

import pytest
import torch
from torch import Tensor

from attnscope.core import masks
from attnscope.core.arithmetic import Arithmetic
from attnscope.core.bias import RelativeBias
from attnscope.core.certificate import certify
from attnscope.core.dense import steps
from attnscope.core.engine import Native, engine_of, using
from attnscope.core.fold import Summary, summarize
from attnscope.core.native.library import Library, library
from attnscope.core.scoring import Scoring

FOUND = library()
pytestmark = pytest.mark.skipif(not isinstance(FOUND, Library), reason=f"the native engine: {FOUND}")

B16, F16, F32 = torch.bfloat16, torch.float16, torch.float32


@pytest.fixture(autouse=True, params=FOUND.sets() if isinstance(FOUND, Library) else ["none"])
def _each_set(request: pytest.FixtureRequest) -> Iterator[None]:
    with using("native", isa=request.param):
        yield


def whole(*shape: int, seed: int) -> Tensor:
    """Whole numbers: sums of their products are exact in every order and dtype."""
    return torch.randint(-2, 3, shape, generator=torch.Generator().manual_seed(seed)).float()


def nearly_all_equal(found: Summary, wanted: Summary) -> None:
    """A last bit of exp or tanh may turn a rounding; that is rare, and small."""
    for field in fields(Summary):
        one, two = getattr(found, field.name), getattr(wanted, field.name)
        if not isinstance(two, Tensor) or not two.is_floating_point() or field.name.startswith("distance"):
            continue
        assert torch.equal(one.isnan(), two.isnan()), field.name
        off = (one - two).abs().nan_to_num(0.0) > 1e-5 * (1 + two.abs().nan_to_num(0.0))
        assert off.float().mean() < 0.03, f"{field.name}: {int(off.sum())} of {off.numel()}"
        torch.testing.assert_close(one, two, rtol=2e-2, atol=2e-2, equal_nan=True, msg=field.name)


HOW = {
    "eager in bfloat16": Arithmetic(B16, B16, F32, B16),
    "eager in float16": Arithmetic(F16, F16, F32, F16),
    "softmax in bfloat16": Arithmetic(B16, B16, B16, B16),
    "products alone": Arithmetic(products=F16),
    "scores alone": Arithmetic(scores=B16),
    "weights alone": Arithmetic(weights=F16),
    "the row's maximum first": Arithmetic(B16, B16, B16, B16, subtract_max=True),
    "q scaled first": Arithmetic(B16, B16, F32, B16, scale_q=True),
    "bias inside the product": Arithmetic(B16, B16, F32, B16, fused_bias=True),
    "q scaled, bias inside the product": Arithmetic(B16, B16, F32, B16, scale_q=True, fused_bias=True),
    "softmax in float64": Arithmetic(softmax=torch.float64),
}


@pytest.mark.parametrize("dtype", [B16, F16, F32])
@pytest.mark.parametrize("how", HOW)
def test_each_step_is_rounded_as_the_model_rounds_it(how: str, dtype: torch.dtype) -> None:
    q, k = whole(1, 4, 90, 8, seed=0).to(dtype), whole(1, 2, 101, 8, seed=1).to(dtype)
    bias = RelativeBias(torch.randn(4, 300, generator=torch.Generator().manual_seed(2)), -150)
    for more in (
        {},
        {"bias": bias},
        {"bias": bias, "softcap": 3.0},
        {"sinks": torch.tensor([0.3, 1, 2, -1.0])},
    ):
        scoring = Scoring(masks.causal(), scale=0.37, offset=11, arithmetic=HOW[how], **more)
        assert isinstance(engine_of(scoring.bind(q, k)), Native)
        found = summarize(q, k, scoring, block=16)
        with using("torch"):
            wanted = summarize(q, k, scoring, block=16)
        nearly_all_equal(found, wanted)
        assert torch.equal(found.seen, wanted.seen)


@pytest.mark.parametrize("dtype", [B16, F16])
def test_inputs_of_16_bits_are_computed_in_float32(dtype: torch.dtype) -> None:
    own = torch.Generator().manual_seed(0)
    q, k = (torch.randn(2, 3, t, 16, generator=own).to(dtype) for t in (70, 83))
    found = summarize(q, k, Scoring(masks.window(30), offset=13), block=16)
    wanted = summarize(q.double(), k.double(), Scoring(masks.window(30), offset=13), block=16)
    for name in ("entropy", "largest", "received", "block_sum", "block_max", "first"):
        one, two = getattr(found, name), getattr(wanted, name)
        torch.testing.assert_close(one.double(), two, rtol=1e-5, atol=1e-5, msg=name)


def test_numbers_past_the_range_of_float16_and_below_it_are_rounded_as_torch_does() -> None:
    values = torch.tensor([65504.0, 65519.0, 65520.0, 1e6, -7e4, 6e-8, 2e-8, 3e-5, 6.2e-5, 0.0, -1e-7, 1 / 3])
    k = torch.stack([values, torch.zeros_like(values)], -1)[None, None]
    q = torch.tensor([[[[1.0, 0.0]]]])
    scoring = Scoring(scale=1.0, arithmetic=Arithmetic(scores=F16))
    found = summarize(q, k, scoring, top=12)
    assert found.largest.isnan().all()  # inf is among them
    scoring = Scoring(
        masks.padding(values.half().isfinite()[None]), scale=1.0, arithmetic=Arithmetic(scores=F16)
    )
    found = summarize(q, k, scoring, top=9)
    with using("torch"):
        wanted = summarize(q, k, scoring, top=9)
    assert torch.equal(found.top_keys, wanted.top_keys)


@pytest.mark.parametrize("dtype", [F32, B16])
@pytest.mark.parametrize(
    "more", [{}, {"softcap": 4.0}, {"bias": RelativeBias(torch.linspace(-3, 0, 200)[None], -150)}]
)
def test_a_certificate_has_the_figures_that_the_torch_engine_gives_it(dtype: torch.dtype, more: dict) -> None:
    own = torch.Generator().manual_seed(3)
    q, k, v = (torch.randn(1, h, 120, 16, generator=own).to(dtype) for h in (4, 2, 2))
    scoring = Scoring(masks.causal(), **more)
    out = steps(q, k, v, scoring).out
    v[0, 1, 77] = torch.nan
    found = certify(q, k, v, out, scoring)
    with using("torch"):
        wanted = certify(q, k, v, out, scoring)
    close = 0.3 if dtype == F32 else 1e-2  # in units of rounding: ours falls elsewhere
    torch.testing.assert_close(found.rms, wanted.rms, rtol=close, atol=close)
    torch.testing.assert_close(found.leverage, wanted.leverage, rtol=1e-2, atol=1e-2)
    assert torch.equal(found.rows, wanted.rows) and torch.equal(found.broken, wanted.broken)
    assert found.verdict == wanted.verdict
