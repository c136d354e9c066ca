"""Masks read from the tensor at the call: the same cells, whatever the form, and bias where there is bias."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given
from torch import Tensor

from attnscope.core.bias import KeyBias, RelativeBias, TensorBias
from attnscope.listen.call import CannotShowError
from attnscope.listen.reading import BLOCK_CELLS, Reader, Reading, bias_of, everything, read


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


def test_minus_ten_thousand_is_a_bias_and_the_lowest_number_is_a_mask() -> None:
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        mask = torch.tensor([0.0, -1e4, torch.finfo(dtype).min, 2.0], dtype=dtype)
        reading = read(mask, 3, 4)
        assert cells(reading, 1, 1, 3, 4)[0, 0, 1].tolist() == [True, True, False, True]
        bias = bias_of(reading, 0)
        assert isinstance(bias, KeyBias)
        assert bias.values.flatten().tolist() == [0.0, float(torch.tensor(-1e4, dtype=dtype)), 0.0, 2.0]


def test_a_bias_by_distance_is_found_where_its_visible_cells_fit_bit_for_bit() -> None:
    distance = torch.arange(9) - torch.arange(9)[:, None]
    table = torch.randn(2, 17)
    values = table[:, distance + 8][None]
    causal = distance > 0
    mask = values.masked_fill(causal, torch.finfo(torch.float32).min)
    reading = read(mask, 9, 9)
    bias = bias_of(reading, 5)
    assert isinstance(bias, RelativeBias)
    assert bias.first == -8 - 5
    whole = slice(0, 9)
    block = bias.block(whole, whole, heads=slice(0, 2), batch=slice(0, 1), offset=5)
    assert torch.equal(block.masked_fill(causal, 0), values.masked_fill(causal, 0))
    mask[0, 1, 7, 3] = torch.nextafter(mask[0, 1, 7, 3], torch.tensor(9.0))
    assert isinstance(bias_of(read(mask, 9, 9), 5), TensorBias)


def test_a_bias_that_all_rows_add_to_a_key_is_held_once_a_key() -> None:
    slopes = torch.tensor([0.5, 0.25, 0.125])[None, :, None, None]
    places = torch.tensor([[0, 0, 0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 5, 6]])[:, None, None, :]
    for dtype in (torch.float32, torch.bfloat16):
        hidden = (
            torch.ones(7, 7, dtype=torch.bool).triu(1)
            | (torch.arange(7) < torch.tensor([[3], [0]]))[:, None, None]
        )
        mask = (slopes * places).to(dtype).expand(2, 3, 7, 7).masked_fill(hidden, torch.finfo(dtype).min)
        bias = bias_of(read(mask, 7, 7), 0)
        assert isinstance(bias, KeyBias)
        whole = slice(0, 7)
        block = bias.block(whole, whole, heads=slice(0, 3), batch=slice(0, 2), offset=0).expand(2, 3, 7, 7)
        assert torch.equal(block.masked_fill(hidden, 0), mask.masked_fill(hidden, 0))
        mask[1, 2, 6, 1] += 0.25
        assert not isinstance(bias_of(read(mask, 7, 7), 0), KeyBias)


def test_a_bias_by_distance_may_be_seen_through_another_mask_in_each_batch() -> None:
    distance = torch.arange(9) - torch.arange(9)[:, None]
    values = torch.randn(3, 17)[:, distance + 8][None].expand(2, -1, -1, -1)
    padded = torch.arange(9)[None] < torch.tensor([[3], [0]])
    mask = values.masked_fill(padded[:, None, None, :], torch.finfo(torch.float32).min)
    assert isinstance(bias_of(read(mask, 9, 9), 0), RelativeBias)


def test_each_tensor_is_read_once_until_it_changes() -> None:
    reader = Reader()
    mask = torch.ones(5, 5, dtype=torch.bool).tril()
    first = reader.read(mask, 5, 5)
    assert reader.read(mask, 5, 5) is first
    assert reader.read(mask[None, None], 5, 5) is reader.read(mask[None, None], 5, 5)
    mask[4, 0] = False
    changed = reader.read(mask, 5, 5)
    assert changed is not first and not cells(changed, 1, 1, 5, 5)[0, 0, 4, 0]
    with torch.inference_mode():
        inner = torch.ones(5, 5, dtype=torch.bool)
        before = reader.read(inner, 5, 5)
        inner[0, 0] = False
        assert reader.read(inner, 5, 5) is not before


def test_a_mask_of_another_tensor_at_the_same_address_is_read_anew() -> None:
    reader = Reader()
    for seed in range(20):
        torch.manual_seed(seed)
        mask = torch.rand(5, 5) < 0.5
        assert torch.equal(cells(reader.read(mask, 5, 5), 1, 1, 5, 5)[0, 0], mask)
        del mask


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
