"""What the numbers are: cases of wrong attention in real software, on the grid, on tiles and by choice."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from attnscope.core import masks
from attnscope.core.arithmetic import Arithmetic
from attnscope.core.bias import KeyBias, RelativeBias, TensorBias
from attnscope.core.dense import steps
from attnscope.core.positions import alibi
from attnscope.core.scoring import Scoring
from attnscope.errors import ScoringError, ShapeError
from tests.core.judge import close, plain


def test_a_whole_row_of_the_most_negative_bias_is_the_mean_of_the_values(make, out_of) -> None:
    """Case 3: a bias is a bias."""
    q, k, v = make()
    bias = torch.zeros(13, 13)
    bias[4] = torch.finfo(torch.float32).min
    close(out_of(q, k, v, Scoring(bias=TensorBias(bias)))[:, :, 4], v.mean(2))


def test_a_float_key_mask_is_added_to_the_scores(out_of) -> None:
    """Case 10."""
    q, k, v = torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 2, 2), torch.eye(2)[None, None]
    got = out_of(q, k, v, Scoring(bias=KeyBias(torch.tensor([[0.0, 1.0]]))))
    close(got.flatten(), torch.tensor([0.268941, 0.731059]))


def test_softmax_runs_over_keys(make) -> None:
    """Case 12."""
    q, k, v = make(tq=5, tk=11)
    weights = steps(q, k, v).weights
    assert weights.shape == (2, 6, 5, 11)
    close(weights.sum(-1), torch.ones(2, 6, 5))


def test_float16_does_not_overflow_before_the_scale(out_of) -> None:
    """Case 13."""
    q = torch.full((1, 1, 4, 64), 200.0, dtype=torch.float16)
    assert (out_of(q, q, torch.ones_like(q), None) == 1).all()


def test_query_heads_share_key_heads_in_order(make, out_of) -> None:
    """Case 15: query heads 0 and 1 use key head 0."""
    q, k, v = make(h=4, hk=2)
    want = plain(q, k, v, torch.ones(13, 13, dtype=torch.bool))
    close(out_of(q, k, v, None), want)
    close(
        out_of(q, k, v, masks.window(4, 4)),
        plain(q, k, v, (torch.arange(13) - torch.arange(13)[:, None]).abs() <= 4),
    )


def test_four_query_heads_and_three_key_heads_are_refused(make, out_of, as_a_user) -> None:
    """Case 15."""
    q, k, v = make(h=4, hk=3)
    with pytest.raises(ShapeError, match=r"Query heads \(4\) a multiple of key heads \(3\)"):
        out_of(q, k, v, None)


@pytest.mark.parametrize("mask", [masks.full(), masks.causal(), masks.window(2)])
def test_scale_zero_is_the_mean_of_the_visible_values(make, out_of, mask: masks.Mask) -> None:
    """Case 24."""
    q, k, v = make()
    seen = steps(q, k, v, mask).visible
    close(out_of(q, k, v, Scoring(mask=mask, scale=0.0)), plain(q, k, v, seen, scale=0.0))


@pytest.mark.parametrize("mask", [masks.full(), masks.causal(), masks.window(2)])
def test_a_negative_scale_works(make, out_of, mask: masks.Mask) -> None:
    """Case 24."""
    q, k, v = make()
    seen = steps(q, k, v, mask).visible
    close(out_of(q, k, v, Scoring(mask=mask, scale=-0.7)), plain(q, k, v, seen, scale=-0.7))


@pytest.mark.parametrize("mask", [masks.full(), masks.causal(), masks.padding(torch.arange(13) < 9)])
def test_strided_inputs_equal_contiguous_ones(make, out_of, mask: masks.Mask) -> None:
    """Case 25: inner stride, stride 0, transposed and sliced."""
    q, k, v = make(h=3, d=4, dv=4)
    want = out_of(q, k, v, mask)
    inner = torch.randn(2, 3, 13, 4, 2)
    inner[..., 1] = k
    turned = v.transpose(1, 3).contiguous().transpose(1, 3)
    sliced = torch.cat([q, q], -1)[..., 4:]
    close(out_of(sliced, inner[..., 1], turned, mask), want)
    one = k[:, :1].expand(2, 3, 13, 4)
    close(out_of(q, one, v, mask), out_of(q, one.contiguous(), v, mask))


@pytest.mark.parametrize(
    ("sizes", "want"),
    [
        ({"tk": 0, "tq": 3}, (2, 6, 3, 3)),
        ({"tk": 4, "tq": 0}, (2, 6, 0, 3)),
        ({"b": 0}, (0, 6, 13, 3)),
        ({"dv": 0}, (2, 6, 13, 0)),
        ({"h": 0}, (2, 0, 13, 3)),
        ({"d": 0, "dv": 0}, (2, 6, 13, 0)),
    ],
)
@pytest.mark.parametrize("mask", [masks.full(), masks.causal(), masks.rule(lambda b, h, i, j: j <= i)])
def test_zero_sizes_give_zeros_or_nothing(
    make, out_of, mask: masks.Mask, sizes: dict[str, int], want: tuple[int, ...]
) -> None:
    """Case 26."""
    q, k, v = make(**sizes)
    out = out_of(q, k, v, Scoring(mask=mask, offset=0))
    assert out.shape == want
    assert (out == 0).all() or out.numel() == 2 * 6 * 13 * 3


def test_a_head_of_width_zero_attends_evenly(make, out_of) -> None:
    """Case 26: no numbers to compare, so no key is preferred."""
    q, k, v = make(d=0)
    close(out_of(q, k, v, None), v.mean(2, keepdim=True).expand(2, 6, 13, 3))


def test_float64_stays_float64(make, out_of) -> None:
    """Case 27."""
    q, k, v = make(dtype=torch.float64)
    out = out_of(q, k, v, masks.causal())
    assert out.dtype == torch.float64
    close(out, plain(q, k, v, torch.ones(13, 13, dtype=torch.bool).tril()))


@pytest.mark.parametrize(
    "bias",
    [
        TensorBias(torch.full((13, 13), math.inf)),
        KeyBias(torch.full((2, 13), math.inf)),
        RelativeBias(torch.full((6, 25), math.inf), first=-12),
    ],
)
def test_plus_infinity_in_a_bias_is_refused(make, out_of, bias: TensorBias | KeyBias | RelativeBias) -> None:
    """Case 28."""
    q, k, v = make()
    with pytest.raises(ScoringError, match=r"holds \+inf.*hide the others with a mask"):
        out_of(q, k, v, Scoring(bias=bias))


def test_minus_infinity_in_a_bias_hides_its_cell(make, out_of) -> None:
    """Case 28: also where a whole row is hidden so."""
    q, k, v = make()
    seen = torch.rand(13, 13) > 0.4
    seen[3] = False
    bias = torch.randn(13, 13).masked_fill(~seen, -math.inf)
    both = out_of(q, k, v, Scoring(bias=TensorBias(bias), mask=masks.causal()))
    tril = torch.ones(13, 13, dtype=torch.bool).tril()
    extra = bias.masked_fill(~seen, 0.0).double() * math.sqrt(5)  # the oracle divides by it again
    q_more = torch.cat([q.double(), extra.expand(2, 6, 13, 13)], -1)
    k_more = torch.cat([k.double(), torch.eye(13, dtype=torch.float64).expand(2, 6, 13, 13)], -1)
    close(both, plain(q_more, k_more, v, seen & tril, scale=1 / math.sqrt(5)), dtype=torch.float32)


def test_the_softcap_comes_before_the_mask(make, out_of) -> None:
    """Case 30: after the mask, -inf would become -c and leak."""
    q, k, v = make()
    cap, seen = 0.5, torch.ones(13, 13, dtype=torch.bool).tril()
    scores = (cap * (q @ k.mT / math.sqrt(5) / cap).tanh()).double().masked_fill(~seen, -math.inf)
    want = scores.softmax(-1) @ v.double()
    close(out_of(q, k, v, Scoring(mask=masks.causal(), softcap=cap)), want, dtype=torch.float32)


def test_the_bias_comes_after_the_softcap_unless_it_is_said_to_be_inside(make, out_of) -> None:
    """Case 30."""
    q, k, v = make()
    cap, bias = 0.5, torch.randn(13, 13)
    scaled = q @ k.mT / math.sqrt(5)
    after = (cap * (scaled / cap).tanh() + bias).softmax(-1) @ v
    inside = (cap * ((scaled + bias) / cap).tanh()).softmax(-1) @ v
    scoring = Scoring(bias=TensorBias(bias), softcap=cap)
    close(out_of(q, k, v, scoring), after)
    close(out_of(q, k, v, Scoring(bias=TensorBias(bias), softcap=cap, bias_inside_cap=True)), inside)


def test_a_learned_sink_takes_its_share_and_mixes_nothing(make, out_of) -> None:
    """Case 31: never renormalised."""
    q, k, v = make()
    sinks = torch.randn(6)
    without, got = steps(q, k, v, masks.causal()), steps(q, k, v, Scoring(mask=masks.causal(), sinks=sinks))
    taken = (sinks[None, :, None] - got.lse).exp()
    close(got.weights.sum(-1), 1 - taken)
    close(got.lse_keys, without.lse)
    share = (got.lse_keys - sinks[None, :, None]).sigmoid()
    close(out_of(q, k, v, Scoring(mask=masks.causal(), sinks=sinks)), without.out * share[..., None])


def test_a_sink_alone_is_all_a_row_without_keys_has(make, out_of) -> None:
    """Case 31."""
    q, k, v = make()
    sinks = torch.randn(6)
    scoring = Scoring(mask=masks.padding(torch.zeros(13, dtype=torch.bool)), sinks=sinks)
    got = steps(q, k, v, scoring)
    assert torch.equal(got.lse, sinks[None, :, None].expand(2, 6, 13))
    assert (got.lse_keys == -torch.inf).all()
    assert (out_of(q, k, v, scoring) == 0).all()


def test_large_scores_keep_small_differences(out_of) -> None:
    """Case 36: scores of 1e4 with steps of 2^-10, in float32."""
    k = 1e4 + torch.randperm(31).view(1, 1, 31, 1) * 2.0**-10
    q, v = torch.ones(1, 1, 1, 1), torch.eye(31)[None, None]
    want = k.double().flatten().softmax(0)
    got = out_of(q, k, v, Scoring(scale=1.0)).flatten()
    assert (got - want).abs().max() < 1e-6
    assert torch.equal(got.argsort(), want.argsort())


def test_alibi_is_the_same_by_distance_by_key_and_as_a_tensor(make, out_of) -> None:
    """Case 23: slope * j and -slope * (i - j) differ by a constant of the row alone, under a causal mask."""
    q, k, v = make()
    by_distance = alibi(6, 13)
    slopes = by_distance.table[:, 12 - 1] * -1
    by_key = KeyBias(slopes[None, :, None] * torch.arange(13.0))
    grid = TensorBias(-slopes[:, None, None] * (torch.arange(13.0)[:, None] - torch.arange(13.0)).abs())
    want = out_of(q, k, v, Scoring(mask=masks.causal(), bias=by_distance))
    for bias in (by_key, grid):
        close(out_of(q, k, v, Scoring(mask=masks.causal(), bias=bias)), want)


def test_autocast_changes_nothing(make, out_of) -> None:
    """Case 2: autocast would do the products in bfloat16."""
    q, k, v = make(h=6, hk=3)
    for mask in (masks.causal(), masks.window(4)):
        want = out_of(q, k, v, mask)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            got = out_of(q, k, v, mask)
        assert got.dtype == torch.float32
        assert torch.equal(got, want)


def test_dropout_touches_nothing(make, out_of) -> None:
    """Case 14."""
    q, k, v = make()
    dropped: Callable[..., Tensor] = out_of
    close(dropped(q, k, v, Scoring(arithmetic=Arithmetic(dropout=0.5))), dropped(q, k, v, None))
