"""Every case of wrong attention known from real software, on the grid, on tiles and on the face that
chooses.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attnscope.core import masks
from attnscope.core.bias import KeyBias, RelativeBias, TensorBias
from attnscope.core.dense import steps
from attnscope.core.positions import alibi
from attnscope.core.scoring import Scoring
from attnscope.errors import MaskError, ScoringError, ShapeError

ALL_DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
CLOSE = {torch.float16: 2e-3, torch.bfloat16: 2e-2, torch.float32: 2e-6, torch.float64: 1e-14}


def close(got: Tensor, want: Tensor, *, dtype: torch.dtype | None = None) -> None:
    limit = CLOSE[dtype or got.dtype]
    torch.testing.assert_close(got.double(), want.double(), rtol=limit, atol=limit)


def plain(q: Tensor, k: Tensor, v: Tensor, seen: Tensor, *, scale: float | None = None) -> Tensor:
    """Attention in float64, written out by itself; a row that sees nothing is 0."""
    q, k, v = q.double(), k.double(), v.double()
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scores = q @ k.mT * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    weights = torch.softmax(scores.masked_fill(~seen, -torch.inf), -1)
    return weights.nan_to_num(0.0) @ v


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_a_row_that_sees_nothing_is_zero(make, out_of, dtype: torch.dtype) -> None:
    """Case 1."""
    q, k, v = make(dtype=dtype)
    seen = torch.rand(13, 13) > 0.4
    seen[[0, 4, 5]] = False
    out = out_of(q, k, v, masks.from_tensor(seen))
    assert (out[:, :, [0, 4, 5]] == 0).all()
    close(out, plain(q, k, v, seen))
    assert out.dtype == dtype


def test_a_row_that_sees_nothing_has_weights_zero_and_a_peak_of_minus_infinity(make) -> None:
    """Case 1."""
    q, k, v = make()
    got = steps(q, k, v, masks.padding(torch.zeros(13, dtype=torch.bool)))
    assert (got.weights == 0).all()
    assert (got.normaliser.peak == -torch.inf).all() and (got.normaliser.logsum == 0).all()
    assert (got.lse == -torch.inf).all()


def test_a_whole_row_of_the_most_negative_bias_is_the_mean_of_the_values(make, out_of) -> None:
    """Case 3: a bias is a bias."""
    q, k, v = make()
    bias = torch.zeros(13, 13)
    bias[4] = torch.finfo(torch.float32).min
    close(out_of(q, k, v, Scoring(bias=TensorBias(bias)))[:, :, 4], v.mean(2))


def test_two_masks_hide_what_either_hides_and_nothing_more(make, out_of) -> None:
    """Case 4: fills are never added."""
    q, k, v = make()
    one, two = torch.rand(13, 13) > 0.3, torch.rand(13, 13) > 0.3
    close(out_of(q, k, v, masks.from_tensor(one) & masks.from_tensor(two)), plain(q, k, v, one & two))


def test_a_masked_key_gets_nothing_among_hugely_negative_scores(out_of) -> None:
    """Case 5: a finite fill of -1e5 would give the masked key all the weight."""
    q = torch.ones(1, 1, 1, 1)
    k = torch.tensor([-110208.0, -110190.0, -110207.0]).view(1, 1, 3, 1)
    v = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]]).view(1, 1, 3, 2)
    scoring = Scoring(mask=masks.padding(torch.tensor([True, True, False])), scale=1.0)
    assert out_of(q, k, v, scoring).flatten().tolist() == [0.0, 1.0]
    weights = steps(q, k, v, scoring).weights.flatten()
    assert weights[2] == 0
    close(weights, torch.tensor([math.exp(-18), 1.0, 0.0]))


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_a_masked_weight_is_exactly_zero_in_every_dtype(make, dtype: torch.dtype) -> None:
    """Case 6."""
    q, k, v = make(dtype=dtype)
    weights = steps(q * 10, k, v, masks.causal()).weights
    assert (weights.triu(1) == 0).all()
    assert (weights.tril().sum(-1) - 1).abs().max() < 1e-5


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("mask", ["causal", "window", "rule", "padding"])
def test_a_bad_number_in_a_hidden_key_or_value_reaches_no_row(make, out_of, bad: float, mask: str) -> None:
    """Case 7."""
    q, k, v = make(h=6, hk=3)
    chosen = {
        "causal": masks.causal(),
        "window": masks.window(3),
        "rule": masks.rule(lambda b, h, i, j: j <= i),
        "padding": masks.padding(torch.arange(13) != 8),
    }[mask]
    want = out_of(q, k, v, chosen)
    k, v = k.clone(), v.clone()
    k[:, :, 8, 0], v[:, :, 8, 1] = bad, bad
    got = out_of(q, k, v, chosen)
    blind = slice(None) if mask == "padding" else slice(0, 8)
    close(got[:, :, blind], want[:, :, blind])


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_bad_number_in_a_visible_value_shows_where_it_is_seen(make, out_of, bad: float) -> None:
    """Case 7."""
    q, k, v = make()
    v[:, :, 8, 1] = bad
    out = out_of(q, k, v, masks.window(2))
    shows = ~out.isfinite()
    assert shows[:, :, 8:11, 1].all()
    assert shows.sum() == shows[:, :, 8:11, 1].sum()
    assert torch.equal(out[:, :, 8:11, 1].isnan(), torch.full((2, 6, 3), math.isnan(bad)))


def test_a_nan_in_a_visible_key_shows_in_the_rows_that_see_it(make, out_of) -> None:
    """Case 37."""
    q, k, v = make()
    k[:, :, 8, 0] = math.nan
    out = out_of(q, k, v, masks.window(2))
    rows = out.isnan().all(-1).all(0).all(0)
    assert rows.nonzero().flatten().tolist() == [8, 9, 10]
    assert out.isnan().sum() == 2 * 6 * 3 * 3


def test_a_row_that_sees_a_nan_has_weight_zero_where_it_sees_nothing(make) -> None:
    """Cases 6 and 37."""
    q, k, v = make()
    k[:, :, 8, 0] = math.nan
    got = steps(q, k, v, masks.window(2))
    assert got.weights[:, :, 8:11].masked_select(got.visible[:, :, 8:11]).isnan().all()
    assert (got.weights.masked_select(~got.visible) == 0).all()


def test_causal_with_fewer_queries_than_keys_asks_which_alignment_is_meant(make, out_of) -> None:
    """Case 8."""
    q, k, v = make(tq=5, tk=13)
    with pytest.raises(MaskError, match=r"5 queries and 13 keys.*offset=8 .*cache, bottom-right.*offset=0 "):
        out_of(q, k, v, masks.causal())


def test_the_two_alignments_of_causal_are_those_of_sdpa_and_of_a_cache(make, out_of) -> None:
    """Case 8."""
    q, k, v = make(tq=5, tk=13)
    top_left = scaled_dot_product_attention(q, k, v, is_causal=True)
    close(out_of(q, k, v, Scoring(mask=masks.causal(), offset=0)), top_left)
    seen = torch.arange(13) <= torch.arange(5)[:, None] + 8
    close(out_of(q, k, v, Scoring(mask=masks.causal(), offset=8)), plain(q, k, v, seen))


def test_row_zero_under_a_causal_mask_is_the_first_value(make, out_of) -> None:
    """Case 9: True = may attend."""
    q, k, v = make()
    tril = torch.ones(13, 13, dtype=torch.bool).tril()
    for mask in (masks.causal(), masks.from_tensor(tril)):
        assert torch.equal(out_of(q, k, v, mask)[:, :, 0], v[:, :, 0])


def test_a_float_key_mask_is_added_to_the_scores(out_of) -> None:
    """Case 10."""
    q, k, v = torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 2, 2), torch.eye(2)[None, None]
    got = out_of(q, k, v, Scoring(bias=KeyBias(torch.tensor([[0.0, 1.0]]))))
    close(got.flatten(), torch.tensor([0.268941, 0.731059]))


@pytest.mark.parametrize("shape", [(4, 4, 4, 4), (4, 1, 1, 4), (1, 4, 4, 1), (4, 4), (1, 1), (4,), (4, 1)])
def test_mask_axes_are_counted_from_the_right(make, out_of, shape: tuple[int, ...]) -> None:
    """Case 11: with batch, heads and length alike, a swapped axis would pass unseen by shape."""
    q, k, v = make(b=4, h=4, tq=4)
    seen = torch.rand(shape) > 0.35
    close(out_of(q, k, v, masks.from_tensor(seen)), plain(q, k, v, seen.expand(4, 4, 4, 4)))


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


def test_a_window_sees_its_distances_without_itself(make) -> None:
    """Case 20: Hugging Face's causal window W is window(W - 1)."""
    q, k, v = make()
    causal = steps(q, k, v, masks.window(3)).visible.sum(-1)[0, 0].tolist()
    assert causal == [1, 2, 3] + [4] * 10
    both = steps(q, k, v, masks.window(2, 2)).visible[0, 0]
    away = (torch.arange(13) - torch.arange(13)[:, None]).abs()
    assert torch.equal(both, away <= 2)


def test_every_constraint_holds_alone_and_together(make, out_of) -> None:
    """Case 21."""
    q, k, v = make()
    i, j = torch.arange(13)[:, None], torch.arange(13)
    real = torch.rand(2, 13) > 0.3
    free = torch.rand(2, 1, 13, 13) > 0.3
    made = {
        "causal": (masks.causal(), (j <= i).expand(2, 1, 13, 13)),
        "window": (masks.window(4, 1), ((j >= i - 4) & (j <= i + 1)).expand(2, 1, 13, 13)),
        "padding": (masks.padding(real), real[:, None, None].expand(2, 1, 13, 13)),
        "tensor": (masks.from_tensor(free), free),
    }
    every, seen = masks.full(), torch.ones(2, 1, 13, 13, dtype=torch.bool)
    for mask, grid in made.values():
        close(out_of(q, k, v, mask), plain(q, k, v, grid))
        every, seen = every & mask, seen & grid
    close(out_of(q, k, v, every), plain(q, k, v, seen))


def test_a_left_padded_row_is_the_same_text_alone(make, out_of) -> None:
    """Case 22."""
    q, k, v = make(b=1)
    alone = out_of(q[:, :, 5:], k[:, :, 5:], v[:, :, 5:], masks.causal())
    real = torch.arange(13) >= 5
    padded = out_of(q, k, v, masks.causal() & masks.padding(real, queries=real))
    close(padded[:, :, 5:], alone)
    assert (padded[:, :, :5] == 0).all()


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


def test_packed_documents_do_not_see_each_other(make, out_of) -> None:
    """Case 33: ids that come back are one document."""
    q, k, v = make()
    for ids in ([0] * 4 + [1] * 6 + [2] * 3, [0, 1, 0] * 4 + [1]):
        each = torch.tensor(ids)
        close(out_of(q, k, v, masks.documents(each)), plain(q, k, v, each[:, None] == each))


@pytest.mark.parametrize(
    "mask",
    [
        masks.padding(torch.ones(12, dtype=torch.bool)),
        masks.from_tensor(torch.ones(12, 13, dtype=torch.bool)),
        masks.documents(torch.zeros(12, dtype=torch.int64)),
        masks.spans(torch.zeros(12, dtype=torch.int64), torch.ones(12, dtype=torch.int64)),
        masks.padding(torch.ones(3, 13, dtype=torch.bool)),
    ],
)
def test_lengths_that_do_not_fit_are_refused(make, out_of, mask: masks.Mask) -> None:
    """Case 34."""
    with pytest.raises(MaskError, match=r"12|\(3, 13\)"):
        out_of(*make(), mask)


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
    from attnscope.core.arithmetic import Arithmetic

    q, k, v = make()
    dropped: Callable[..., Tensor] = out_of
    close(dropped(q, k, v, Scoring(arithmetic=Arithmetic(dropout=0.5))), dropped(q, k, v, None))
