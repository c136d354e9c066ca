"""Section 4: what the checker of weights says of each mistake, and that it says nothing of healthy grids."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import attnscope as ats
from attnscope.core.bias import KeyBias
from attnscope.core.positions import alibi
from attnscope.lesson.checks.finding import NAMES
from attnscope.lesson.mistakes import of_scores
from tests.lesson.draws import drawn

SEEDS = st.integers(0, 10_000)
WIDTHS = st.sampled_from([2, 3, 8, 16, 64])
DTYPES = st.sampled_from([torch.float64, torch.float32, torch.bfloat16, torch.float16])


def masks(tq: int, tk: int, seed: int) -> list[Any]:
    generator = torch.Generator().manual_seed(seed)
    seen = torch.rand(tq, tk, generator=generator) < 0.6
    return [
        None, ats.causal(), ats.window(1), ats.window(2, 1), ats.chunks(2), ats.prefix(2),
        ats.from_tensor(seen), ats.padding(torch.arange(tk)[None] < max(1, tk - 2)),
        ats.causal() & ats.padding(torch.arange(tk)[None] > 0),
    ]  # fmt: skip


@settings(max_examples=150)
@given(
    b=st.integers(1, 2), h=st.sampled_from([1, 2, 4]), tq=st.integers(1, 9), tk=st.integers(1, 9), d=WIDTHS,
    which=st.integers(0, 8), dtype=DTYPES, told=st.sampled_from(["nothing", "mask", "all"]), seed=SEEDS,
)  # fmt: skip
def test_section_4_healthy_weights_give_no_finding(
    b: int, h: int, tq: int, tk: int, d: int, which: int, dtype: torch.dtype, told: str, seed: int
) -> None:
    q, k = drawn(b, h, tq, tk, d, seed)
    mask, offset = masks(tq, tk, seed)[which], max(0, tk - tq)
    weights = ats.steps(q, k, k, ats.Scoring(mask, offset=offset)).weights.to(dtype)
    beside: dict[str, Any] = {} if told == "nothing" else {"mask": mask, "offset": offset}
    if told == "all":
        beside |= {"q": q, "k": k}
    found = ats.diagnose(weights, **beside)
    assert [one for one in found.findings if one.sure] == []
    # what is only perhaps wrong: a middle row of .99 that is there, or a random mask that is upside down
    assert set(found.names) <= {"saturated", "inverted_mask"} if told == "nothing" else found.healthy


@settings(max_examples=50)
@given(
    tq=st.integers(2, 9),
    extra=st.integers(0, 4),
    d=WIDTHS,
    kind=st.integers(0, 4),
    seed=SEEDS,
    known=st.booleans(),
)
def test_section_4_biases_caps_sinks_and_shared_keys_are_no_mistakes(
    tq: int, extra: int, d: int, kind: int, seed: int, known: bool
) -> None:
    tk = tq + extra
    q, k = drawn(1, 4, tq, tk, d, seed, hk=2)
    sinks = torch.randn(4, dtype=torch.float64) if kind == 3 else None
    scoring = [
        ats.Scoring(ats.causal(), offset=extra),
        ats.Scoring(ats.causal(), bias=alibi(4, tk), offset=extra),
        ats.Scoring(ats.causal(), bias=KeyBias(torch.randn(1, 4, tk)), offset=extra),
        ats.Scoring(ats.causal(), sinks=sinks, offset=extra),
        ats.Scoring(softcap=2.0),
    ][kind]
    weights = ats.steps(q, k, k, scoring).weights
    beside: dict[str, Any] = {"q": q, "k": k} if known else {}
    found = ats.diagnose(weights, mask=scoring.mask, sinks=sinks, offset=extra, **beside)
    assert "unscaled" not in found.names and "wrong_axis" not in found.names
    assert found.healthy, str(found)


@pytest.mark.parametrize(
    "weights",
    [
        torch.ones(1, 1), torch.eye(5), torch.full((6, 6), 1 / 6), torch.zeros(3, 4), torch.zeros(0, 3),
        torch.zeros(3, 0), torch.tensor([[1, 0], [0, 1]]), [[1.0, 0.0], [0.345, 0.655]],
        np.full((2, 3, 4), 0.25),
        torch.full((2, 1, 3, 8), 0.125, dtype=torch.bfloat16), [[0.345, 0.170, 0.242, 0.242]],
        [[0.048, 0.808, 0.097, 0.048], [0.065, 0.771, 0.110, 0.054]],
    ],
)  # fmt: skip
def test_section_4_small_even_empty_and_typed_grids_are_healthy(weights: Any) -> None:
    assert ats.diagnose(weights).healthy


def test_section_4_a_row_that_sees_nothing_is_no_mistake() -> None:
    mask = torch.tensor([[False, False, False], [True, True, False], [True, True, True]])
    q, k = drawn(1, 1, 3, 3, 8, 3)
    weights = ats.steps(q, k, k, ats.from_tensor(mask)).weights
    assert ats.diagnose(weights).healthy
    assert ats.diagnose(weights, mask=mask, q=q, k=k).healthy


PLANTED = st.tuples(st.integers(4, 9), st.sampled_from([16, 64, 128]), SEEDS, st.booleans())


@given(PLANTED)
def test_section_4_softmax_over_the_wrong_axis_is_found(case: tuple[int, int, int, bool]) -> None:
    t, d, seed, causal = case
    q, k = drawn(1, 2, t, t + 1, d, seed)
    mask = torch.ones(t + 1, t, dtype=torch.bool).triu(0 if causal else -t - 1)
    weights = ats.steps(k, q, q, ats.from_tensor(mask)).weights.mT
    found = ats.diagnose(weights)
    assert found.names == ("wrong_axis",) and found.findings[0].sure
    assert found.findings[0].evidence["largest_row"] > 1
    assert ats.diagnose(weights, mask=mask.T, q=q, k=k).names == ("wrong_axis",)


@given(PLANTED)
def test_section_4_a_missing_scale_is_found_where_q_and_k_are_given(case: tuple[int, int, int, bool]) -> None:
    t, d, seed, causal = case
    q, k = drawn(1, 2, t, t, d, seed)
    mask = ats.causal() if causal else None
    weights = ats.steps(q, k, k, ats.Scoring(mask, scale=1.0)).weights.float()
    found = ats.diagnose(weights, mask=mask, q=q, k=k)
    assert found.names == ("unscaled",) and found.findings[0].sure
    assert found.findings[0].evidence["fitted_scale"] == pytest.approx(1.0, abs=1e-3)
    assert "unscaled" not in ats.diagnose(weights).names


def test_section_4_without_q_and_k_saturated_is_the_most_that_is_said() -> None:
    q, k = drawn(1, 1, 8, 8, 512, 0)
    weights = ats.steps(q, k, k, ats.Scoring(scale=1.0)).weights
    found = ats.diagnose(weights)
    assert found.names == ("saturated",) and not found.findings[0].sure
    assert found.findings[0].evidence["median_largest"] > 0.99
    assert "missing scale" in found.findings[0].sentence
    assert ats.diagnose(weights, q=q, k=k).names == ("unscaled",)
    sharp = ats.steps(20 * q, k, k).weights  # large queries, divided as they should be
    assert ats.diagnose(sharp, q=20 * q, k=k).healthy


def test_section_4_a_scale_of_its_own_is_told_with_its_number() -> None:
    q, k = drawn(1, 2, 6, 6, 64, 1)
    weights = ats.steps(q, k, k, ats.Scoring(scale=1 / 64)).weights
    found = ats.diagnose(weights, q=q, k=k)
    assert found.names == ("other_scale",) and not found.findings[0].sure
    assert found.findings[0].evidence["fitted_scale"] == pytest.approx(1 / 64, rel=1e-6)
    assert ats.diagnose(weights).healthy


@given(PLANTED)
def test_section_4_a_mask_the_wrong_way_round_is_found(case: tuple[int, int, int, bool]) -> None:
    t, d, seed, known = case
    q, k = drawn(1, 2, t, t, d, seed)
    seen = torch.ones(t, t, dtype=torch.bool).tril()
    weights = ats.steps(q, k, k, ats.from_tensor(~seen)).weights
    beside: dict[str, Any] = {"q": q, "k": k} if known else {}
    found = ats.diagnose(weights, mask=seen, **beside)
    assert found.names == ("inverted_mask",) and found.findings[0].sure
    assert found.findings[0].evidence["share_on_hidden"] == pytest.approx(1.0)
    alone = ats.diagnose(weights)
    assert alone.names == ("inverted_mask",) and not alone.findings[0].sure


@given(PLANTED)
def test_section_4_a_padding_mask_the_wrong_way_round_is_found(case: tuple[int, int, int, bool]) -> None:
    t, d, seed, _ = case
    q, k = drawn(2, 2, t, t, d, seed)
    keys = (torch.arange(t) < t - 1)[None].expand(2, -1)
    weights = ats.steps(q, k, k, ats.padding(~keys)).weights
    assert ats.diagnose(weights, mask=ats.padding(keys)).names == ("inverted_mask",)


@given(PLANTED)
def test_section_4_a_mask_after_softmax_is_found(case: tuple[int, int, int, bool]) -> None:
    t, d, seed, windowed = case
    q, k = drawn(1, 2, t, t, d, seed)
    mask = ats.window(1) if windowed else ats.causal()
    seen = ats.steps(q, k, k, mask).visible
    weights = ats.steps(q, k, k).weights * seen
    found = ats.diagnose(weights, mask=mask, q=q, k=k)
    assert found.names == ("mask_after_softmax",) and found.findings[0].sure
    assert found.findings[0].evidence["smallest_row"] < 1
    without = ats.diagnose(weights, mask=mask)
    assert without.names == ("mask_after_softmax",) and without.findings[0].sure != windowed
    assert ats.diagnose(weights).names == ("mask_after_softmax",)


@given(PLANTED, st.sampled_from([-0.5, -3.0, -9.0]))
def test_section_4_a_finite_fill_that_leaks_is_found_with_its_number(
    case: tuple[int, int, int, bool], fill: float
) -> None:
    t, d, seed, known = case
    q, k = drawn(1, 1, t, t, d, seed)
    right = ats.steps(q, k, k, ats.causal())
    weights = of_scores(right.scaled.masked_fill(~right.visible, fill))
    beside: dict[str, Any] = {"q": q, "k": k} if known else {}
    found = ats.diagnose(weights, mask=ats.causal(), **beside)
    assert found.names == ("leaking_fill",) and found.findings[0].sure
    assert found.findings[0].evidence["hidden_cells_with_weight"] == t * (t - 1) / 2
    if known:
        assert found.findings[0].evidence["fill"] == pytest.approx(fill, abs=1e-6)
    if fill == -9.0:
        alone = ats.diagnose(weights)
        assert alone.names == ("leaking_fill",) and not alone.findings[0].sure


@given(PLANTED)
def test_section_4_a_mask_that_was_never_put_on_is_told_from_a_leak(case: tuple[int, int, int, bool]) -> None:
    t, d, seed, _ = case
    q, k = drawn(1, 2, t, t, d, seed)
    weights = ats.steps(q, k, k).weights
    found = ats.diagnose(weights, mask=ats.causal(), q=q, k=k)
    assert found.names == ("mask_missing",) and found.findings[0].sure
    without = ats.diagnose(weights, mask=ats.causal())
    assert without.names == ("leaking_fill",) and "not put on at all" in without.findings[0].sentence


def test_section_4_even_shares_in_a_row_that_sees_nothing_are_a_leak() -> None:
    q, k = drawn(1, 1, 4, 4, 8, 0)
    seen = torch.ones(4, 4, dtype=torch.bool).tril()
    seen[0] = False
    scores = ats.steps(q, k, k).scaled.masked_fill(~seen, torch.finfo(torch.float32).min)
    found = ats.diagnose(scores.softmax(-1), mask=seen)
    assert found.names == ("leaking_fill",)
    assert "Query 0 sees no key" in found.findings[0].sentence and ".250" in found.findings[0].sentence


def test_section_4_rows_under_one_may_be_a_learned_sink() -> None:
    q, k = drawn(1, 2, 5, 5, 8, 0)
    sinks = torch.tensor([0.5, -torch.inf], dtype=torch.float64)
    weights = ats.steps(q, k, k, ats.Scoring(ats.causal(), sinks=sinks)).weights
    found = ats.diagnose(weights)
    assert found.names == ("learned_sink",) and found.findings[0].places == ((0, 0),)
    assert not found.findings[0].sure and "learned sink" in found.findings[0].sentence
    assert ats.diagnose(weights, sinks=sinks).healthy
    assert ats.diagnose(weights, mask=ats.causal(), q=q, k=k, sinks=sinks).healthy


def test_section_4_a_sink_that_does_not_fit_is_found_exactly() -> None:
    q, k = drawn(1, 2, 5, 5, 8, 0)
    sinks = torch.tensor([0.5, 1.0], dtype=torch.float64)
    weights = ats.steps(q, k, k, ats.Scoring(ats.causal(), sinks=sinks)).weights
    found = ats.diagnose(weights, mask=ats.causal(), q=q, k=k, sinks=sinks.flip(0))
    assert found.names == ("sinks_do_not_fit",) and len(found.findings[0].places) == 2
    again = weights / weights.sum(dim=-1, keepdim=True)
    assert ats.diagnose(again, mask=ats.causal(), q=q, k=k, sinks=sinks).names == ("sinks_do_not_fit",)


def test_section_4_softmax_over_heads_or_over_everything_is_the_wrong_axis() -> None:
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(2, 4, 5, 5, generator=generator)
    for weights, word in (
        (scores.softmax(1), "heads"),
        (scores.softmax(0), "batch"),
        (scores.flatten(-2).softmax(-1).view_as(scores), "all cells"),
    ):
        found = ats.diagnose(weights)
        assert found.names == ("wrong_axis",) and word in found.findings[0].sentence


def test_section_4_what_was_never_normalised_is_said() -> None:
    found = ats.diagnose(torch.full((3, 3), 0.7))
    assert found.names == ("not_normalised",) and "2.100" in found.findings[0].sentence


def test_section_4_two_mistakes_at_once_are_both_found() -> None:
    q, k = drawn(1, 1, 6, 6, 64, 0)
    seen = torch.ones(6, 6, dtype=torch.bool).tril()
    weights = ats.steps(q, k, k, ats.Scoring(scale=1.0)).weights * seen
    found = ats.diagnose(weights, mask=seen, q=q, k=k)
    assert set(found.names) == {"mask_after_softmax", "unscaled"}


def test_a_finding_names_the_heads_it_is_in() -> None:
    q, k = drawn(2, 3, 5, 5, 64, 0)
    weights = ats.steps(q, k, k).weights
    weights[1, 2] = ats.steps(q, k, k, ats.Scoring(scale=1.0)).weights[1, 2]
    found = ats.diagnose(weights, q=q, k=k)
    assert found.findings[0].places == ((1, 2),)
    assert "in 1 of 6 heads" in str(found)


def test_a_diagnosis_is_frozen_json_and_words() -> None:
    found = ats.diagnose([[0.5, 0.2], [0.5, 0.8]])
    with pytest.raises(AttributeError):
        found.findings = ()  # type: ignore[misc]
    assert set(found.names) <= set(NAMES)
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert data["healthy"] is False and data["findings"][0]["name"] == "wrong_axis"
    assert str(found).startswith("1 head of 2 by 2:\n  wrong axis: Rows sum to .700 to 1.300")
    assert (
        str(ats.diagnose(torch.eye(2), mask=torch.eye(2).bool()))
        == "1 head of 2 by 2, with a mask: nothing was found."
    )


def test_numpy_lists_and_tensors_are_told_the_same() -> None:
    grid = torch.rand(3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert ats.diagnose(grid.tolist()) == ats.diagnose(grid.numpy()) == ats.diagnose(grid)


def test_tensors_in_a_list_keep_their_dtype_and_one_sink_is_meant_for_all_heads() -> None:
    rows = torch.rand(2, 5, 40, generator=torch.Generator().manual_seed(0)).softmax(-1).bfloat16()
    assert ats.diagnose([list(rows[0]), list(rows[1])]).healthy
    assert ats.diagnose(rows, sinks=-torch.inf) == ats.diagnose(rows, sinks=[-torch.inf] * 2)


def test_section_4_typed_weights_of_a_16_bit_model_are_healthy_however_many() -> None:
    q, k = drawn(2, 4, 40, 40, 16, 0)
    weights = ats.steps(q, k, k, ats.causal()).weights
    for rounded in (weights, weights.bfloat16().double()):
        assert ats.diagnose((rounded * 1000).round() / 1000, mask=ats.causal()).healthy


def test_section_4_a_prefix_that_all_may_see_is_no_leak() -> None:
    scores = torch.zeros(6, 6, dtype=torch.float64)
    scores[0, 0] = 9.0
    seen = torch.ones(6, 6, dtype=torch.bool).tril()
    seen[:, :2] = True
    assert ats.diagnose(scores.masked_fill(~seen, -torch.inf).softmax(-1)).healthy


def test_section_4_a_faint_sink_is_never_surely_a_mask_after_softmax() -> None:
    q, k = drawn(2, 2, 6, 6, 16, 1)
    for logit in (-12.0, -9.0, -6.0, -3.0):
        sinks = torch.full((2,), logit, dtype=torch.float64)
        for mask in (None, ats.causal(), ats.window(1)):
            weights = ats.steps(q, k, k, ats.Scoring(mask, sinks=sinks)).weights
            for dtype in (torch.float64, torch.float32, torch.bfloat16):
                for beside in ({}, {"q": q, "k": k}):
                    found = ats.diagnose(weights.to(dtype), mask=mask, **beside)
                    assert not any(one.sure for one in found.findings), (logit, mask, dtype, str(found))


def test_section_4_a_sink_fits_under_a_mask_that_was_not_handed_over() -> None:
    q, k = drawn(1, 2, 8, 8, 16, 0)
    sinks = torch.tensor([0.5, 2.0], dtype=torch.float64)
    weights = ats.steps(q, k, k, ats.Scoring(ats.causal(), sinks=sinks)).weights
    assert ats.diagnose(weights, q=q, k=k, sinks=sinks).healthy


def test_section_4_a_bias_is_no_other_scale() -> None:
    q, k = drawn(1, 1, 8, 8, 64, 0)
    right = ats.steps(q * 8, k, k, ats.causal())
    bent = (right.scores * 0.97).softmax(-1)
    assert "other_scale" not in ats.diagnose(bent, mask=ats.causal(), q=q * 8, k=k).names


def test_a_window_and_fewer_queries_than_keys_need_an_offset_and_are_then_healthy() -> None:
    q, k = drawn(1, 2, 3, 7, 16, 0)
    weights = ats.steps(q, k, k, ats.Scoring(ats.window(2), offset=4)).weights
    assert ats.diagnose(weights, mask=ats.window(2), q=q, k=k, offset=4).healthy
    assert "leaking_fill" in ats.diagnose(weights, mask=ats.window(1), offset=4).names
