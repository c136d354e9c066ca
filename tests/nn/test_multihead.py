"""Multi-head attention: self, cross, grouped, rotated, cached."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from attnscope.core.masks import causal, from_tensor, padding
from attnscope.core.scoring import Scoring
from attnscope.errors import ShapeError
from attnscope.nn import KeyValueCache, MultiHeadAttention
from attnscope.nn.heads import join_heads

F64 = torch.float64


def largest(one: Tensor, other: Tensor) -> float:
    return float((one - other).detach().abs().max())


@pytest.mark.parametrize("is_causal", [False, True])
def test_it_is_torchs_module_within_5e_7_over_many_seeds(is_causal: bool) -> None:
    for seed in range(8):
        torch.manual_seed(seed)
        theirs = nn.MultiheadAttention(20, 5, batch_first=True).eval()
        ours, x = MultiHeadAttention.from_torch(theirs), torch.randn(13, 11, 20)
        hidden = torch.ones(11, 11, dtype=torch.bool).triu(1) if is_causal else None
        judge, weights = theirs(x, x, x, attn_mask=hidden, average_attn_weights=False)
        mask = causal() if is_causal else None
        assert largest(ours(x, scoring=mask), judge) < 5e-7, seed
        assert largest(ours.steps(x, scoring=mask).weights, weights) < 5e-7, seed


def test_padding_is_torchs_key_padding_mask_with_the_other_polarity() -> None:
    theirs = nn.MultiheadAttention(12, 3, batch_first=True).eval()
    x, keep = torch.randn(2, 7, 12), torch.tensor([[True] * 7, [True] * 4 + [False] * 3])
    judge, _ = theirs(x, x, x, key_padding_mask=~keep)
    assert largest(MultiHeadAttention.from_torch(theirs)(x, scoring=padding(keep)), judge) < 5e-7


def test_cross_attention_is_torchs_with_keys_and_values_of_other_widths() -> None:
    theirs = nn.MultiheadAttention(12, 3, batch_first=True, kdim=7, vdim=5).eval().double()
    ours = MultiHeadAttention.from_torch(theirs)
    x, keys, values = (torch.randn(2, n, d, dtype=F64) for n, d in ((5, 12), (11, 7), (11, 5)))
    judge, weights = theirs(x, keys, values, average_attn_weights=False)
    assert largest(ours(x, keys, values=values), judge) < 1e-14
    assert largest(ours.steps(x, keys, values=values).weights, weights) < 1e-14


def test_without_biases_it_is_torchs_without_biases() -> None:
    theirs = nn.MultiheadAttention(12, 3, bias=False, batch_first=True).eval()
    ours, x = MultiHeadAttention.from_torch(theirs), torch.randn(2, 7, 12)
    assert ours.q_proj.bias is None
    assert largest(ours(x), theirs(x, x, x)[0]) < 5e-7


@pytest.mark.parametrize("extra", [{"add_bias_kv": True}, {"add_zero_attn": True}])
def test_a_torch_module_that_adds_keys_of_no_token_is_refused(extra: dict[str, bool]) -> None:
    with pytest.raises(ShapeError, match="a key that belongs to no token"):
        MultiHeadAttention.from_torch(nn.MultiheadAttention(12, 3, **extra))


def test_changing_our_weights_leaves_torchs_module_alone() -> None:
    theirs = nn.MultiheadAttention(12, 3)
    before = theirs.in_proj_weight.clone()
    with torch.no_grad():
        MultiHeadAttention.from_torch(theirs).q_proj.weight.zero_()
    assert torch.equal(theirs.in_proj_weight, before)


def test_grouped_heads_share_their_key_head_in_order() -> None:
    module, x = MultiHeadAttention(20, 4, key_heads=2).double(), torch.randn(3, 7, 20, dtype=F64)
    q, k, v = module.project(x)
    assert k.shape == v.shape == (3, 2, 7, 5)
    judge = scaled_dot_product_attention(q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1))
    assert largest(module(x), module.out_proj(join_heads(judge))) < 1e-14


@pytest.mark.parametrize("key_heads", [3, 8])
def test_key_heads_that_do_not_divide_the_query_heads_are_refused(key_heads: int) -> None:
    with pytest.raises(ShapeError, match=f"4 query heads and {key_heads} key heads"):
        MultiHeadAttention(20, 4, key_heads=key_heads)


def test_normalised_queries_have_a_root_mean_square_of_one() -> None:
    module = MultiHeadAttention(20, 2, norm_qk=True)
    q, k, _ = module.project(100 * torch.randn(3, 7, 20))
    for x in (q, k):
        torch.testing.assert_close(x.square().mean(-1), torch.ones(3, 2, 7))


@pytest.mark.parametrize("pairing", ["half", "interleaved"])
def test_rotated_products_depend_on_the_distance_alone(pairing: str) -> None:
    module = MultiHeadAttention(20, 2, rotary=pairing).double()  # type: ignore[arg-type]
    x = torch.randn(1, 7, 20, dtype=F64)
    near = module.steps(x, positions=torch.arange(7))
    far = module.steps(x, positions=torch.arange(1000, 1007))
    assert largest(near.products, far.products) < 1e-12
    assert largest(near.products, module.steps(x, positions=2 * torch.arange(7)).products) > 1e-3


@pytest.mark.parametrize(
    "splits", [[0, 9], *([0, n, 9] for n in range(1, 9)), list(range(10)), [0, 2, 3, 7, 9]]
)
@pytest.mark.parametrize("pairing", [None, "half", "interleaved"])
def test_a_rotated_text_read_with_a_cache_is_the_text_read_at_once(
    splits: list[int], pairing: str | None
) -> None:
    module = MultiHeadAttention(24, 6, key_heads=3, rotary=pairing, norm_qk=True).double()  # type: ignore[arg-type]
    x, cache = torch.randn(2, 9, 24, dtype=F64), KeyValueCache()
    parts = [module(x[:, a:b], scoring=causal(), cache=cache) for a, b in pairwise(splits)]
    assert largest(torch.cat(parts, dim=1), module(x, scoring=causal())) < 1e-14


def test_a_left_padded_row_is_the_same_text_alone() -> None:
    module, text = MultiHeadAttention(24, 6, rotary="half").double(), torch.randn(1, 5, 24, dtype=F64)
    padded = torch.cat([torch.randn(1, 3, 24, dtype=F64), text], dim=1)
    keep = torch.tensor([[False] * 3 + [True] * 5])
    positions = (keep.long().cumsum(-1) - 1).clamp(min=0)
    mask = causal() & padding(keep)
    assert (
        largest(module(padded, scoring=mask, positions=positions)[:, 3:], module(text, scoring=causal()))
        < 1e-14
    )


def test_a_scoring_with_its_own_offset_keeps_it() -> None:
    module, cache = MultiHeadAttention(12, 3).double(), KeyValueCache()
    x = torch.randn(1, 7, 12, dtype=F64)
    module(x[:, :4], cache=cache)
    own = module(x[:, 4:], scoring=Scoring(causal(), offset=0), cache=cache)
    grid = torch.ones(7, 7, dtype=torch.bool).tril()[:3]
    assert largest(own, module(x[:, 4:], x, from_tensor(grid[None, None]))) < 1e-14


def test_rotations_between_two_sequences_are_refused() -> None:
    module = MultiHeadAttention(12, 3, rotary="half")
    with pytest.raises(ShapeError, match="Rotations between two sequences"):
        module(torch.zeros(1, 5, 12), torch.zeros(1, 7, 12))


def test_rotations_of_an_odd_head_are_refused() -> None:
    with pytest.raises(ShapeError, match="heads 3 wide"):
        MultiHeadAttention(9, 3, rotary="half")


def test_memory_of_another_width_is_named() -> None:
    with pytest.raises(ShapeError, match=r"memory is \(1, 7, 11\)\. \(batch, tokens, 12\)"):
        MultiHeadAttention(12, 3)(torch.zeros(1, 5, 12), torch.zeros(1, 7, 11))


def test_gradients_reach_every_parameter() -> None:
    module = MultiHeadAttention(24, 6, key_heads=2, rotary="half", norm_qk=True)
    module(torch.randn(2, 7, 24), scoring=causal()).square().sum().backward()
    for name, parameter in module.named_parameters():
        if name != "k_proj.bias":
            assert parameter.grad is not None
            assert parameter.grad.abs().max() > 0, name
