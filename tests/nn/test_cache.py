"""The cache of keys and values."""

from __future__ import annotations

import pytest
import torch

from attnscope.errors import ShapeError
from attnscope.nn import KeyValueCache


def test_an_empty_cache_has_length_zero() -> None:
    assert KeyValueCache().length == 0


def test_new_keys_and_values_come_after_those_held() -> None:
    cache = KeyValueCache()
    keys, values = torch.randn(2, 3, 7, 5), torch.randn(2, 3, 7, 11)
    for part in (slice(0, 1), slice(1, 6), slice(6, 7)):
        held = cache.extend(keys[:, :, part], values[:, :, part])
    assert cache.length == 7
    assert torch.equal(held[0], keys)
    assert torch.equal(held[1], values)


def test_another_batch_is_refused_with_both_shapes() -> None:
    cache = KeyValueCache()
    cache.extend(torch.zeros(1, 2, 3, 5), torch.zeros(1, 2, 3, 5))
    with pytest.raises(
        ShapeError, match=r"holds keys \(1, 2, 3, 5\) and \(2, 2, 1, 5\) came.*make a new one"
    ):
        cache.extend(torch.zeros(2, 2, 1, 5), torch.zeros(2, 2, 1, 5))
    assert cache.length == 3
