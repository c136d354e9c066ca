"""Heads designed by hand: what each looks at, told by a closed formula before it is computed."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from attnscope.core.dense import steps
from attnscope.core.designed import previous_position, same_token
from attnscope.core.masks import causal
from attnscope.errors import ScoringError, ShapeError

WORDS = ["to", "be", "or", "not", "to", "be"]
IDS = torch.tensor([[WORDS.index(word) for word in WORDS]])


def weights(head: tuple[Tensor, Tensor]) -> Tensor:
    q, k = head
    return steps(q, k, torch.zeros_like(k), causal()).weights[0, 0]


def test_the_previous_head_of_to_be_or_not_to_be_gives_not_980_on_or() -> None:
    """Lesson, section 5."""
    seen = weights(previous_position(6))
    assert f"{seen[3, 2]:.3f}" == "0.980"
    assert seen[0].tolist() == [1, 0, 0, 0, 0, 0]


def test_the_copying_head_of_to_be_or_not_to_be_gives_be_493_on_each_be() -> None:
    """Lesson, section 5."""
    seen = weights(same_token(IDS))
    assert [f"{seen[5, j]:.3f}" for j in (1, 5)] == ["0.493", "0.493"]


@given(st.integers(1, 9), st.floats(-8, 12))
def test_the_previous_position_gets_the_share_of_one_match(t: int, worth: float) -> None:
    seen = weights(previous_position(t, worth=worth, dtype=torch.float64))
    for i in range(1, t):
        assert seen[i, i - 1] == pytest.approx(math.exp(worth) / (math.exp(worth) + i), rel=1e-12)
    assert seen[0, 0] == 1
    assert not seen.triu(1).any()


@given(st.lists(st.integers(0, 3), min_size=1, max_size=9), st.floats(-8, 12))
def test_every_copy_gets_the_same_share_of_all_matches(ids: list[int], worth: float) -> None:
    seen = weights(same_token(torch.tensor([ids]), worth=worth, dtype=torch.float64))
    for i, token in enumerate(ids):
        matches = ids[: i + 1].count(token)
        total = matches * math.exp(worth) + i + 1 - matches
        for j in range(i + 1):
            want = (math.exp(worth) if ids[j] == token else 1) / total
            assert seen[i, j] == pytest.approx(want, rel=1e-12)


def test_the_shape_of_a_head_is_one_row_and_one_axis_a_token() -> None:
    q, k = previous_position(7)
    assert q.shape == k.shape == (1, 1, 7, 7)
    q, k = same_token(IDS.repeat(2, 1))
    assert q.shape == k.shape == (2, 1, 6, 6)


def test_rows_of_a_batch_do_not_share_their_tokens() -> None:
    q, k = same_token(torch.tensor([[7, 5, 7], [1, 1, 2]]), dtype=torch.float64)
    matches = (q @ k.mT).gt(1)[:, 0]
    assert matches.tolist() == [
        [[True, False, True], [False, True, False], [True, False, True]],
        [[True, True, False], [True, True, False], [False, False, True]],
    ]


def test_a_match_worth_nothing_is_no_match() -> None:
    rows = torch.ones(6, 6).tril()
    torch.testing.assert_close(weights(previous_position(6, worth=0.0)), rows / rows.sum(-1, keepdim=True))


@pytest.mark.parametrize("worth", [math.inf, -math.inf, math.nan])
def test_a_worth_without_end_is_refused(worth: float) -> None:
    with pytest.raises(ScoringError, match=r"worth=.*A finite score for a key that matches"):
        previous_position(4, worth=worth)
    with pytest.raises(ScoringError, match=r"worth="):
        same_token(IDS, worth=worth)


def test_no_tokens_are_refused(as_a_user: None) -> None:
    with pytest.raises(ShapeError, match=r"previous_position\(0\)\. A length of 1 or more"):
        previous_position(0)
    with pytest.raises(ShapeError, match=r"ids is \(1, 0\)\. \(batch, tokens\)"):
        same_token(torch.zeros(1, 0, dtype=torch.long))
    with pytest.raises(ShapeError, match=r"ids is \(6,\)"):
        same_token(IDS[0])
