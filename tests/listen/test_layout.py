"""A grid of attention is known by its axes: batch and lengths that the module was handed, and named heads."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from attnscope.listen.call import CannotShowError
from attnscope.listen.folds import Fold
from attnscope.listen.layout import Layout, Lengths, head_counts, layout_of, of_each_position, shapes_in


def handed(*shapes: tuple[int, ...], ids: tuple[int, ...] | None = None) -> Lengths:
    lengths = Lengths()
    lengths.see(shapes_in([torch.zeros(shape) for shape in shapes]))
    if ids is not None:
        lengths.see(shapes_in([torch.zeros(ids, dtype=torch.long), None, "not a tensor"]))
    return lengths


CASES: list[tuple[tuple[int, ...], Lengths, set[int], tuple[int, int, int, int] | None]] = [
    ((2, 6, 9, 9), handed((2, 9, 48)), {6}, (2, 6, 9, 9)),
    ((2, 6, 9, 9), handed((9, 2, 48)), {6}, (2, 6, 9, 9)),  # the first axis is the length (XLNet)
    ((2, 6, 9, 9), handed(ids=(2, 9)), {6}, (2, 6, 9, 9)),
    ((2, 9, 9), handed((2, 9, 48)), {6}, (2, 1, 9, 9)),  # one head
    ((6, 9, 9), handed((6, 9, 48)), {6}, (6, 1, 9, 9)),  # six texts, not six heads of one
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
    found = layout_of(shape, lengths, counts)
    assert found == (None if layout is None else Layout(*layout))


BOTH = handed((2, 9, 48), (12, 9, 8))  # q of all heads was handed on

FOLDED: list[tuple[Lengths, set[int], Fold | None, Layout | str]] = [
    (handed((2, 9, 48)), {6}, Fold(9, (2, 6)), Layout(2, 6, 9, 9)),
    (handed((2, 9, 48)), {6}, Fold(9, (6, 2)), Layout(2, 6, 9, 9, heads_first=True)),
    (handed((2, 9, 48)), {6}, Fold(9, (2, 3, 2)), "2 texts of 6 heads folded"),  # either end may be the texts
    (handed((2, 9, 48)), {6}, Fold(9, (2, 2, 3)), Layout(2, 6, 9, 9)),  # key heads and groups
    (handed((2, 9, 48)), {6}, Fold(9, (3, 4)), "2 texts of 6 heads folded"),
    (handed((2, 9, 48)), {6}, None, "2 texts of 6 heads folded"),
    (BOTH, {6}, Fold(9, (2, 6)), Layout(2, 6, 9, 9)),
    (BOTH, {6}, None, "may be 2 texts of 6 heads or 12 texts of 1 head, and which"),
    (BOTH, set(), Fold(9, (2, 6)), "a num_heads on the module helps too"),
    (handed((12, 9, 48)), {12}, Fold(9, (12,), of_width=True), Layout(1, 12, 9, 9)),  # one text of several
    (handed((12, 9, 48)), {12}, None, Layout(12, 1, 9, 9)),
    (handed((9, 48), (12, 9, 48)), {12}, None, "may be 1 text of 12 heads or 12 texts of 1 head, and which"),
    (handed((9, 48)), set(), None, Layout(1, 12, 9, 9)),
]


@pytest.mark.parametrize(("lengths", "counts", "fold", "layout"), FOLDED)
def test_an_axis_of_texts_and_heads_is_opened_where_one_way_is_left(
    lengths: Lengths, counts: set[int], fold: Fold | None, layout: Layout | str
) -> None:
    if isinstance(layout, Layout):
        assert layout_of((12, 9, 9), lengths, counts, fold) == layout
        return
    with pytest.raises(CannotShowError, match=layout):
        layout_of((12, 9, 9), lengths, counts, fold)


def test_heads_that_come_first_are_put_behind_the_texts() -> None:
    x = torch.arange(12)[:, None, None].expand(12, 9, 9)
    assert torch.equal(Layout(2, 6, 9, 9).opened(x)[..., 0, 0], torch.arange(12).view(2, 6))
    turned = Layout(2, 6, 9, 9, heads_first=True).opened(x)
    assert torch.equal(turned[..., 0, 0], torch.arange(12).view(6, 2).T)


def test_a_cache_gives_keys_a_length_where_a_part_of_it_is_known() -> None:
    lengths = handed((2, 1, 48))
    assert layout_of((2, 6, 1, 30), lengths, {6}) is None
    lengths.grow(30, [29, 1])
    assert layout_of((2, 6, 1, 30), lengths, {6}) == Layout(2, 6, 1, 30)
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
