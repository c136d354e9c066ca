"""Muon for the matrices inside the layers, AdamW for everything else; its state is a dict of tensors."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from attnscope.gpt.recipe import Recipe

# The quintic of Jordan et al. 2024 (Muon): five rounds bring every singular value near 1.
A, B, C, ROUNDS = 3.4445, -4.7750, 2.0315, 5
BETA1, BETA2, EPSILON = 0.9, 0.95, 1e-10


@dataclass(frozen=True, eq=False)
class _Member:
    name: str
    parameter: nn.Parameter


class Optimiser:
    """One step for all parameters of a model, by the rates of a recipe.

    Matrices of the layers follow the orthogonalised momentum of their gradient where the recipe says "muon";
    embeddings, the head, gains and biases always follow AdamW, the latter two without decay.
    """

    def __init__(self, model: nn.Module, recipe: Recipe) -> None:
        self.recipe = recipe
        self._by_shape: dict[tuple[int, ...], list[_Member]] = {}
        self._plain: list[_Member] = []
        self._state: dict[str, Tensor] = {}
        for name, parameter in model.named_parameters():
            member = _Member(name, parameter)
            if recipe.optimiser == "muon" and parameter.dim() == 2 and name.startswith("layers."):
                self._by_shape.setdefault(tuple(parameter.shape), []).append(member)
                self._state[f"momentum.{name}"] = torch.zeros_like(parameter)
            else:
                self._plain.append(member)
                self._state[f"first.{name}"] = torch.zeros_like(parameter)
                self._state[f"second.{name}"] = torch.zeros_like(parameter)

    def state(self) -> dict[str, Tensor]:
        """The running averages by name, live: "momentum.<parameter>", "first.<parameter>", "second...."."""
        return self._state

    @torch.no_grad()
    def step(self, step: int) -> None:
        """Apply the gradients of step number `step` (0 the first)."""
        share = self.recipe.share(step)
        for members in self._by_shape.values():
            self._muon(members, share, self.recipe.momentum_at(step))
        for member in self._plain:
            self._adam(member, share, step + 1)

    def _muon(self, members: list[_Member], share: float, momentum: float) -> None:
        """All matrices of one shape (r c) at once, as (n r c)."""
        ahead = []
        for member in members:
            held, gradient = self._state[f"momentum.{member.name}"], _gradient(member.parameter)
            held.lerp_(gradient, 1 - momentum)
            ahead.append(gradient.lerp(held, momentum))
        rate, (rows, cols) = self.recipe.matrix_rate * share, members[0].parameter.shape
        keep = 1 - rate * self.recipe.decay
        stretch = rate * max(1.0, rows / cols) ** 0.5
        for member, update in zip(members, orthogonalised(torch.stack(ahead)), strict=True):
            member.parameter.mul_(keep).sub_(update, alpha=stretch)

    def _adam(self, member: _Member, share: float, count: int) -> None:
        parameter, gradient = member.parameter, _gradient(member.parameter)
        first, second = self._state[f"first.{member.name}"], self._state[f"second.{member.name}"]
        first.lerp_(gradient, 1 - BETA1)
        second.lerp_(gradient.square(), 1 - BETA2)
        rate = self.recipe.rate * share
        if parameter.dim() > 1 and self.recipe.optimiser == "adamw":
            parameter.mul_(1 - rate * self.recipe.decay)
        size = (second / (1 - BETA2**count)).sqrt_().add_(EPSILON)
        parameter.addcdiv_(first, size, value=-rate / (1 - BETA1**count))


def orthogonalised(matrices: Tensor) -> Tensor:
    """Each matrix of (n r c) with its singular values brought near 1, its directions kept.

    Rounds of x -> A x + B (x x^T) x + C (x x^T)^2 x; they commute with x x^T, so that a wide matrix is
    touched twice only and the rounds run on the small square.
    """
    tall = matrices.shape[-2] > matrices.shape[-1]
    x = matrices.mT if tall else matrices
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    square = x @ x.mT  # (n r r)
    product: Tensor | None = None
    for _ in range(ROUNDS):
        turn = torch.baddbmm(square, square, square, beta=B, alpha=C)
        turn.diagonal(dim1=-2, dim2=-1).add_(A)
        product = turn if product is None else turn @ product
        square = turn @ square @ turn
    out: Tensor = x if product is None else product @ x
    return out.mT if tall else out


def _gradient(parameter: nn.Parameter) -> Tensor:
    return torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
