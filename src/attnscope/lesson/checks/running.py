"""A stranger's module as a function from tokens to outputs: copied, in eval mode, in float64 where it can."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from attnscope.errors import AttnscopeError, LessonError, ShapeError
from attnscope.lesson.drawn import seeded


def axis_of(module: Callable[..., Any]) -> int:
    """The axis of the tokens: 1, or 0 where an nn.MultiheadAttention inside is not batch_first."""
    parts = module.modules() if isinstance(module, nn.Module) else ()
    return 0 if any(isinstance(part, nn.MultiheadAttention) and not part.batch_first for part in parts) else 1


def prepared(module: Callable[..., Any], x: Tensor) -> tuple[Callable[[Tensor], Tensor], Tensor, torch.dtype]:
    """A copy that can be run, x for it, and the dtype of its outputs: float64 where that works."""
    if not isinstance(module, nn.Module):
        try:
            wide = x.double() if x.is_floating_point() else x
            return _runner(module), wide, _runner(module)(wide).dtype
        except AttnscopeError:
            return _runner(module), x, _runner(module)(x).dtype
    try:
        same = copy.deepcopy(module).eval()
    except Exception as error:  # tensors with a history, locks, files: whatever cannot be copied
        raise LessonError(
            f"The module cannot be copied ({type(error).__name__})",
            wanted="A module that can is wanted",
            hint="Or a function, which is called as it is: lambda x: module(x)",
        ) from error
    try:
        wide = x.double() if x.is_floating_point() else x
        run = _runner(copy.deepcopy(same).double())
        return run, wide, run(wide).dtype
    except (RuntimeError, TypeError, ValueError):  # a LessonError among them
        run = _runner(same)
        return run, x, run(x).dtype


def check_steady(first: Tensor, second: Tensor, allowed: float) -> None:
    """Raise LessonError where the same tokens gave other outputs the second time."""
    size = float(first.abs().max())
    if first.shape != second.shape or float((first - second).abs().max()) > allowed * size:
        raise LessonError(
            "The same tokens gave other outputs when they came a second time",
            wanted="A module that keeps nothing from call to call is wanted",
            hint="Hand over a function that clears its cache first: lambda x: module(x)",
        )


def _runner(module: Callable[..., Any]) -> Callable[[Tensor], Tensor]:
    def run(x: Tensor) -> Tensor:
        try:
            with torch.no_grad(), seeded(0, x.device):
                alone = isinstance(module, nn.MultiheadAttention)
                given = module(x, x, x, need_weights=False) if alone else module(x)
        except (AttnscopeError, MemoryError):
            raise
        except Exception as error:  # whatever a stranger's module raises
            told = f"{type(error).__name__}: {error}".splitlines()[0]
            raise LessonError(
                f"The module raised {told:.200}",
                wanted="A module that takes x alone is wanted",
                hint="Where it needs more, hand over a function: lambda x: module(x, mask)",
            ) from error
        return _outputs(given)

    return run


def _outputs(given: Any) -> Tensor:
    for name in ("logits", "last_hidden_state"):
        given = getattr(given, name, given)
    while isinstance(given, tuple | list) and given:
        given = given[0]
    if not isinstance(given, Tensor) or not given.is_floating_point():
        raise ShapeError(
            f"The module returned {type(given).__name__}",
            wanted="A tensor of numbers is wanted, one row a token",
        )
    if not bool(torch.isfinite(given).all()):
        raise LessonError("The module's outputs hold nan or infinity", wanted="Finite outputs are wanted")
    return given
