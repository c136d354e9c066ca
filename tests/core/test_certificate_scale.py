"""The unit of a row is its own: no key that it does not see, and no size of the values, moves it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention as sdpa

from attnscope.core.bias import KeyBias
from attnscope.core.certificate import Certificate, certify
from attnscope.core.masks import causal, padding, rule
from attnscope.core.scoring import Scoring

pytestmark = pytest.mark.usefixtures("each_engine")

T = 67


def call(dtype: torch.dtype = torch.float32, *, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """q (2 6 T 32), k and v (2 3 T 32)."""
    own = torch.Generator().manual_seed(seed)
    q, k, v = (torch.randn(2, h, T, 32, generator=own) for h in (6, 3, 3))
    return (2 * q).to(dtype), k.to(dtype), v.to(dtype)


def words(certificate: Certificate) -> set[str]:
    return {word for batch in certificate.verdict for word in batch}


@pytest.mark.parametrize("length", [1e8, 1e30])
@pytest.mark.parametrize("by", ["padding", "causality", "a rule"])
def test_a_long_key_that_no_row_sees_hides_no_fault(by: str, length: float) -> None:
    q, k, v = call()
    keys = (torch.arange(T) < 60).expand(2, -1)
    k[:, :, 60:] = length
    if by == "padding":
        scoring, seen = Scoring(causal() & padding(keys)), torch.ones(T, T, dtype=torch.bool).tril() & keys[0]
    elif by == "causality":
        q, scoring = q[:, :, :60], Scoring(causal(), offset=0)
        seen = torch.ones(60, T, dtype=torch.bool).tril()
    else:
        scoring = Scoring(rule(lambda b, h, i, j: (j <= i) & (j < 60)))
        seen = torch.ones(T, T, dtype=torch.bool).tril() & keys[0]
    out = sdpa(q, k, v, attn_mask=seen, enable_gqa=True)
    assert words(certify(q, k, v, out, scoring)) == {"passed"}
    assert words(certify(q, k, v, out, replace(scoring, scale=1.01 * 32**-0.5))) == {"refused"}


def test_a_long_key_that_only_some_rows_see_hides_no_fault_in_the_others() -> None:
    q, k, v = call()
    k[:, :, 50] *= 1e6
    out = sdpa(q, k, v, is_causal=True, enable_gqa=True)
    clean = certify(q, k, v, out, causal())
    assert words(clean) == {"passed"}
    out[:, :, 20] += 1e-4
    faulty = certify(q, k, v, out, causal())
    assert words(faulty) == {"refused"}
    assert bool((faulty.row == 20).all())


def test_rounding_of_a_large_bias_is_part_of_the_unit() -> None:
    q, k, v = call()
    bias = 0.7 * torch.arange(5000.0, 5000.0 + T).expand(1, 1, 1, T)  # as slope * j of ALiBi, far into a text
    lower = torch.full((T, T), -torch.inf).triu(1)
    scores = (q @ k.repeat_interleave(2, dim=1).mT) * 32**-0.5 + bias + lower
    out = torch.softmax(scores, dim=-1) @ v.repeat_interleave(2, dim=1)
    scoring = Scoring(causal(), bias=KeyBias(bias[:, :, 0]))
    exact = [x.double() for x in (q, k, v)]
    assert words(certify(q, k, v, out, scoring)) == {"passed"}
    far = sdpa(*exact, attn_mask=bias.double() + lower, enable_gqa=True).float()
    assert words(certify(q, k, v, far, scoring)) == {"passed"}


@settings(max_examples=12, deadline=None)
@given(power=st.integers(-80, 80), dtype=st.sampled_from([torch.float32, torch.bfloat16, torch.float64]),
       fault=st.sampled_from([1.0, 1.01]))  # fmt: skip
def test_a_power_of_two_on_values_and_out_changes_nothing(
    power: int, dtype: torch.dtype, fault: float
) -> None:
    q, k, v = call(dtype)
    out = sdpa(q, k, v, is_causal=True, enable_gqa=True)
    scoring = Scoring(causal(), scale=fault * 32**-0.5)
    plain = certify(q, k, v, out, scoring)
    scaled = certify(q, k, v * 2.0**power, out * 2.0**power, scoring)
    assert scaled.verdict == plain.verdict
    assert words(plain) == ({"passed"} if fault == 1.0 else {"refused"})
    for name in ("z", "rms", "scale_error", "t"):
        torch.testing.assert_close(getattr(scaled, name), getattr(plain, name), rtol=1e-9, atol=0)


@pytest.mark.parametrize("size", [1e-25, 1e25])
def test_a_fault_in_very_small_or_large_values_is_refused(size: float) -> None:
    q, k, v = call()
    out = sdpa(q, k, v * size, is_causal=True, enable_gqa=True)
    assert words(certify(q, k, v * size, out, causal())) == {"passed"}
    assert words(certify(q, k, v * size, out, Scoring(causal(), offset=1))) == {"refused"}
    assert words(certify(q, k, v * size, out, Scoring(causal(), scale=1.01 * 32**-0.5))) == {"refused"}


def test_a_huge_value_that_no_row_sees_hides_no_fault() -> None:
    q, k, v = call()
    keys = (torch.arange(T) < 60).expand(2, -1)
    v[:, :, 60:] = 1e30
    out = sdpa(q, k, v, attn_mask=torch.ones(T, T, dtype=torch.bool).tril() & keys[0], enable_gqa=True)
    assert words(certify(q, k, v, out, causal() & padding(keys))) == {"passed"}
    wrong = Scoring(causal() & padding(keys), scale=1.01 * 32**-0.5)
    assert words(certify(q, k, v, out, wrong)) == {"refused"}
