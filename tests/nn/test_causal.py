"""The lesson's module: section 8 to its printed digits, and its cache."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from attnscope.errors import ShapeError
from attnscope.nn import CausalSelfAttention, KeyValueCache
from attnscope.nn.heads import join_heads


def test_64_wide_with_4_heads_has_16640_parameters() -> None:
    module = CausalSelfAttention(d_model=64, n_heads=4)
    assert sum(p.numel() for p in module.parameters()) == 64 * 192 + 192 + 64 * 64 + 64 == 16_640


def test_twelve_tokens_of_a_batch_of_two_keep_their_shape_and_see_nothing_ahead() -> None:
    module, x = CausalSelfAttention(64, 4), torch.randn(2, 12, 64)
    seen = module.steps(x)
    assert module(x).shape == (2, 12, 64)
    assert seen.weights.shape == (2, 4, 12, 12)
    assert seen.out.shape == (2, 4, 12, 16)
    assert not seen.weights.triu(1).any()
    torch.testing.assert_close(seen.weights.sum(-1), torch.ones(2, 4, 12))


def test_its_steps_are_sdpas_output_within_5e_7_over_many_seeds() -> None:
    for seed in range(12):
        torch.manual_seed(seed)
        module, x = CausalSelfAttention(64, 4), torch.randn(10, 12, 64)
        q, k, v = module.project(x)
        judge = scaled_dot_product_attention(q, k, v, is_causal=True)
        assert (module.steps(x).out - judge).abs().max() < 5e-7, seed


def test_its_output_is_its_steps_projected() -> None:
    module, x = CausalSelfAttention(10, 2).double(), torch.randn(3, 7, 10, dtype=torch.float64)
    torch.testing.assert_close(module(x), module.out(join_heads(module.steps(x).out)), rtol=0, atol=1e-14)


def test_a_later_token_never_changes_an_earlier_output() -> None:
    module, x = CausalSelfAttention(10, 2), torch.randn(1, 7, 10)
    changed = x.clone()
    changed[:, 5:] += 1.0
    before, after = module(x), module(changed)
    torch.testing.assert_close(before[:, :5], after[:, :5], rtol=0, atol=1e-6)
    assert (before[:, 5:] - after[:, 5:]).abs().min() > 0


@pytest.mark.parametrize("first", range(1, 9))
def test_reading_in_two_parts_is_reading_at_once(first: int) -> None:
    module, x = CausalSelfAttention(15, 3).double(), torch.randn(2, 9, 15, dtype=torch.float64)
    cache = KeyValueCache()
    parts = torch.cat([module(x[:, :first], cache=cache), module(x[:, first:], cache=cache)], dim=1)
    torch.testing.assert_close(parts, module(x), rtol=0, atol=1e-14)
    assert cache.length == 9


def test_a_wrong_width_is_refused() -> None:
    with pytest.raises(ShapeError, match=r"x is \(2, 12, 63\)"):
        CausalSelfAttention(64, 4)(torch.zeros(2, 12, 63))
