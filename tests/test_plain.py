"""Values as JSON holds them."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnscope.plain import plain


@dataclass(frozen=True)
class _Point:
    name: str
    at: tuple[float, float]


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), max_size=7))
def test_float32_reads_back_as_the_same_float32(values: list[float]) -> None:
    written = json.loads(json.dumps(plain(torch.tensor(values, dtype=torch.float32)), allow_nan=False))
    assert np.array_equal(np.array(written, dtype=np.float32), np.array(values, dtype=np.float32))


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=7))
def test_float64_reads_back_as_it_was(values: list[float]) -> None:
    assert plain(torch.tensor(values, dtype=torch.float64)) == values


def test_float32_is_written_in_its_shortest_form() -> None:
    assert plain(torch.tensor([0.1, 0.345])) == [0.1, 0.345]


def test_what_is_not_finite_becomes_a_word_wherever_it_stands() -> None:
    inf = float("inf")
    assert plain({"a": [inf, -inf, float("nan")]}) == {"a": ["inf", "-inf", "nan"]}
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        assert plain(torch.tensor([[inf, 1.0]], dtype=dtype)) == [["inf", 1.0]]


def test_shapes_are_kept_even_where_an_axis_is_empty() -> None:
    for shape in ((), (0,), (2, 0), (2, 3, 5)):
        assert np.array(plain(torch.zeros(shape))).shape == shape
    assert plain(torch.tensor([[True, False]])) == [[True, False]]
    assert plain(torch.arange(3)) == [0, 1, 2]


def test_a_dataclass_becomes_a_dict_of_its_fields() -> None:
    assert plain([_Point("p", (1.5, float("inf")))]) == [{"name": "p", "at": [1.5, "inf"]}]
