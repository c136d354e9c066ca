"""Four words by hand, and attention beside PyTorch's: the lesson's figures to every printed digit."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attnscope.core import masks
from attnscope.core.attention import attention
from attnscope.core.dense import steps
from attnscope.core.scoring import Scoring

WORDS = ["the", "cat", "sat", "down"]
Q = torch.tensor([[0, 1], [0, 1], [2, 0], [2, 0.5]])[None, None]
K = torch.tensor([[0, 1], [2, 0], [0.5, 0.5], [0, 0.5]])[None, None]
V = torch.tensor([[1, 0], [0, 1], [1, 1], [0.5, 0.5]])[None, None]

WEIGHTS = [[0.345, 0.170, 0.242, 0.242]] * 2 + [[0.048, 0.808, 0.097, 0.048], [0.065, 0.771, 0.110, 0.054]]
OUT = [[0.709, 0.534]] * 2 + [[0.168, 0.928], [0.202, 0.908]]
CAUSAL_WEIGHTS = [[1, 0, 0, 0], [0.670, 0.330, 0, 0], [0.050, 0.848, 0.102, 0], WEIGHTS[3]]
CAUSAL_OUT = [[1, 0], [0.670, 0.330], [0.152, 0.950], OUT[3]]


def printed(x: Tensor) -> list[list[str]]:
    return [[f"{number:.3f}" for number in row] for row in x[0, 0].tolist()]


def figures(rows: list[list[float]]) -> list[list[str]]:
    return [[f"{number:.3f}" for number in row] for row in rows]


def test_the_products_are_the_lessons_sixteen_numbers() -> None:
    want = [[1, 0, 0.5, 0.5], [1, 0, 0.5, 0.5], [0, 4, 1, 0], [0.5, 4, 1.25, 0.25]]
    assert steps(Q, K, V).products[0, 0].tolist() == want
    loops = [
        [sum(float(Q[0, 0, i, n] * K[0, 0, j, n]) for n in range(2)) for j in range(4)] for i in range(4)
    ]
    assert loops == want


def test_the_weights_and_outputs_of_four_words() -> None:
    got = steps(Q, K, V)
    assert printed(got.weights) == figures(WEIGHTS)
    assert printed(got.out) == figures(OUT)
    assert printed(got.scaled) == figures((got.products[0, 0] / math.sqrt(2)).tolist())


def test_the_causal_weights_and_outputs_of_four_words() -> None:
    got = steps(Q, K, V, masks.causal())
    assert printed(got.weights) == figures(CAUSAL_WEIGHTS)
    assert printed(got.out) == figures(CAUSAL_OUT)
    assert (got.scores[0, 0].triu(1)[torch.ones(4, 4).triu(1) == 1] == -torch.inf).all()
    assert (got.weights.triu(1) == 0).all()
    assert torch.allclose(got.weights.sum(-1), torch.ones(1, 1, 4), atol=1e-7)


@pytest.mark.parametrize("mask", [masks.full(), masks.causal()])
def test_the_same_figures_without_the_grid(mask: masks.Mask) -> None:
    torch.testing.assert_close(attention(Q, K, V, mask), steps(Q, K, V, mask).out)


def test_without_the_scale_the_weights_are_another_softmax() -> None:
    want = torch.softmax(Q @ K.mT, -1)
    torch.testing.assert_close(steps(Q, K, V, Scoring(scale=1.0)).weights, want)


def test_a_late_word_moves_no_earlier_one_under_a_causal_mask_and_does_without() -> None:
    """Lesson, section 1."""
    other_k, other_v = K.clone(), V.clone()
    other_k[0, 0, 3], other_v[0, 0, 3] = torch.tensor([2.0, 2.0]), torch.tensor([-1.0, 3.0])
    causal = [steps(Q, k, v, masks.causal()).out[:, :, :3] for k, v in ((K, V), (other_k, other_v))]
    both_ways = [steps(Q, k, v).out[:, :, :3] for k, v in ((K, V), (other_k, other_v))]
    assert torch.equal(*causal)
    assert not torch.allclose(*both_ways)


def test_the_grid_and_sdpa_differ_by_less_than_five_ten_millionths() -> None:
    """Lesson, section 8: (2, 12, 64) as 4 heads of 16, over many draws."""
    worst = 0.0
    for seed in range(200):
        torch.manual_seed(seed)
        together = torch.nn.Linear(64, 3 * 64)(torch.randn(2, 12, 64)).detach()
        q, k, v = (x.view(2, 12, 4, 16).transpose(1, 2) for x in together.chunk(3, dim=-1))
        theirs = scaled_dot_product_attention(q, k, v, is_causal=True)
        worst = max(worst, float((steps(q, k, v, masks.causal()).out - theirs).abs().max()))
    assert 0 < worst < 5e-7


def test_heads_are_seen_and_joined_again_losing_nothing() -> None:
    """Lesson, section 5."""
    x = torch.randn(1, 10, 64)
    heads = x.view(1, 10, 4, 16).transpose(1, 2)
    assert heads.shape == (1, 4, 10, 16)
    assert torch.equal(heads.transpose(1, 2).reshape(1, 10, 64), x)
