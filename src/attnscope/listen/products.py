"""The product that mixes values with probabilities, in whichever way it was written: which operand is v, what
is out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from attnscope.listen.layout import Layout

ADDED = (torch.baddbmm, Tensor.baddbmm)
"""Products that are added to a first tensor."""

PRODUCTS = (torch.matmul, Tensor.matmul, torch.bmm, Tensor.bmm, torch.einsum, *ADDED)
"""Each way in which a product of two tensors is written; `a @ b` is the second."""


class Mixed(NamedTuple):
    """v (b hk tk dv) and out (b h tq dv) of one product, and the dtype of the probabilities that it took."""

    dtype: torch.dtype
    v: Tensor
    out: Tensor


def operands(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Tensor]:
    """The tensors that a product multiplies, in order."""
    values = [*args, *kwargs.values()]
    if function is torch.einsum and len(values) == 2 and isinstance(values[1], list | tuple):
        values = list(values[1])
    tensors = [value for value in values if isinstance(value, Tensor)]
    return tensors[-2:] if function in ADDED else tensors


def of_positions(of: Sequence[Tensor]) -> bool:
    """Whether a product may be that of queries and keys: both have rows of each text, and neither is a weight
    of the model.
    """
    return len(of) == 2 and all(
        x.dim() > 2 and not isinstance(x if x._base is None else x._base, nn.Parameter) for x in of
    )


def mixed(
    function: Callable[..., Any], args: tuple[Any, ...], of: list[Tensor], at: int, out: Tensor, grid: Layout
) -> Mixed | None:
    """The product of probabilities, operand `at` of two, as values mixed; None where it is none."""
    if len(of) != 2:
        return None
    three = (of[at], of[1 - at], out)  # probabilities, v, out
    if function is torch.einsum:
        axes = _axes(str(args[0]), at, [x.dim() for x in three])
        if axes is None:
            return None
        own = axes.probabilities
        if own != sorted(own) and tuple(three[0].shape) == grid.sizes:
            return None  # axes of equal length: heads were taken for rows
        v = three[1].permute(axes.v)
        for axis in axes.without:
            v = v.unsqueeze(axis)
        return _shaped(grid, three[0].permute(own), v, three[2].permute(axes.out))
    if at == 1:  # v^T @ probabilities^T is out^T
        return _shaped(grid, *(x.transpose(-2, -1) if x.dim() > 1 else x for x in three))
    return _shaped(grid, *three)


def _shaped(grid: Layout, probabilities: Tensor, v: Tensor, out: Tensor) -> Mixed | None:
    b, h, tq, tk = grid.sizes
    lead = probabilities.shape[:-2]
    if tuple(probabilities.shape[-2:]) != (tq, tk) or lead.numel() != b * h or v.dim() < 2:
        return None
    if v.shape[-2] != tk or tuple(out.shape) != (*lead, tq, v.shape[-1]):
        return None
    if v.dim() == 4 and tuple(lead) == (b, h):  # one key head for all stays one
        return Mixed(probabilities.dtype, v.expand(b, -1, -1, -1), out)
    v = v.expand(*lead, -1, -1)
    v, out = (grid.opened(x.reshape(b * h, *x.shape[-2:])) for x in (v, out))
    return Mixed(probabilities.dtype, v, out)


class _Axes(NamedTuple):
    """The orders of axes that make an einsum (batch.. q k), (batch.. k d) -> (batch.. q d). without: axes of
    the batch that v has not (one key head for all).
    """

    probabilities: list[int]
    v: list[int]
    out: list[int]
    without: list[int]


def _axes(equation: str, at: int, dims: list[int]) -> _Axes | None:
    """The axes of such an einsum; None where it is none."""
    terms, _, result = equation.replace(" ", "").partition("->")
    of = terms.split(",")
    if not result or len(of) != 2:
        return None
    one, two, out = (_named(term, dim) for term, dim in zip((of[at], of[1 - at], result), dims, strict=True))
    key = [x for x in one if x in two and x not in out]
    query = [x for x in one if x not in two and x in out][-1:]
    width = [x for x in two if x not in one and x in out]
    batch = [x for x in one if x in out and x not in query]
    orders = (batch + query + key, [x for x in batch if x in two] + key + width, batch + query + width)
    fits = all(sorted(order) == sorted(term) for order, term in zip(orders, (one, two, out), strict=True))
    if not fits or not len(key) == len(query) == len(width) == 1:
        return None
    mine, values, mixed_in = (
        [term.index(x) for x in order] for order, term in zip(orders, (one, two, out), strict=True)
    )
    return _Axes(mine, values, mixed_in, [axis for axis, x in enumerate(batch) if x not in two])


def _named(term: str, dim: int) -> list[str]:
    """The letters of a term, with a number for each axis that dots stand for, counted from the right."""
    before, dots, after = term.partition("...")
    spread = max(dim - len(before) - len(after), 0) if dots else 0
    return [*before, *(str(spread - axis) for axis in range(spread)), *after]
