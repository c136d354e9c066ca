"""A bias is held in its smallest form in which each visible cell is the same bit for bit."""

from __future__ import annotations

import torch

from attnscope.core.bias import KeyBias, RelativeBias, TensorBias
from attnscope.listen.biases import bias_of
from attnscope.listen.reading import read


def test_minus_ten_thousand_is_a_bias_and_the_lowest_number_is_a_mask() -> None:
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        mask = torch.tensor([0.0, -1e4, torch.finfo(dtype).min, 2.0], dtype=dtype)
        reading = read(mask, 3, 4)
        seen = reading.mask(0).bind(1, 1, 3, 4, 0).tile(slice(1, 2), slice(0, 4))
        assert seen.flatten().tolist() == [True, True, False, True]
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
