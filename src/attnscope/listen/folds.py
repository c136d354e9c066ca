"""In which order an axis was folded out of several: what a reshape or a cat says of it, followed to where a
tensor of (texts * heads, positions, width) is met.

A fold is known by the memory in which its tensor lies and by the stride of its axis there, so that views of
any kind keep it; what is computed from such a tensor, axis for axis, has it too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from operator import mul
from typing import Any

import torch
from torch import Tensor

from attnscope.listen.ears import follows, looking, taps, tell
from attnscope.listen.frames import here
from attnscope.listen.memories import strided

RESHAPES = (
    Tensor.view, Tensor.reshape, torch.reshape, Tensor.flatten, torch.flatten, Tensor.unflatten,
    torch.unflatten, Tensor.view_as, Tensor.reshape_as,
)  # fmt: skip
"""What gives numbers other axes and leaves them in their order."""


TAKES = (Tensor.__getitem__, Tensor.select, torch.select, Tensor.unbind, torch.unbind)
"""What takes one of several."""


@dataclass(frozen=True)
class Fold:
    """An axis of a memory, known by its stride. sizes: of which it was folded, the outermost first.

    of_width: it is a part of what was the last axis, so heads alone.   taken: one of several was taken out of
    four axes, so that it may be the heads of a single text.   within: the first of four axes lay within the
    second before it was copied, or was made by stacking, so that it may be the heads.
    """

    stride: int
    sizes: tuple[int, ...]
    of_width: bool = False
    taken: bool = False
    within: bool = False

    def axis_of(self, tensor: Tensor) -> int | None:
        """Which axis of a tensor in that memory it is, None where it is none."""
        size = math.prod(self.sizes)
        found = [
            axis
            for axis, (length, stride) in enumerate(zip(tensor.shape, tensor.stride(), strict=True))
            if (length, stride) == (size, self.stride)
        ]
        return found[0] if len(found) == 1 else None


def fold_of(*tensors: Tensor) -> Fold | None:
    """How the first axis of these tensors was folded, None where nothing is known or they differ."""
    found = {
        (fold.sizes, fold.of_width, fold.taken): fold
        for tensor in tensors
        for fold in here.folds.of(tensor) or ()
        if fold.axis_of(tensor) == 0
    }
    return next(iter(found.values())) if len(found) == 1 else None


def heads_may_be_first(*tensors: Tensor) -> bool:
    """Whether the first of four axes may be the heads, as far as memory tells: of as many texts as heads
    sizes tell nothing.
    """
    return any(
        _turned(x) or any(fold.within and fold.axis_of(x) == 0 for fold in here.folds.of(x) or ())
        for x in tensors
        if x.dim() == 4 and x.shape[0] == x.shape[1] > 1
    )


def as_many(which: str, shape: Sequence[int]) -> str:
    """The reason for tensors of which the first axis may be the heads."""
    return (
        f"its {which} are {tuple(shape)}, as many texts as heads, and lie in memory as if the heads came "
        "first, or did before they were copied or stacked. Record another number of texts"
    )


@taps(*RESHAPES)
def reshaped(inner: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls the function, and keeps what it says of the axes that it folds or splits."""
    result = inner(*args, **kwargs)
    source = args[0] if args else kwargs.get("input")
    if here.top is not None and here.inside is None:
        tell(inner, args, kwargs, result)
        if isinstance(source, Tensor) and isinstance(result, Tensor) and result.dim() == 3:
            with looking():
                _note(result, [folded(source.shape, result.shape, axis) for axis in (0, 1)])
    return result


@taps(*TAKES)
def taken_out(inner: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls the function, and keeps that one of several was taken out along the first of four axes."""
    result = inner(*args, **kwargs)
    source = args[0] if args else kwargs.get("input")
    if here.top is not None and here.inside is None and isinstance(source, Tensor):
        tell(inner, args, kwargs, result)
        with looking():
            one = result[0] if isinstance(result, tuple) and result else result
            if source.dim() == 4 and isinstance(one, Tensor) and one.shape == source.shape[1:]:
                _note(one, [Fold(0, (one.shape[0],), taken=True)])
    return result


@taps(Tensor.contiguous, Tensor.clone, torch.clone, torch.stack)
def copied(inner: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls the function, and keeps that the first of four axes was an inner one, or was made by stacking."""
    result = inner(*args, **kwargs)
    if here.top is not None and here.inside is None and isinstance(result, Tensor):
        tell(inner, args, kwargs, result)
        if result.dim() == 4:
            with looking():
                dim = args[1] if len(args) > 1 else kwargs.get("dim", 0)
                stacked = inner is torch.stack and dim in (0, -4)
                if stacked or any(map(_turned, tensors_in((*args, *kwargs.values())))):
                    _first_within(result)
    return result


def put_together(parts: Sequence[Any], axis: int, result: Tensor) -> None:
    """What cat says of its axis, where its parts are alike: their number, then their size."""
    sizes = {part.shape[axis] for part in parts}
    if any(map(_turned, parts)):
        _first_within(result)
    if result.dim() == 3 and axis in (0, 1) and len(sizes) == 1 and len(parts) > 1:
        made = Fold(0, (len(parts), *sizes))
        _note(result, [made if axis == one else None for one in (0, 1)])


@follows
def passed_on(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
) -> None:
    """What is computed from a folded tensor is folded as it is, where the axis is where it was."""
    if not here.folds or not isinstance(result, Tensor) or not strided(result):
        return
    for given in tensors_in((*args, *kwargs.values())):
        folds = here.folds.of(given)
        if folds is None or given.dim() != result.dim() or here.folds.of(result) is folds:
            continue
        axes = [(fold, fold.axis_of(given)) for fold in folds]
        _keep(
            result,
            [
                replace(fold, stride=result.stride(axis))
                for fold, axis in axes
                if axis is not None and result.shape[axis] == given.shape[axis]
            ],
        )


def folded(source: Sequence[int], result: Sequence[int], axis: int) -> Fold | None:
    """Of what an axis of a reshaped tensor is made; its stride is still to be set. None for an axis that the
    source has as it is, or of which it says nothing.
    """
    inner, outer = math.prod(result[axis + 1 :]), math.prod(result[axis:])
    edges = {1, *accumulate(reversed(source), mul)}
    inside = sorted({edge for edge in edges if inner < edge < outer}, reverse=True)
    bounds = [outer, *inside, inner]
    if inner == 0 or any(high % low for high, low in pairwise(bounds)):
        return None
    sizes = tuple(high // low for high, low in pairwise(bounds))
    if inside:
        return Fold(0, sizes)
    part = len(source) > 0 and inner not in edges and outer <= source[-1]
    return Fold(0, sizes, of_width=True) if part else None


def tensors_in(values: Iterable[Any]) -> Iterable[Tensor]:
    """The tensors among arguments, those in lists too."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from (one for one in value if isinstance(one, Tensor))


def _turned(x: Tensor) -> bool:
    """Whether the first of four axes lies within the second, as heads do that were moved to the front."""
    return x.dim() == 4 and strided(x) and 0 < x.stride(0) < x.stride(1)


def _first_within(result: Tensor) -> None:
    if not _turned(result):
        _note(result, [Fold(0, (result.shape[0],), within=True)])


def _note(result: Tensor, made: Sequence[Fold | None]) -> None:
    if strided(result):
        _keep(
            result,
            [
                replace(one, stride=result.stride(axis))
                for axis, one in enumerate(made)
                if one is not None and result.shape[axis] > 1
            ],
        )


def _keep(result: Tensor, folds: Sequence[Fold]) -> None:
    known = here.folds.of(result) or ()
    new = [fold for fold in folds if fold not in known]
    if new:
        here.folds.keep(result, (*known, *new))
