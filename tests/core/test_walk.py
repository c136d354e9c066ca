"""The walk visits every visible cell once, and next to nothing else; its normaliser is the grid's."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnscope.core import masks
from attnscope.core.arithmetic import Arithmetic
from attnscope.core.dense import steps
from attnscope.core.engine import normaliser
from attnscope.core.normaliser import RowState, nothing_seen
from attnscope.core.positions import alibi
from attnscope.core.scoring import Scoring, as_scoring
from attnscope.core.tile import Normaliser
from attnscope.core.walk import TILE_CELLS, TILE_ROWS, walk

MASKS = {
    "full": masks.full(),
    "causal": masks.causal(),
    "window": masks.window(2, 1),
    "sink keys and window": masks.window(1) | masks.spans(torch.zeros(13).long(), torch.full((13,), 2)),
    "documents that come back": masks.documents(torch.tensor([0, 0, 1, 1, 1, 0, 2, 2, 3, 3, 3, 3, 0])),
    "nothing": masks.padding(torch.zeros(13, dtype=torch.bool)) & masks.window(0),
    "rule": masks.causal() & masks.rule(lambda b, h, i, j: (i + j + h) % 3 > 0),
}


@pytest.mark.parametrize("name", MASKS)
def test_a_walk_meets_every_visible_cell_once(make, small_tiles, name: str) -> None:
    q, k, v = make()
    dense = steps(q, k, v, MASKS[name])
    met = torch.zeros(2, 6, 13, 13, dtype=torch.int64)
    scores = torch.full((2, 6, 13, 13), -torch.inf)
    for tile in walk(as_scoring(MASKS[name]).bind(q, k)):
        met[:, :, tile.rows, tile.cols] += tile.visible
        scores[:, :, tile.rows, tile.cols] = tile.scores
        assert torch.equal(tile.visible.all(), torch.tensor(tile.whole)) or not tile.whole
    assert torch.equal(met, dense.visible.long())
    torch.testing.assert_close(scores, dense.scores)


def test_a_tile_gives_its_products_and_scaled_products(make) -> None:
    q, k, v = make(h=6, hk=3)
    dense = steps(q, k, v, masks.causal())
    tile = (
        as_scoring(masks.causal())
        .bind(q, k)
        .tile(slice(4, 9), slice(2, 11), heads=slice(3, 5), batch=slice(1, 2))
    )
    for name in ("products", "scaled", "scores"):
        torch.testing.assert_close(getattr(tile, name), getattr(dense, name)[1:2, 3:5, 4:9, 2:11])


@pytest.mark.parametrize("cut", [slice(0, 2), slice(1, 3), slice(4, 6), slice(5, 6), slice(0, 6)])
def test_any_heads_of_a_grouped_call_can_be_asked_for(make, cut: slice) -> None:
    q, k, v = make(h=6, hk=2)
    dense = steps(q, k, v)
    bound = Scoring().bind(q, k)
    got = bound.tile(slice(2, 7), slice(0, 13), heads=cut).scores
    torch.testing.assert_close(got, dense.scores[:, cut, 2:7])


def test_a_window_costs_its_width_and_not_the_square() -> None:
    t, reach = 20_000, 63
    q = torch.zeros(1, 1, t, 1)
    bound = Scoring(mask=masks.window(reach)).bind(q, q)
    cells = sum(tile.scores.numel() for tile in walk(bound))
    assert cells <= t * (reach + TILE_ROWS)
    assert cells < t * t / 60


def test_a_causal_walk_leaves_out_the_upper_half() -> None:
    t = 4 * TILE_ROWS
    q = torch.zeros(1, 1, t, 1)
    cells = sum(tile.scores.numel() for tile in walk(Scoring(mask=masks.causal()).bind(q, q)))
    assert cells == sum(n * TILE_ROWS * TILE_ROWS for n in range(1, 5))


def test_the_hole_between_sink_keys_and_a_window_is_not_visited() -> None:
    t = 8 * TILE_ROWS
    q = torch.zeros(1, 1, t, 1)
    first = masks.spans(torch.zeros(t, dtype=torch.int64), torch.full((t,), 4))
    bound = Scoring(mask=masks.window(31) | first).bind(q, q)
    cells = sum(tile.scores.numel() for tile in walk(bound))
    assert cells <= t * (31 + 4 + TILE_ROWS)


def test_a_tile_of_very_many_heads_has_fewer_rows() -> None:
    q = torch.zeros(64, 32, 300, 1)
    tile = next(walk(Scoring(mask=masks.causal()).bind(q, q)))
    assert tile.rows == slice(0, 16)
    assert tile.scores.numel() <= 4 * TILE_CELLS


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
def test_the_normaliser_by_tiles_is_that_of_the_grid(
    make, small_tiles, name: str, dtype: torch.dtype
) -> None:
    q, k, v = make(dtype=dtype)
    scoring = Scoring(mask=MASKS[name], bias=alibi(6, 13), softcap=3.0, sinks=torch.randn(6))
    want = steps(q, k, v, scoring).normaliser
    assert_same(normaliser(q, k, scoring), want)
    assert_same(
        normaliser(q, k, scoring, rows=slice(5, 11)), Normaliser(want.peak[..., 5:11], want.logsum[..., 5:11])
    )


def test_a_model_that_rounds_its_scores_has_the_normaliser_of_rounded_scores(make, small_tiles) -> None:
    q, k, v = make(dtype=torch.bfloat16)
    how = Arithmetic(products=torch.bfloat16, scores=torch.bfloat16, subtract_max=True)
    scoring = Scoring(mask=masks.causal(), sinks=torch.randn(6), arithmetic=how)
    assert_same(normaliser(q, k, scoring), steps(q, k, v, scoring).normaliser)


NUMBERS = st.one_of(st.just(-math.inf), st.floats(-60, 60, width=32))
STATES = st.lists(NUMBERS, min_size=0, max_size=5)


def state(scores: list[float]) -> RowState:
    """The state of one row that has seen these scores, in float64."""
    if not scores or max(scores) == -math.inf:
        return nothing_seen(1, 1, 1, dtype=torch.float64)
    x = torch.tensor(scores, dtype=torch.float64)
    return RowState(x.max().view(1, 1, 1), (x - x.max()).exp().sum().view(1, 1, 1))


@given(a=STATES, b=STATES, c=STATES)
def test_merging_states_is_associative_and_commutes(a: list[float], b: list[float], c: list[float]) -> None:
    """Case 32."""
    one = state(a).merge(state(b)).merge(state(c))
    other = state(c).merge(state(b).merge(state(a)))
    assert torch.equal(one.peak, other.peak)
    torch.testing.assert_close(one.total, other.total)


@given(a=STATES, b=STATES)
def test_merged_halves_are_one_pass(a: list[float], b: list[float]) -> None:
    """Case 32: natural log."""
    got = state(a).merge(state(b)).normaliser().lse
    want = torch.tensor([*a, *b, -math.inf], dtype=torch.float64).logsumexp(0)
    torch.testing.assert_close(got.flatten()[0], want)


@given(a=STATES)
def test_an_empty_half_changes_nothing(a: list[float]) -> None:
    """Case 32."""
    empty = nothing_seen(1, 1, 1, dtype=torch.float64)
    for got in (state(a).merge(empty), empty.merge(state(a))):
        assert torch.equal(got.peak, state(a).peak) and torch.equal(got.total, state(a).total)


def test_two_empty_halves_are_minus_infinity() -> None:
    """Case 32."""
    empty = nothing_seen(1, 2, 3, dtype=torch.float32)
    both = empty.merge(empty).normaliser()
    assert (both.peak == -torch.inf).all() and (both.logsum == 0).all() and (both.lse == -torch.inf).all()


def assert_same(got: Normaliser, want: Normaliser) -> None:
    for name in ("peak", "logsum"):
        one, other = getattr(got, name), getattr(want, name)
        assert one.dtype == other.dtype
        torch.testing.assert_close(one, other)
