"""Muon and AdamW: the laws they must keep."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from attnscope.gpt.optimiser import Optimiser, orthogonalised
from attnscope.gpt.recipe import Recipe

ADAM = Recipe(steps=10, batch=1, optimiser="adamw", rate=0.01, decay=0.1, warmup=0, cooldown=0.0)


@pytest.mark.parametrize("shape", [(7, 7), (5, 13), (13, 5)])
def test_singular_values_come_near_one_and_directions_stay(shape: tuple[int, int]) -> None:
    matrices = torch.randn(3, *shape, dtype=torch.float64)
    turned = orthogonalised(matrices)
    assert turned.shape == matrices.shape
    values = torch.linalg.svdvals(turned)
    assert values.min() > 0.3
    assert values.max() < 1.3
    u, _, vh = torch.linalg.svd(matrices, full_matrices=False)
    inner = u.mT @ turned @ vh.mT
    assert (inner - torch.diag_embed(inner.diagonal(dim1=-2, dim2=-1))).abs().max() < 1e-8


def test_it_is_the_plain_iteration_on_the_whole_matrix() -> None:
    x = torch.randn(2, 5, 13, dtype=torch.float64)
    plain = x / x.norm(dim=(-2, -1), keepdim=True)
    for _ in range(5):
        square = plain @ plain.mT
        plain = 3.4445 * plain + (-4.7750 * square + 2.0315 * square @ square) @ plain
    torch.testing.assert_close(orthogonalised(x), plain, rtol=0, atol=1e-6)


def test_a_gradient_of_zero_moves_nothing() -> None:
    assert not orthogonalised(torch.zeros(2, 5, 13)).any()


def test_adamw_is_torchs() -> None:
    ours, theirs = nn.Linear(5, 7, bias=False), nn.Linear(5, 7, bias=False)
    theirs.load_state_dict(ours.state_dict())
    judge = torch.optim.AdamW(theirs.parameters(), lr=0.01, betas=(0.9, 0.95), eps=1e-10, weight_decay=0.1)
    optimiser = Optimiser(ours, ADAM)
    for step in range(6):
        x = torch.randn(3, 5)
        for module in (ours, theirs):
            module.zero_grad()
            module(x).square().sum().backward()
        optimiser.step(step)
        judge.step()
    torch.testing.assert_close(ours.weight, theirs.weight, rtol=0, atol=1e-6)


def test_the_rate_rises_stays_and_falls_to_nothing() -> None:
    recipe = Recipe(steps=100, batch=1, optimiser="muon", rate=1.0, warmup=10, cooldown=0.5)
    shares = [recipe.share(step) for step in range(101)]
    assert shares[0] == pytest.approx(0.1)
    assert shares[9:51] == [1.0] * 42
    assert shares[75] == pytest.approx(0.5)
    assert shares[100] == 0.0


def test_the_momentum_rises_from_85_percent() -> None:
    recipe = Recipe(steps=1000, batch=1, optimiser="muon", rate=1.0)
    assert [recipe.momentum_at(step) for step in (0, 150, 300, 900)] == pytest.approx(
        [0.85, 0.90, 0.95, 0.95]
    )
