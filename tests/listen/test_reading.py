"""Masks read from the tensor at the call: the same cells, whatever the form."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given
from torch import Tensor

from attnscope.listen.call import CannotShowError
from attnscope.listen.reading import BLOCK_CELLS, Reading, everything, read


def cells(reading: Reading, b: int, h: int, tq: int, tk: int, offset: int = 0) -> Tensor:
    """The reading as a grid again: (b h tq tk) bool."""
    visible = reading.mask(offset).bind(b, h, tq, tk, offset)
    return visible.tile(slice(0, tq), slice(0, tk)).expand(b, h, tq, tk)


@st.composite
def grids(draw: st.DrawFn) -> Tensor:
    """Booleans (b|1, h|1, tq|1, tk|1) of every kind: noise, bands, padding, empty rows."""
    b, h, tq, tk = (draw(st.sampled_from(sizes)) for sizes in ((1, 2), (1, 3), (1, 5, 7), (1, 5, 11)))
    own = torch.Generator().manual_seed(draw(st.integers(0, 10_000)))
    grid = torch.rand(b, h, tq, tk, generator=own) < draw(st.sampled_from((0.0, 0.3, 0.8, 1.0)))
    if draw(st.booleans()):
        grid = grid | torch.ones(tq, tk, dtype=torch.bool).tril(draw(st.integers(-2, 4)))
    if draw(st.booleans()):
        grid = grid & (torch.rand(b, 1, 1, tk, generator=own) < 0.7)
    return grid


@given(grids(), st.sampled_from((torch.bool, torch.float32, torch.bfloat16, torch.float16)), st.booleans())
def test_any_mask_is_read_back_cell_by_cell(grid: Tensor, dtype: torch.dtype, infinite: bool) -> None:
    b, h, tq, tk = (
        2,
        3,
        (7 if grid.shape[2] == 1 else grid.shape[2]),
        (11 if grid.shape[3] == 1 else grid.shape[3]),
    )
    mask = grid
    if dtype != torch.bool:
        lowest = float("-inf") if infinite else torch.finfo(dtype).min
        mask = torch.zeros(grid.shape, dtype=dtype).masked_fill(~grid, lowest)
    reading = read(mask, tq, tk)
    assert torch.equal(cells(reading, b, h, tq, tk, offset=4), grid.expand(b, h, tq, tk))
    assert reading.bias is None


@pytest.mark.parametrize("t", [300, 401])
def test_masks_that_no_spans_can_say_become_bits(t: int) -> None:
    grid = torch.rand(1, 2, t, t) < 0.5
    reading = read(grid, t, t)
    assert reading.bits is not None and reading.bits.numel() == 2 * t * ((t + 7) // 8)
    assert torch.equal(cells(reading, 2, 2, t, t, offset=9), grid.expand(2, 2, t, t))
    some = reading.of_heads((1,))
    assert torch.equal(cells(some, 2, 1, t, t, offset=9), grid[:, 1:].expand(2, 1, t, t))


def test_scattered_padding_beside_causality_is_valid_keys_and_one_span() -> None:
    t = 200
    keys = torch.rand(2, t) < 0.6
    grid = torch.ones(t, t, dtype=torch.bool).tril() & keys[:, None, None, :]
    reading = read(grid, t, t)
    assert reading.valid is not None and torch.equal(reading.valid, keys)
    assert reading.lo.shape[-1] == 1 and reading.bits is None
    assert torch.equal(cells(reading, 2, 1, t, t), grid)


def test_a_long_mask_is_read_in_blocks_of_rows() -> None:
    t = 2500
    assert t * t > BLOCK_CELLS
    grid = torch.ones(t, t, dtype=torch.bool).tril().triu(-30)
    reading = read(grid, t, t)
    assert reading.lo.shape == (1, 1, t, 1)
    assert torch.equal(reading.lo[0, 0, :, 0], (torch.arange(t) - 30).clamp(min=0))
    assert torch.equal(reading.hi[0, 0, :, 0], torch.arange(t) + 1)


def test_a_longer_mask_is_cut_to_the_keys_of_the_call() -> None:
    mask = torch.ones(3, 20, dtype=torch.bool).tril(2)
    assert torch.equal(cells(read(mask, 3, 5), 1, 1, 3, 5)[0, 0], mask[:, :5])


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (torch.zeros(3, 4), "does not fit 3 queries and 5 keys"),
        (torch.zeros(2, 5), "does not fit 3 queries and 5 keys"),
        (torch.full((3, 5), float("inf")), "holds \\+inf or NaN"),
        (torch.full((3, 5), float("nan")), "holds \\+inf or NaN"),
        (torch.zeros(3, 5, dtype=torch.int64), "which has no reading"),
        (torch.zeros(1, 1, 1, 3, 5), "which has no reading"),
    ],
)
def test_what_has_no_reading_is_said(mask: Tensor, message: str) -> None:
    with pytest.raises(CannotShowError, match=message):
        read(mask, 3, 5)


def test_no_mask_at_all_and_causality_from_the_top_left() -> None:
    assert cells(everything(3, 5, torch.device("cpu"), causal=False), 1, 1, 3, 5).all()
    causal = cells(everything(3, 5, torch.device("cpu"), causal=True), 1, 1, 3, 5)
    assert torch.equal(causal[0, 0], torch.ones(3, 5, dtype=torch.bool).tril())
