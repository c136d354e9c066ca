"""What a model expects after each position."""

from __future__ import annotations

import math

import pytest
import torch

from attnscope.errors import ShapeError
from attnscope.models import tokens as marks
from attnscope.models.predictions import KEPT, predictions_from


def named(number: int) -> marks.Token:
    return marks.of_text(number, chr(97 + number % 26))


def test_probabilities_and_entropy_are_those_of_softmax() -> None:
    logits = torch.tensor([[0.0, math.log(3.0), math.log(4.0)], [0.0, 0.0, 0.0]], dtype=torch.float64)
    found = predictions_from(logits, named)
    first = found.at(0)
    assert [(token.text, round(p, 12)) for token, p in first.top] == [("c", 0.5), ("b", 0.375), ("a", 0.125)]
    assert first.entropy == pytest.approx(-sum(p * math.log(p) for p in (0.5, 0.375, 0.125)), abs=1e-7)
    assert found.at(1).entropy == pytest.approx(math.log(3), abs=1e-12)


def test_an_impossible_token_adds_nothing_to_the_entropy() -> None:
    found = predictions_from(torch.tensor([[0.0, -math.inf]]), named)
    assert found.at(0).entropy == 0.0
    assert found.at(0).top[1][1] == 0.0


def test_only_the_likeliest_are_kept_however_large_the_vocabulary() -> None:
    found = predictions_from(torch.randn(300, 2000), named)
    assert found.ids.shape == (300, KEPT)
    assert len(found.at(299, top=99).top) == KEPT
    assert found.nbytes < 300 * 2000 * 4


def test_a_position_outside_the_text_is_refused() -> None:
    with pytest.raises(ShapeError, match=r"Position 2 is outside the text\. 0 to 1 are wanted"):
        predictions_from(torch.randn(2, 4), named).at(2)
