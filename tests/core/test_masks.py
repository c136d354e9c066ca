"""Masks against a grid of booleans written out cell by cell."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from attnscope.core import masks
from attnscope.core.visible import MAX_SPANS, Visible
from attnscope.errors import MaskError

B, H, TQ, TK, OFFSET = 2, 3, 7, 11, 4
Cell = Callable[[int, int, int, int], bool]
REAL = torch.rand(B, TK, generator=torch.Generator().manual_seed(3)) > 0.35
ROWS = torch.rand(B, TQ, generator=torch.Generator().manual_seed(4)) > 0.3
GRID = torch.rand(B, H, TQ, TK, generator=torch.Generator().manual_seed(5)) > 0.5
RUN_IDS = torch.tensor([[0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 3], [5, 5, 5, 5, 5, 5, 2, 2, 2, 2, 2]])
BACK_IDS = torch.tensor([[0, 1, 0, 1, 1, -1, -1, 2, 2, 0, 3], [0, 0, 0, 1, 1, 1, -1, -1, 0, 0, 1]])

SIMPLE: dict[str, tuple[masks.Mask, Cell]] = {
    "full": (masks.full(), lambda b, h, i, j: True),
    "causal": (masks.causal(), lambda b, h, i, j: j <= i + OFFSET),
    "window": (masks.window(3), lambda b, h, i, j: i + OFFSET - 3 <= j <= i + OFFSET),
    "both sides": (masks.window(2, 2), lambda b, h, i, j: abs(i + OFFSET - j) <= 2),
    "open left": (masks.window(None, 1), lambda b, h, i, j: j <= i + OFFSET + 1),
    "open right": (masks.window(1, None), lambda b, h, i, j: j >= i + OFFSET - 1),
    "chunks": (masks.chunks(4), lambda b, h, i, j: j // 4 == (i + OFFSET) // 4),
    "prefix": (masks.prefix(7), lambda b, h, i, j: j < max(i + OFFSET + 1, 7)),
    "prefixes": (masks.prefix(torch.tensor([2, 9])), lambda b, h, i, j: j < max(i + OFFSET + 1, (2, 9)[b])),
    "padding": (masks.padding(REAL), lambda b, h, i, j: bool(REAL[b, j])),
    "padded rows": (masks.padding(REAL, ROWS), lambda b, h, i, j: bool(REAL[b, j] and ROWS[b, i])),
    "documents": (
        masks.documents(RUN_IDS[:, OFFSET:], RUN_IDS),
        lambda b, h, i, j: bool(RUN_IDS[b, i + OFFSET] == RUN_IDS[b, j]),
    ),
    "documents that come back": (
        masks.documents(BACK_IDS[:, OFFSET:], BACK_IDS),
        lambda b, h, i, j: bool(BACK_IDS[b, i + OFFSET] == BACK_IDS[b, j]),
    ),
    "blocks": (
        masks.blocks(BACK_IDS[:, OFFSET:], BACK_IDS),
        lambda b, h, i, j: bool(BACK_IDS[b, i + OFFSET] == BACK_IDS[b, j] >= 0),
    ),
    "spans": (
        masks.spans(torch.tensor([[0, 6]]).expand(TQ, 2), torch.tensor([[2, 9]]).expand(TQ, 2)),
        lambda b, h, i, j: j < 2 or 6 <= j < 9,
    ),
    "rule": (
        masks.rule(lambda b, h, i, j: (i + j + h + b) % 3 > 0),
        lambda b, h, i, j: (i + OFFSET + j + h + b) % 3 > 0,
    ),
    "tensor": (masks.from_tensor(GRID), lambda b, h, i, j: bool(GRID[b, h, i, j])),
}  # fmt: skip


@cache
def grid_of(cell: Cell) -> Tensor:
    return torch.tensor(
        [[[[cell(b, h, i, j) for j in range(TK)] for i in range(TQ)] for h in range(H)] for b in range(B)]
    )


def bound(mask: masks.Mask) -> Visible:
    return mask.bind(B, H, TQ, TK, OFFSET)


def seen_by(visible: Visible) -> Tensor:
    return visible.tile(slice(0, TQ), slice(0, TK)).expand(B, H, TQ, TK)


@pytest.mark.parametrize("name", SIMPLE)
def test_a_mask_is_its_definition_cell_by_cell(name: str) -> None:
    mask, cell = SIMPLE[name]
    assert torch.equal(seen_by(bound(mask)), grid_of(cell))


@pytest.mark.parametrize("name", SIMPLE)
def test_the_count_of_visible_keys_is_that_of_the_grid(name: str) -> None:
    mask, cell = SIMPLE[name]
    assert torch.equal(bound(mask).count().expand(B, H, TQ), grid_of(cell).sum(-1))


@st.composite
def compound(draw: st.DrawFn, depth: int = 3) -> tuple[masks.Mask, Tensor]:
    if depth == 0 or draw(st.booleans()):
        mask, cell = SIMPLE[draw(st.sampled_from(sorted(SIMPLE)))]
        return mask, grid_of(cell)
    one, two = draw(compound(depth=depth - 1)), draw(compound(depth=depth - 1))
    if draw(st.booleans()):
        return one[0] & two[0], one[1] & two[1]
    return one[0] | two[0], one[1] | two[1]


@settings(max_examples=25)
@given(made=compound())
def test_and_and_or_of_masks_are_those_of_their_grids(made: tuple[masks.Mask, Tensor]) -> None:
    visible = bound(made[0])
    assert torch.equal(seen_by(visible), made[1])
    assert torch.equal(visible.count().expand(B, H, TQ), made[1].sum(-1))


@settings(max_examples=25)
@given(made=compound(), data=st.data())
def test_a_tile_is_its_part_of_the_whole(made: tuple[masks.Mask, Tensor], data: st.DataObject) -> None:
    ends = [sorted(data.draw(st.tuples(st.integers(0, n), st.integers(0, n)))) for n in (TQ, TK, H, B)]
    rows, cols, heads, batch = (slice(*end) for end in ends)
    visible = bound(made[0])
    want = made[1][batch, heads, rows, cols]
    assert torch.equal(visible.tile(rows, cols, heads=heads, batch=batch).expand(want.shape), want)
    look, whole = visible.look(rows, cols, heads=heads, batch=batch)
    assert torch.equal(look.expand(want.shape), want)
    assert not whole or want.all()


@settings(max_examples=25)
@given(made=compound(), data=st.data())
def test_no_visible_cell_lies_outside_the_ranges(
    made: tuple[masks.Mask, Tensor], data: st.DataObject
) -> None:
    start, stop = sorted(data.draw(st.tuples(st.integers(0, TQ), st.integers(0, TQ))))
    visible = bound(made[0])
    inside = torch.zeros(TK, dtype=torch.bool)
    ranges = visible.ranges(slice(start, stop))
    for lo, hi in ranges:
        inside[lo:hi] = True
    assert not (made[1][:, :, start:stop] & ~inside).any()
    assert all(a[1] < b[0] for a, b in pairwise(ranges))
    lo, hi = visible.bounds(slice(start, stop))
    assert (lo, hi) == ((ranges[0][0], ranges[-1][1]) if ranges else (0, 0))


@settings(max_examples=25)
@given(made=compound())
def test_spans_are_sorted_disjoint_and_end_with_the_empty_ones(made: tuple[masks.Mask, Tensor]) -> None:
    visible = bound(made[0])
    lo, hi = visible.lo, visible.hi
    assert (lo <= hi).all() and (lo >= 0).all() and (hi <= TK).all()
    assert (hi[..., :-1] <= lo[..., 1:]).all()
    empty = hi == lo
    assert (lo[empty] == TK).all()


@pytest.mark.parametrize(
    "mask",
    [
        masks.causal() & masks.window(3, 2) & masks.chunks(5),
        masks.window(2) | masks.prefix(3),
        masks.causal() | masks.blocks(RUN_IDS[:, OFFSET:], RUN_IDS),
        masks.documents(RUN_IDS[:, OFFSET:], RUN_IDS) & masks.causal(),
        masks.padding(REAL) | masks.causal(),
        masks.from_tensor(GRID),
        masks.from_tensor(REAL[:, None, None]),
    ],
)
def test_what_can_stay_spans_stays_spans(mask: masks.Mask) -> None:
    assert bound(mask).rule is None


def test_a_sink_beside_a_window_is_two_spans_a_row() -> None:
    first = masks.spans(torch.zeros(9, dtype=torch.int64), torch.full((9,), 2))
    visible = (first | masks.window(1)).bind(1, 1, 9, 9, 0)
    assert visible.lo.shape == (1, 1, 9, 2)
    assert visible.count()[0, 0].tolist() == [2, 2, 3] + [4] * 6
    assert visible.ranges(slice(6, 9)) == [(0, 2), (5, 9)]


def test_spans_that_touch_become_one() -> None:
    touching = masks.spans(torch.tensor([[0, 3, 7]]), torch.tensor([[3, 6, 9]])).bind(1, 1, 4, 9, 0)
    assert touching.lo.tolist() == [[[[0, 7]] * 4]] and touching.hi.tolist() == [[[[6, 9]] * 4]]


def test_documents_that_come_back_are_a_rule_inside_their_outer_bounds() -> None:
    visible = masks.documents(torch.tensor([3, 0, 1, 0, 3])).bind(1, 1, 5, 5, 0)
    assert visible.rule is not None
    assert visible.bounds(slice(1, 2)) == (1, 4)


def test_a_tensor_with_more_runs_than_spans_allow_is_looked_up() -> None:
    tk = 8 * MAX_SPANS
    seen = torch.rand(1, 1, 5, tk) > 0.5
    visible = masks.from_tensor(seen).bind(2, 3, 5, tk, 0)
    assert visible.rule is not None
    assert torch.equal(visible.tile(slice(0, 5), slice(0, tk)).expand(2, 3, 5, tk), seen.expand(2, 3, 5, tk))
    keys = masks.from_tensor(seen[:, :, :1]).bind(2, 3, 5, tk, 0)
    assert keys.rule is None and keys.valid is not None


def test_an_expanded_tensor_is_read_once() -> None:
    seen = (torch.rand(B, 1, TQ, TK) > 0.5).expand(B, H, TQ, TK)
    visible = bound(masks.from_tensor(seen))
    assert visible.lo.shape[:2] == (B, 1)
    assert torch.equal(seen_by(visible), seen)


def test_padding_takes_the_zeros_and_ones_of_a_tokeniser() -> None:
    assert torch.equal(seen_by(bound(masks.padding(REAL.long()))), seen_by(bound(masks.padding(REAL))))


def test_masks_that_speak_of_positions_say_so() -> None:
    speaking = {name for name, (mask, _) in SIMPLE.items() if mask.speaks_of_positions}
    assert speaking == {
        "causal", "window", "both sides", "open left", "open right", "chunks", "prefix", "prefixes", "rule",
    }  # fmt: skip
    assert (masks.full() | masks.causal()).speaks_of_positions
    assert not (masks.full() & masks.padding(REAL)).speaks_of_positions


def test_the_same_mask_asked_for_again_is_the_same_answer_and_others_are_not() -> None:
    one, again = (masks.causal().bind(1, 2, 5, 5, 0) for _ in range(2))
    assert one is again
    for other in (masks.window(2).bind(1, 2, 5, 5, 0), masks.causal().bind(1, 2, 5, 6, 1)):
        assert not torch.equal(other.count(), one.count())


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: masks.from_tensor(torch.zeros(3, 3)), r"got a tensor of torch.float32\. Booleans.*bias"),
        (lambda: masks.from_tensor(torch.ones(1, 1, 1, 3, 3).bool()), r"At most four axes"),
        (lambda: masks.padding(torch.tensor([0.0, 1.0])), r"got \(2,\) of torch.float32.*KeyBias"),
        (lambda: masks.padding(torch.tensor([0, 2])), r"Booleans or 0 and 1"),
        (lambda: masks.window(-1), r"window\(left=-1\)\. A distance of 0 or more"),
        (lambda: masks.window(2, -3), r"window\(right=-3\)"),
        (lambda: masks.chunks(0), r"chunks\(0\)\. A block of at least 1"),
        (lambda: masks.prefix(-2), r"prefix\(-2\)"),
        (lambda: masks.prefix(torch.tensor([1.5])), r"a tensor \(1,\) of torch.float32"),
        (lambda: masks.documents(torch.zeros(3)), r"query_ids is \(3,\) of torch.float32"),
        (lambda: masks.spans(torch.zeros(3), torch.ones(3)), r"Two tensors of whole numbers"),
        (lambda: masks.spans(torch.zeros(3).long(), torch.ones(4).long()), r"\(3,\) of .* and \(4,\)"),
        (lambda: masks.causal() & torch.ones(3, 3), r"A mask was combined with Tensor.*from_tensor"),
        (lambda: masks.rule(3), r"rule\(\) got int"),
        (lambda: masks.prefix(torch.tensor([1, 2, 3])).bind(2, 1, 4, 4, 0), r"of 3 batches, and q has 2"),
    ],
)  # fmt: skip
def test_a_mask_that_cannot_be_says_why(wrong: Callable[[], object], sentence: str, as_a_user: None) -> None:
    with pytest.raises(MaskError, match=sentence):
        wrong()
