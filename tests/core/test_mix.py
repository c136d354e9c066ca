"""Products that let no hidden NaN through, for every kind of NaN and inf."""

from __future__ import annotations

import math

import torch

from attnscope.core.mix import dot, mix


def test_weights_and_values_mix_as_a_matrix_product() -> None:
    weights, v = torch.rand(2, 6, 5, 7), torch.randn(2, 3, 7, 4)
    seen = torch.ones(1, 1, 5, 7, dtype=torch.bool)
    torch.testing.assert_close(mix(weights, v, seen), weights @ v.repeat_interleave(2, 1))


def test_products_of_grouped_heads_are_those_of_repeated_keys() -> None:
    q, k = torch.randn(2, 6, 5, 4), torch.randn(2, 3, 7, 4)
    torch.testing.assert_close(dot(q, k), q @ k.repeat_interleave(2, 1).mT)


def test_what_a_row_sees_is_what_it_shows() -> None:
    v = torch.zeros(1, 1, 4, 1)
    v[0, 0, :, 0] = torch.tensor([1.0, math.inf, -math.inf, math.nan])
    seen = torch.tensor([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 1, 1, 0], [1, 0, 0, 1]]).bool()[
        None, None
    ]
    got = mix(seen.float() / seen.sum(-1, keepdim=True), v, seen).flatten()
    assert got[:3].tolist() == [1.0, math.inf, -math.inf]
    assert got[3:].isnan().all()


def test_the_gradient_of_a_product_leaves_bad_rows_of_q_out_as_well() -> None:
    q, k = torch.randn(1, 1, 3, 2), torch.randn(1, 1, 4, 2, requires_grad=True)
    q[0, 0, 1] = math.nan
    product = dot(q, k)
    assert product[0, 0, 1].isnan().all() and product[0, 0, [0, 2]].isfinite().all()
    (got,) = torch.autograd.grad(product[0, 0, [0, 2]].sum(), k)
    assert got.isfinite().all()
