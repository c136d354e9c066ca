"""The replay of an eager model's steps is bit-equal to the model's own, written out as a model writes it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn.functional import softmax

from attnscope.core import masks
from attnscope.core.arithmetic import Arithmetic
from attnscope.core.bias import TensorBias
from attnscope.core.dense import steps
from attnscope.core.replay import replay, replay_head
from attnscope.core.scoring import Scoring

DTYPES = [torch.float32, torch.bfloat16, torch.float16]
SCALE = 64**-0.5


def rounding(dtype: torch.dtype, **more: object) -> Arithmetic:
    """What a Hugging Face model rounds: all in its dtype, but the softmax in float32."""
    return Arithmetic(products=dtype, scores=dtype, weights=dtype, **{"softmax": torch.float32, **more})


def repeated(k: Tensor, times: int) -> Tensor:
    b, hk, tk, d = k.shape
    return k[:, :, None, :, :].expand(b, hk, times, tk, d).reshape(b, hk * times, tk, d)


def additive(seen: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.zeros(seen.shape, dtype=dtype).masked_fill(~seen, torch.finfo(dtype).min)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("tq", [16, 37, 128])
def test_the_replay_of_a_grouped_causal_model_is_bit_equal(make, dtype: torch.dtype, tq: int) -> None:
    q, k, _ = make(b=2, h=6, hk=2, tq=tq, d=64, dtype=dtype)
    seen = torch.ones(tq, tq, dtype=torch.bool).tril()[None, None] & (torch.arange(tq) >= 3)
    scores = torch.matmul(q, repeated(k, 3).transpose(2, 3)) * SCALE + additive(seen, dtype)
    model = softmax(scores, dim=-1, dtype=torch.float32).to(dtype)
    scoring = Scoring(mask=masks.from_tensor(seen), scale=SCALE, arithmetic=rounding(dtype))
    mine = replay(scoring.bind(q, k))
    assert mine.dtype == dtype
    assert torch.equal(mine[:, :, 3:], model[:, :, 3:])
    assert (
        mine[:, :, :3] == 0
    ).all()  # rows that see nothing: the model's are uniform, over the future as well


@pytest.mark.parametrize("dtype", DTYPES)
def test_some_rows_replayed_are_those_of_the_whole(make, dtype: torch.dtype) -> None:
    q, k, _ = make(b=1, h=6, hk=2, tq=100, d=64, dtype=dtype)
    bound = Scoring(mask=masks.causal(), arithmetic=rounding(dtype)).bind(q, k)
    whole = replay(bound)
    for rows in (slice(0, 1), slice(17, 18), slice(31, 33), slice(50, 90), slice(97, 100), slice(99, 100)):
        ours = [replay_head(bound, rows, head, reach="call") for head in range(6)]
        assert torch.equal(torch.stack(ours), whole[0, :, rows].float())


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_replay_of_a_decode_step_is_bit_equal(make, dtype: torch.dtype) -> None:
    q, k, _ = make(b=1, h=6, hk=2, tq=1, tk=57, d=64, dtype=dtype)
    scores = torch.matmul(q, repeated(k, 3).transpose(2, 3)) * SCALE
    model = softmax(scores, dim=-1, dtype=torch.float32).to(dtype)
    scoring = Scoring(mask=masks.causal(), offset=56, scale=SCALE, arithmetic=rounding(dtype))
    assert torch.equal(replay(scoring.bind(q, k)), model)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_replay_caps_and_then_adds_as_the_model_does(make, dtype: torch.dtype) -> None:
    q, k, _ = make(b=2, h=4, tq=29, d=64, dtype=dtype)
    bias = torch.randn(4, 29, 29).to(dtype)
    seen = torch.ones(29, 29, dtype=torch.bool).tril()
    scores = torch.matmul(q, k.transpose(2, 3)) * SCALE
    scores = scores / 50.0
    scores = torch.tanh(scores)
    scores = scores * 50.0
    scores = scores + bias
    scores = scores + additive(seen, dtype)
    model = softmax(scores, dim=-1, dtype=torch.float32).to(dtype)
    scoring = Scoring(
        mask=masks.causal(), scale=SCALE, softcap=50.0, bias=TensorBias(bias), arithmetic=rounding(dtype)
    )
    assert torch.equal(replay(scoring.bind(q, k)), model)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_replay_of_sinks_takes_the_maximum_off_first(make, dtype: torch.dtype) -> None:
    """As gpt-oss: sinks are one more column, and the maximum is taken off in the model's dtype."""
    q, k, _ = make(b=2, h=4, hk=2, tq=23, d=64, dtype=dtype)
    sinks = torch.randn(4).to(dtype)
    seen = torch.ones(23, 23, dtype=torch.bool).tril()
    scores = torch.matmul(q, repeated(k, 2).transpose(2, 3)) * SCALE + additive(seen, dtype)
    both = torch.cat([scores, sinks.reshape(1, -1, 1, 1).expand(2, -1, 23, -1)], dim=-1)
    both = both - both.max(dim=-1, keepdim=True).values
    model = softmax(both, dim=-1, dtype=both.dtype)[..., :-1]
    how = rounding(dtype, softmax=dtype, subtract_max=True)
    scoring = Scoring(mask=masks.causal(), scale=SCALE, sinks=sinks, arithmetic=how)
    assert torch.equal(replay(scoring.bind(q, k)), model)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_replay_scales_q_first_where_the_model_does(make, dtype: torch.dtype) -> None:
    """As Whisper and OPT; the softmax in the input's dtype, as BERT."""
    q, k, _ = make(b=2, h=4, tq=23, d=48, dtype=dtype)
    model = softmax(torch.matmul(q * 48**-0.5, k.transpose(2, 3)), dim=-1)
    how = rounding(dtype, softmax=dtype, scale_q=True)
    assert torch.equal(replay(Scoring(arithmetic=how).bind(q, k)), model)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("d", [10, 64])
def test_the_replay_adds_a_bias_inside_the_product_where_the_model_does(
    make, dtype: torch.dtype, d: int
) -> None:
    """torch.baddbmm rounds product and bias together, as F.multi_head_attention_forward calls it."""
    q, k, v = make(b=1, h=6, tq=23, d=d, dtype=dtype)
    bias = torch.randn(1, 6, 23, 23).to(dtype)
    scaled_q = q * d**-0.5
    model = softmax(torch.baddbmm(bias[0], scaled_q[0], k[0].transpose(1, 2)), dim=-1)
    how = rounding(dtype, scale_q=True, fused_bias=True)
    scoring = Scoring(bias=TensorBias(bias), arithmetic=how)
    assert torch.equal(replay(scoring.bind(q, k))[0], model)
    grid = steps(q, k, v, scoring).weights[0]
    assert (grid - model.float()).abs().max() <= torch.finfo(dtype).eps
    if dtype == torch.bfloat16:  # each rounded by itself gives other weights
        apart = replace(scoring, arithmetic=rounding(dtype, scale_q=True))
        assert not torch.equal(replay(apart.bind(q, k))[0], model)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_grid_with_the_models_roundings_is_its_weights_up_to_one_rounding(
    make, dtype: torch.dtype
) -> None:
    q, k, v = make(b=1, h=4, tq=29, d=64, dtype=dtype)
    scoring = Scoring(mask=masks.causal(), arithmetic=rounding(dtype))
    model = replay(scoring.bind(q, k)).float()
    unit = torch.finfo(dtype).eps
    assert (steps(q, k, v, scoring).weights - model).abs().max() <= unit
    if dtype != torch.float32:
        assert (steps(q, k, v, masks.causal()).weights - model).abs().max() > unit / 4


def test_without_roundings_the_replay_is_the_grid(make) -> None:
    q, k, v = make(h=6, hk=3)
    scoring = Scoring(mask=masks.window(4), softcap=3.0, sinks=torch.randn(6))
    torch.testing.assert_close(replay(scoring.bind(q, k)), steps(q, k, v, scoring).weights)
