"""A width seen as heads, and back."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnscope.errors import ShapeError
from attnscope.nn.heads import check_heads, check_input, join_heads, split_heads


def test_ten_tokens_of_64_are_four_heads_of_16_and_back() -> None:
    x = torch.randn(1, 10, 64)
    heads = split_heads(x, 4)
    assert heads.shape == (1, 4, 10, 16)
    assert torch.equal(join_heads(heads), x)
    assert torch.equal(heads[0, 2, 7], x[0, 7, 32:48])


@given(b=st.integers(1, 3), h=st.integers(1, 5), t=st.integers(1, 7), d=st.integers(1, 6))
def test_splitting_and_joining_lose_nothing(b: int, h: int, t: int, d: int) -> None:
    x = torch.arange(b * t * h * d, dtype=torch.float64).view(b, t, h * d)
    assert torch.equal(join_heads(split_heads(x, h)), x)


@pytest.mark.parametrize(("d_model", "n_heads"), [(10, 3), (8, 0), (0, 1), (4, 8)])
def test_a_width_that_is_not_equal_parts_is_refused(d_model: int, n_heads: int) -> None:
    with pytest.raises(ShapeError, match=rf"d_model={d_model} and n_heads={n_heads}.*equal parts"):
        check_heads(d_model, n_heads)


def test_a_single_sequence_is_told_how_to_become_a_batch() -> None:
    with pytest.raises(ShapeError, match=r"x is \(7, 12\)\. \(batch, tokens, 12\).*x\[None\]"):
        check_input("x", torch.zeros(7, 12), 12)


def test_a_wrong_width_is_named() -> None:
    with pytest.raises(ShapeError, match=r"x is \(1, 7, 11\)\. \(batch, tokens, 12\)\.$"):
        check_input("x", torch.zeros(1, 7, 11), 12)
