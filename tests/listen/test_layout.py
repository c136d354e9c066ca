"""A grid of attention is known by its axes: batch and lengths that the module was handed, and named heads."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from attnscope.listen.layout import Lengths, head_counts, layout_of, of_each_position


def handed(*shapes: tuple[int, ...], ids: tuple[int, ...] | None = None) -> Lengths:
    lengths = Lengths()
    lengths.see([torch.zeros(shape) for shape in shapes])
    if ids is not None:
        lengths.see([torch.zeros(ids, dtype=torch.long), None, "not a tensor"])
    return lengths


CASES: list[tuple[tuple[int, ...], Lengths, set[int], tuple[int, int, int, int] | None]] = [
    ((2, 6, 9, 9), handed((2, 9, 48)), {6}, (2, 6, 9, 9)),
    ((2, 6, 9, 9), handed((9, 2, 48)), {6}, (2, 6, 9, 9)),  # the first axis is the length (XLNet)
    ((2, 6, 9, 9), handed(ids=(2, 9)), {6}, (2, 6, 9, 9)),
    ((12, 9, 9), handed((2, 9, 48)), {6}, (2, 6, 9, 9)),  # heads folded into the batch
    ((2, 9, 9), handed((2, 9, 48)), {6}, (2, 1, 9, 9)),  # one head
    ((6, 9, 9), handed((6, 9, 48)), {6}, (6, 1, 9, 9)),  # six texts, not six heads of one
    ((12, 9, 9), handed((2, 9, 48), (12, 9, 8)), {6}, (2, 6, 9, 9)),  # q of all heads was handed on
    ((2, 6, 9, 5), handed((2, 9, 48), (2, 5, 48)), {6}, (2, 6, 9, 5)),
    ((6, 9, 9), handed((9, 48)), {6}, (1, 6, 9, 9)),  # no batch
    ((2, 4, 16, 16), handed((2, 3, 4, 4)), {4}, (2, 4, 16, 16)),  # an image's places in a row
    ((2, 6, 9, 9), handed((2, 9, 48)), set(), (2, 6, 9, 9)),  # no number of heads anywhere
    ((2, 5, 9, 9), handed((2, 9, 48)), {6}, None),
    ((3, 6, 9, 9), handed((2, 9, 48)), {6}, None),
    ((2, 6, 4, 9), handed((2, 9, 48)), {6}, None),  # a block of rows
    ((2, 6, 9, 4), handed((2, 9, 48)), {6}, None),  # landmarks
    ((2, 6, 9, 2), handed((2, 9, 48)), {6}, None),  # as many landmarks as texts
    ((2, 9, 6, 5), handed((2, 9, 48)), {6}, None),
    ((2, 9, 4), handed((2, 9, 48)), {6}, None),
    ((2, 2, 6, 9, 9), handed((2, 9, 48)), {6}, None),
    ((9, 9), handed((9, 48)), {6}, None),
    ((2, 6, 0, 9), handed((2, 9, 48), (2, 0, 48)), {6}, None),
]


@pytest.mark.parametrize(("shape", "lengths", "counts", "layout"), CASES)
def test_a_layout_is_found_or_there_is_none(
    shape: tuple[int, ...], lengths: Lengths, counts: set[int], layout: tuple[int, ...] | None
) -> None:
    assert layout_of(shape, lengths, counts) == layout


def test_a_cache_gives_keys_a_length_where_a_part_of_it_is_known() -> None:
    lengths = handed((2, 1, 48))
    assert layout_of((2, 6, 1, 30), lengths, {6}) is None
    lengths.grow(30, [29, 1])
    assert layout_of((2, 6, 1, 30), lengths, {6}) == (2, 6, 1, 30)
    lengths.grow(77, [40, 37])
    assert layout_of((2, 6, 1, 77), lengths, {6}) is None


def test_what_holds_something_of_each_position_is_no_grid() -> None:
    lengths = handed((2, 9, 48))
    assert of_each_position((2, 9, 8), lengths) and not of_each_position((2, 9, 4, 8), lengths)
    assert not of_each_position((2, 8, 8), lengths)


@pytest.mark.parametrize(
    "name",
    ["num_heads", "n_head", "n_heads", "nhead", "heads", "num_attention_heads", "encoder_attention_heads"],
)
def test_heads_are_counted_from_the_inside_out(name: str) -> None:
    inner, middle, outer = nn.Softmax(dim=-1), nn.Linear(1, 1), nn.Linear(1, 1)
    setattr(middle, name, 6)
    outer.num_heads = 3  # type: ignore[assignment]
    config: Any = SimpleNamespace(num_heads=[2, 4], head_dim=8, use_heads=True)
    assert head_counts([inner, middle, outer], config) == {6}
    assert head_counts([inner], config) == {2, 4}
    assert head_counts([inner], None) == set()
