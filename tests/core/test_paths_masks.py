"""Who sees whom: cases of wrong attention in real software, on the grid, on tiles and by choice."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from attnscope.core import masks
from attnscope.core.dense import steps
from attnscope.core.scoring import Scoring
from attnscope.errors import MaskError
from tests.core.judge import close, plain

ALL_DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


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


@pytest.mark.parametrize("shape", [(4, 4, 4, 4), (4, 1, 1, 4), (1, 4, 4, 1), (4, 4), (1, 1), (4,), (4, 1)])
def test_mask_axes_are_counted_from_the_right(make, out_of, shape: tuple[int, ...]) -> None:
    """Case 11: with batch, heads and length alike, a swapped axis would pass unseen by shape."""
    q, k, v = make(b=4, h=4, tq=4)
    seen = torch.rand(shape) > 0.35
    close(out_of(q, k, v, masks.from_tensor(seen)), plain(q, k, v, seen.expand(4, 4, 4, 4)))


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
