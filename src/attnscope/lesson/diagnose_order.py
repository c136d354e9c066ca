"""A checker of order: does shuffling the tokens of a module do more than shuffle its outputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from attnscope.errors import LessonError, ShapeError
from attnscope.lesson.checks.finding import Finding as Finding
from attnscope.lesson.checks.finding import Found
from attnscope.lesson.checks.lifted import Lifted
from attnscope.lesson.checks.running import axis_of, check_steady, prepared
from attnscope.lesson.drawn import generator_of
from attnscope.looks.numbers import count, number
from attnscope.plain import plain

SHUFFLES = 4
SAME = {torch.float64: 1e-9, torch.float32: 1e-4}  # of the largest output; 16-bit dtypes: 0.03


@dataclass(frozen=True)
class Shuffled:
    """Outputs of shuffled tokens against shuffled outputs, over some shuffles.

    difference: the largest difference, as a share of the largest output.   equivariant: whether it is within
    the rounding of the dtype.
    """

    difference: float
    equivariant: bool


@dataclass(frozen=True)
class OrderDiagnosis(Found):
    """What a module knows of order; nothing is found where more than the mask tells one from another.

    as_it_is: the module itself.   unmasked: the same with its attention masks lifted; None where it has none
    that could be lifted.   masks: how many calls had a mask lifted.   dtype, shuffles, tokens: how it was
    measured.
    """

    findings: tuple[Finding, ...]
    sentence: str
    as_it_is: Shuffled
    unmasked: Shuffled | None
    masks: int
    dtype: str
    shuffles: int
    tokens: int
    allowed: float

    def __str__(self) -> str:
        return f"{self.sentence}. {self.measured}"

    @property
    def measured(self) -> str:
        """Return how it was measured, with the numbers, in a sentence."""
        said = (
            f"Over {count(self.shuffles)} shuffles of {count(self.tokens)} tokens in {self.dtype}, shuffled "
            "outputs and outputs of shuffled tokens differ by at most "
            f"{number(self.as_it_is.difference, 4)} of the largest output"
        )
        if self.unmasked is not None:
            said += f", and by {number(self.unmasked.difference, 4)} with the mask lifted"
        return f"{said}; up to {number(self.allowed, 4)} is rounding."

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnosis as JSON values."""
        found: dict[str, Any] = plain(self)
        return found | {"healthy": self.healthy, "measured": self.measured}


def diagnose_order(
    module: Callable[..., Any], x: Tensor, *, axis: int | None = None, seed: int = 0
) -> OrderDiagnosis:
    """Return whether a module can tell the order of its tokens, and whether its mask alone tells it.

    module: x -> outputs with the tokens on the same axis; a torch module, or any function. The first tensor
    of a tuple, or `.logits` or `.last_hidden_state`, is taken as the outputs. x: (b t d), or ids (b t). axis:
    the axis of the tokens; None is 1, or 0 in a module with an nn.MultiheadAttention that is not batch_first.

    A module is copied, and the copy run in eval mode and, where it can be, in float64: the module itself and
    the global random state stay as they are. The masks that are lifted are those handed to
    attention(), to F.scaled_dot_product_attention and to nn.MultiheadAttention, and masked_fill with -inf or
    a number below -10,000; another kind of mask cannot be lifted, and is then part of the module.

    Raises ShapeError where there are fewer than two tokens or the outputs have another number of them, and
    LessonError where all tokens are the same, outputs are not finite or differ from call to call, or the
    module raises.
    """
    if not callable(module):
        raise LessonError(f"module is {type(module).__name__}", wanted="A module or a function is wanted")
    axis = axis_of(module) if axis is None else axis
    there = isinstance(x, Tensor) and isinstance(axis, int) and -x.dim() <= axis < x.dim()
    if not there or x.is_meta or x.shape[axis] < 2:
        came = tuple(x.shape) if isinstance(x, Tensor) else type(x).__name__
        raise ShapeError(f"x is {came}", wanted=f"A tensor with at least two tokens on axis {axis} is wanted")
    if bool((x == x.narrow(axis, 0, 1)).all()):
        raise LessonError(
            f"All {x.shape[axis]} tokens are the same",
            wanted="At least two that differ are wanted",
            hint="Shuffling equal tokens changes nothing, whatever the module does",
        )
    run, x, dtype = prepared(module, x)
    orders = _orders(x.shape[axis], seed)
    allowed = SAME.get(dtype, 0.03)
    plainly = run(x)
    if plainly.dim() <= axis or plainly.shape[axis] != x.shape[axis]:
        raise ShapeError(
            f"x is {tuple(x.shape)} and the outputs are {tuple(plainly.shape)}",
            wanted=f"As many outputs as tokens on axis {axis} are wanted",
        )
    check_steady(plainly, run(x), allowed)
    as_it_is = _shuffled(run, x, plainly, orders, axis, allowed)
    lifted = Lifted()
    with lifted:
        bare = run(x)
        unmasked = _shuffled(run, x, bare, orders, axis, allowed) if lifted.calls else None
    masks = lifted.calls // (len(orders) + 1)
    return _said(as_it_is, unmasked, masks, dtype, len(orders), x.shape[axis], allowed)


def _orders(t: int, seed: int) -> list[Tensor]:
    """The tokens in reverse, and random orders that move something."""
    generator = generator_of(seed)
    drawn = [torch.randperm(t, generator=generator) for _ in range(SHUFFLES - 1)]
    backwards = torch.arange(t).flip(0)
    return [backwards] + [backwards if bool((one == torch.arange(t)).all()) else one for one in drawn]


def _shuffled(
    run: Callable[[Tensor], Tensor],
    x: Tensor,
    outputs: Tensor,
    orders: list[Tensor],
    axis: int,
    allowed: float,
) -> Shuffled:
    size = max(float(outputs.abs().max()), torch.finfo(torch.float32).tiny)
    apart = 0.0
    for order in orders:
        order = order.to(x.device)
        again = run(x.index_select(axis, order))
        apart = max(apart, float((again - outputs.index_select(axis, order)).abs().max()))
    return Shuffled(apart / size, apart <= allowed * size)


def _said(
    as_it_is: Shuffled,
    unmasked: Shuffled | None,
    masks: int,
    dtype: torch.dtype,
    shuffles: int,
    tokens: int,
    allowed: float,
) -> OrderDiagnosis:
    findings: tuple[Finding, ...] = ()
    evidence = {"difference": as_it_is.difference, "allowed": allowed}
    if unmasked is not None:
        evidence["difference_unmasked"] = unmasked.difference
    remedy = "Give x positions: a learned table, sinusoids, or rotations or slopes inside attention"
    if as_it_is.equivariant:
        sentence = (
            "Shuffled tokens give the same outputs, shuffled: nothing here knows the order of its tokens"
        )
        findings = (Finding("no_positions", sentence, remedy, True, evidence),)
    elif unmasked is not None and unmasked.equivariant:
        sentence = (
            "With its mask lifted, shuffled tokens give the same outputs, shuffled: the mask alone carries "
            "order, and there are no positions"
        )
        findings = (Finding("no_positions", sentence, remedy, True, evidence),)
    else:
        sentence = "Shuffled tokens give other outputs" + (
            ", with the mask lifted too: something here knows the order of its tokens"
            if unmasked is not None
            else ", and no mask was seen that could be lifted: something here knows the order of its tokens"
        )
    name = str(dtype).removeprefix("torch.")
    return OrderDiagnosis(findings, sentence, as_it_is, unmasked, masks, name, shuffles, tokens, allowed)
