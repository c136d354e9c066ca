"""Models that compute attention in code of their own: their softmax is heard, and the product that follows.

A softmax over the last axis of a grid (batch, heads, queries, keys) of a running module's own lengths is
followed, through views, casts and dropout, to the product that takes its probabilities: the other operand
is v, the result is out. Then the grid is reduced to its summary and let go; q and k are never known. Where
one module makes grids of other shapes as well (chunks, blocks, landmarks), none of it is a picture of the
whole, and none is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attnscope.errors import AttnscopeError
from attnscope.listen.call import CannotShowError
from attnscope.listen.ears import looking, taps, tell
from attnscope.listen.folds import as_many, fold_of, heads_may_be_first, passed_on, put_together
from attnscope.listen.following import Grid, multiplied, passing
from attnscope.listen.frames import Frame, here
from attnscope.listen.layout import (
    Layout,
    layout_of,
    lies_by_feature,
    of_each_position,
    of_features,
    shapes_in,
)
from attnscope.listen.likeness import along
from attnscope.listen.products import PRODUCTS, Mixed, mixed, operands
from attnscope.listen.projecting import Output
from attnscope.listen.quiet import quiet
from attnscope.listen.summed import Summed, reduced
from attnscope.listen.surroundings import known_to

HANDED_UP = 2
"""How many modules up a grid is followed: probabilities may come from a child (nn.Softmax)."""


@taps(torch.softmax, F.softmax, Tensor.softmax, torch.special.softmax)
def tap(inner: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls softmax, and follows its probabilities where they are a grid of attention; not within a call
    that another route is listening to.
    """
    result = inner(*args, **kwargs)
    scores: Any = args[0] if args else kwargs.get("input")
    frame = here.top
    if frame is None or here.inside is not None or not _plain(scores, result) or "out" in kwargs:
        return result
    with looking():
        dim = _axis(args, kwargs, None)
        if scores.dim() > 2 and dim in (-1, scores.dim() - 1):
            _heard(frame, scores, result)
        else:
            along(dim, scores)
    return result


@taps(*PRODUCTS)
def product(inner: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls a product; where it takes probabilities that are followed, values were mixed, else softmax may be
    taken of it.
    """
    result = inner(*args, **kwargs)
    if here.top is not None and here.inside is None and isinstance(result, Tensor) and "out" not in kwargs:
        with looking():
            of = operands(inner, args, kwargs)
            followed = [grid for grid in here.grids if any(map(grid.holds, of))]
            for grid in followed:
                at = next(i for i, x in enumerate(of) if grid.holds(x))
                found = mixed(inner, args, of, at, result, grid.layout)
                if found is None:
                    passing(inner, args, kwargs, result)
                    continue
                here.grids.remove(grid)
                frame = grid.frame if grid.frame in here.frames else here.frames[-1]
                frame.log.heard.setdefault(grid.name, None)  # a child whose probabilities its parent mixes
                here.output = Output(found.out)
                frame.noted.made.append(_reduced(frame, grid, found, here.output))
            if not followed:
                multiplied(of, result)
                passed_on(inner, args, kwargs, result)
    return result


@taps(torch.cat, torch.concat, torch.concatenate)
def joined(inner: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls the function; a cache that puts keys together this way gives them a length that is known then."""
    result = inner(*args, **kwargs)
    if here.top is None or here.inside is not None or not isinstance(result, Tensor) or result.dim() < 3:
        return result
    with looking():
        tell(inner, args, kwargs, result)
        parts, dim = args[0] if args else kwargs.get("tensors", ()), _axis(args, kwargs, 0)
        parts = [part for part in parts if isinstance(part, Tensor) and part.dim() == result.dim()]
        dim = dim + result.dim() if isinstance(dim, int) and dim < 0 else dim
        if parts and isinstance(dim, int) and dim != result.dim() - 1:  # a last axis is no sequence
            here.top.noted.lengths.grow(result.shape[dim], [part.shape[dim] for part in parts])
            put_together(parts, dim, result)
    return result


@taps(Tensor.index_copy_)
def written(inner: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls the function; a static cache is as long as what new keys are written into."""
    result = inner(*args, **kwargs)
    if here.top is not None and here.inside is None and len(args) == 4 and isinstance(args[1], int):
        with looking():
            whole, dim, _, part = args
            here.top.noted.lengths.grow(whole.shape[dim], [part.shape[dim]])
    return result


def entered(frame: Frame, given: Sequence[Any]) -> None:
    """A module starts: what it was handed says on which lengths it works, and its parent too."""
    with looking(frame):
        shapes, around = shapes_in(given), here.top
        frame.noted.handed.see(shapes)
        frame.noted.lengths.see(shapes)
        if around is not None:
            around.noted.lengths.see(shapes)
        frame.noted.lengths.grown |= frame.session.lengths.get(frame.name, set())


def left(frame: Frame) -> None:
    """A module ends: what it mixed becomes sites, or a reason; what it did not is its parent's to mix."""
    noted = frame.noted
    if not (here.grids or noted.made or noted.foreign or noted.pieces):
        return
    ready: list[tuple[Frame, Summed]] = []
    with looking(frame):
        _handed_up(frame)
        ready = [*_mixed_in(frame), *_put_together(frame)]
    for of, one in ready:
        _take(of, one)


def _take(frame: Frame, one: Summed) -> None:
    frame.session.lengths.setdefault(frame.name, set()).add(one.sizes[3])
    frame.session.take(frame, lambda: one)


def _handed_up(frame: Frame) -> None:
    """What a module made of probabilities and did not mix is its parent's to mix, up to a point."""
    for grid in [grid for grid in here.grids if grid.frame is frame]:
        if here.top is not None and here.top.session is frame.session and grid.handed_up < HANDED_UP:
            grid.frame, grid.handed_up = here.top, grid.handed_up + 1
        else:
            here.grids.remove(grid)
            frame.log.foreign.setdefault(grid.name, unmixed(grid.scores.shape))


def _mixed_in(frame: Frame) -> Iterator[tuple[Frame, Summed]]:
    """What a module mixed and is to become a site; what is not becomes a reason, or its parent's piece."""
    made, foreign = frame.noted.made, frame.noted.foreign
    reason = frame.noted.other_heads or of_its_own(foreign)
    if foreign:
        frame.log.foreign.setdefault(frame.name, reason)
    if made and foreign:
        frame.session.not_shown(frame, reason)
        made = []
    for one in made:
        if isinstance(one, str):
            frame.session.not_shown(frame, one)
        elif here.top is not None and here.top.noted.handed.longer(one.sizes[0], *one.sizes[2:]):
            here.top.noted.pieces.append((frame, one))
        else:
            yield frame, one


def _put_together(frame: Frame) -> Iterator[tuple[Frame, Summed]]:
    """What children made of shorter sequences than this module's: several calls of one child are pieces."""
    pieces = frame.noted.pieces
    for child, one in pieces:
        if sum(other.name == child.name for other, _ in pieces) == 1:
            yield child, one
            continue
        whole = frame.noted.handed.longer(one.sizes[0], *one.sizes[2:])
        child.session.not_shown(
            child, f"it attends to pieces of its text, {one.sizes[2]} of {whole} positions at a time"
        )


def of_its_own(shapes: Iterable[Sequence[int]]) -> str:
    """The reason for a module whose softmax is no grid of (batch, heads, queries, keys)."""
    listed = ", ".join(dict.fromkeys(str(tuple(shape)) for shape in shapes))
    return (
        f"it computes attention in a layout of its own (chunks, blocks or windows: softmax over {listed}), "
        "which is not (batch, heads, queries, keys)"
    )


def of_other_heads(shape: Sequence[int], counts: set[int]) -> str:
    """The reason for a grid of which only the number of heads does not fit."""
    named = " or ".join(map(str, sorted(counts)))
    return f"its softmax is over {tuple(shape)}, and its module or its config speaks of {named} heads"


def unmixed(shape: Sequence[int]) -> str:
    """The reason for a grid of which no product was heard."""
    return (
        f"its softmax over {tuple(shape)} was heard, and its weights could not be followed to a product with "
        "values (matmul, @, bmm or einsum)"
    )


def unmultiplied(shape: Sequence[int]) -> str:
    """The reason for a grid that comes of no product."""
    return (
        f"its softmax over {tuple(shape)} was heard, and its scores could not be followed back, cell by "
        "cell, to a product of queries with keys (matmul, @, bmm, baddbmm or einsum, of no weights)"
    )


def _heard(frame: Frame, scores: Tensor, result: Tensor) -> None:
    """A softmax over the last of several axes: followed, where it is a grid of attention."""
    known = known_to(frame)
    fold = fold_of(scores) if scores.dim() == 3 else None
    sinks = None
    try:
        layout = layout_of(scores.shape, *known, fold)
        if layout is None:
            sinks = _sinks([one.module for one in reversed(here.frames)], scores)
            keys = (*scores.shape[:-1], scores.shape[-1] - 1)
            layout = None if sinks is None else layout_of(keys, *known, fold)
    except CannotShowError as reason:
        frame.noted.made.append(str(reason))
        return None
    if layout is None:
        return _foreign(frame, scores)
    if here.products.of(scores) is None:
        frame.noted.made.append(unmultiplied(scores.shape))
        return None
    grid = Grid(
        frame.name, frame, layout, scores, _version(scores), sinks, result.dtype,
        layout.tk in known.lengths.grown,
    )  # fmt: skip
    grid.follow(result)
    return here.grids.append(grid)


def _foreign(frame: Frame, scores: Tensor) -> None:
    """A softmax over something else."""
    lengths, counts = known_to(frame)
    if of_each_position(scores.shape, lengths):
        return
    frame.noted.foreign.append(tuple(scores.shape))
    if scores.dim() == 4 and layout_of(scores.shape, lengths, set()) is not None:
        frame.noted.other_heads = of_other_heads(scores.shape, counts)


def _sinks(modules: Iterable[nn.Module], scores: Tensor) -> Tensor | None:
    """The learned sinks (h) of the innermost module that has some, where the last column of scores (b h tq
    tk + 1) holds just them, bit for bit; else None.
    """
    for module in modules:
        found = getattr(module, "sinks", None)
        if isinstance(found, Tensor) and scores.dim() == 4 and found.numel() == scores.shape[1]:
            with quiet(scores.device):
                sinks = found.detach().flatten().clone()
                column = sinks.to(scores.dtype)[None, :, None].expand(scores.shape[:-1])
                return sinks if torch.equal(scores.detach()[..., -1], column) else None
    return None


def _reduced(frame: Frame, grid: Grid, found: Mixed, output: Output) -> Summed | str:
    """What is kept of a grid, or why nothing can be."""
    if _version(grid.scores) != grid.version:
        return "its scores were overwritten before its values were mixed"
    try:
        with quiet(grid.scores.device):
            if grid.scores.dim() == 4 and heads_may_be_first(found.v):
                raise CannotShowError(as_many("scores", grid.scores.shape))
            if grid.layout.tq == grid.layout.tk == found.v.shape[-1] and lies_by_feature(found.v):
                raise CannotShowError(of_features("values", found.v.shape))
            scores = _whole(grid.layout, grid.scores.detach()[..., : grid.layout.tk])
            return reduced(
                frame.module, frame.name, scores, found, softmax=grid.softmax, dropout=grid.dropout,
                sinks=grid.sinks, cached=grid.cached, output=output,
            )  # fmt: skip
    except CannotShowError as reason:
        return str(reason)
    except AttnscopeError as error:
        return f"its numbers could not be read: {error}"


def _whole(layout: Layout, scores: Tensor) -> Tensor:
    """Scores of three axes or four as (b h tq tk)."""
    return layout.opened(scores) if scores.dim() == 3 else scores


def _axis(args: tuple[Any, ...], kwargs: dict[str, Any], otherwise: int | None) -> Any:
    """The axis that a function works along: its second argument, dim or, as NumPy has it, axis."""
    given = args[1] if len(args) > 1 else otherwise
    return kwargs.get("dim", kwargs.get("axis", given))


def _plain(*tensors: Any) -> bool:
    return all(type(x) is Tensor and not x.is_nested and x.is_floating_point() for x in tensors)


def _version(tensor: Tensor) -> int | None:
    return None if tensor.is_inference() else tensor._version
