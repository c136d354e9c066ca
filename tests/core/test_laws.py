"""Laws that attention keeps whatever the numbers."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnscope.core import masks
from attnscope.core.bias import TensorBias
from attnscope.core.dense import Steps, steps
from attnscope.core.scoring import Scoring
from attnscope.core.tiled import by_tiles

seeds = st.integers(0, 2**31)


def draw(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def call(seed: int, scoring: Scoring | masks.Mask | None = None) -> Steps:
    return steps(draw(seed, 2, 3, 7, 5), draw(seed + 1, 2, 3, 11, 5), draw(seed + 2, 2, 3, 11, 2), scoring)


@given(seed=seeds, order=st.permutations(range(11)))
def test_permuting_the_keys_permutes_the_weights(seed: int, order: list[int]) -> None:
    q, k, v = draw(seed, 2, 3, 7, 5), draw(seed + 1, 2, 3, 11, 5), draw(seed + 2, 2, 3, 11, 2)
    one, other = steps(q, k, v), steps(q, k[:, :, order], v[:, :, order])
    torch.testing.assert_close(other.weights, one.weights[..., order])
    torch.testing.assert_close(other.out, one.out)


@given(seed=seeds, order=st.permutations(range(7)))
def test_permuting_the_queries_permutes_the_rows(seed: int, order: list[int]) -> None:
    q, k, v = draw(seed, 2, 3, 7, 5), draw(seed + 1, 2, 3, 11, 5), draw(seed + 2, 2, 3, 11, 2)
    torch.testing.assert_close(steps(q[:, :, order], k, v).out, steps(q, k, v).out[:, :, order])


@given(seed=seeds, constant=st.floats(-1e3, 1e3))
def test_a_constant_added_to_a_row_of_scores_changes_lse_alone(seed: int, constant: float) -> None:
    bias = torch.zeros(7, 1, dtype=torch.float64)
    bias[4] = constant
    plain, moved = call(seed), call(seed, Scoring(bias=TensorBias(bias)))
    torch.testing.assert_close(moved.weights, plain.weights)
    torch.testing.assert_close(moved.lse - plain.lse, bias[:, 0].expand(2, 3, 7))
    torch.testing.assert_close(moved.normaliser.logsum, plain.normaliser.logsum)


@given(seed=seeds)
def test_weights_are_shares_of_one_and_out_lies_among_the_values(seed: int) -> None:
    q, k, v = draw(seed, 2, 3, 7, 5), draw(seed + 1, 2, 3, 11, 5), draw(seed + 2, 2, 3, 11, 2)
    got = steps(q, k, v)
    assert (got.weights >= 0).all()
    torch.testing.assert_close(got.weights.sum(-1), torch.ones(2, 3, 7, dtype=torch.float64))
    assert (got.out <= v.amax(2, keepdim=True) + 1e-12).all() and (
        got.out >= v.amin(2, keepdim=True) - 1e-12
    ).all()


@given(seed=seeds, left=st.integers(0, 12), right=st.integers(0, 12), offset=st.integers(-3, 9))
def test_tiles_equal_the_grid_for_every_window(seed: int, left: int, right: int, offset: int) -> None:
    q, k, v = draw(seed, 2, 3, 7, 5), draw(seed + 1, 2, 3, 11, 5), draw(seed + 2, 2, 3, 11, 2)
    scoring = Scoring(mask=masks.window(left, right), offset=offset)
    torch.testing.assert_close(by_tiles(scoring.bind(q, k), v), steps(q, k, v, scoring).out)


@given(seed=seeds, past=st.integers(0, 10))
def test_decoding_with_a_cache_gives_the_rows_of_one_pass(seed: int, past: int) -> None:
    q, k, v = (draw(seed + n, 1, 2, 11, 4) for n in range(3))
    whole = steps(q, k, v, masks.causal()).out
    later = steps(q[:, :, past:], k, v, Scoring(mask=masks.causal(), offset=past)).out
    torch.testing.assert_close(later, whole[:, :, past:])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_the_grid_is_computed_in_float32_or_better_and_out_has_the_dtype_of_v(
    make, dtype: torch.dtype
) -> None:
    got = steps(*make(dtype=dtype))
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    assert {got.products.dtype, got.scaled.dtype, got.scores.dtype, got.weights.dtype} == {wide}
    assert {got.normaliser.peak.dtype, got.normaliser.logsum.dtype, got.lse.dtype} == {wide}
    assert got.out.dtype == dtype
