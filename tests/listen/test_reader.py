"""Each distinct mask is read once a run, and again once it has changed."""

from __future__ import annotations

import torch
from torch import Tensor

from attnscope.listen.reader import Reader
from attnscope.listen.reading import Reading


def cells(reading: Reading) -> Tensor:
    """The reading as a grid again, (5 5) bool."""
    return reading.mask(0).bind(1, 1, 5, 5, 0).tile(slice(0, 5), slice(0, 5))[0, 0]


def test_each_tensor_is_read_once_until_it_changes() -> None:
    reader = Reader()
    mask = torch.ones(5, 5, dtype=torch.bool).tril()
    first = reader.read(mask, 5, 5)
    assert reader.read(mask, 5, 5) is first
    assert reader.read(mask[None, None], 5, 5) is reader.read(mask[None, None], 5, 5)
    mask[4, 0] = False
    changed = reader.read(mask, 5, 5)
    assert changed is not first and not cells(changed)[4, 0]
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
        assert torch.equal(cells(reader.read(mask, 5, 5)), mask)
        del mask
