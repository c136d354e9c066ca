"""Models that compute attention in code of their own: their softmax is heard, and the product that follows.

A softmax over the last axis of a grid (batch, heads, queries, keys) of a running module's own lengths is
followed, through views, casts and dropout, to the product that takes its probabilities: the other operand
is v, the result is out. Then the grid is reduced to its summary and let go; q and k are never known. Where
one module makes grids of other shapes as well (chunks, blocks, landmarks), none of it is a picture of the
whole, and none is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.multiprocessing import reductions
from torch.nn import functional as F

from attnscope.errors import AttnscopeError
from attnscope.listen.call import CannotShowError
from attnscope.listen.ears import follows, taps
from attnscope.listen.frames import Frame, here
from attnscope.listen.layout import Layout, Lengths, head_counts, layout_of, of_each_position
from attnscope.listen.products import PRODUCTS, Mixed, mixed, operands
from attnscope.listen.quiet import quiet
from attnscope.listen.summed import Summed, reduced

# an untyped class of torch's: an address that is not given away while it is held
_weak: Callable[[Any], Any] = reductions.StorageWeakRef

HANDED_UP = 2
"""How many modules up a grid is followed: probabilities may come from a child (nn.Softmax)."""


@dataclass(eq=False)
class Grid:
    """Probabilities on their way to a product. name: the module that called softmax.   frame: which looks for
    the product now.

    scores: what softmax was given.   version: of its content.   sinks: (h) logits of a last column that is
    nobody's key.   softmax: the dtype of the probabilities.   cached: a cache held some of the keys.
    sources: the memory in which the probabilities lie, or copies of them.   dropout: the probability with
    which some were dropped.
    """

    name: str
    frame: Frame
    layout: Layout
    scores: Tensor = field(repr=False)
    version: int | None
    sinks: Tensor | None = field(repr=False)
    softmax: torch.dtype
    cached: bool
    sources: dict[int, Any] = field(repr=False)
    dropout: float = 0.0
    handed_up: int = 0

    def holds(self, tensor: Tensor) -> bool:
        """Whether a tensor lies in memory that holds these probabilities."""
        if not _strided(tensor):
            return False
        source = self.sources.get(tensor.untyped_storage()._cdata)
        return source is not None and not bool(source.expired())

    def fits(self, tensor: Tensor) -> bool:
        """Whether a tensor has as many numbers as the probabilities, with the sink's column or without."""
        b, h, tq, tk = self.layout
        columns = (tk,) if self.sinks is None else (tk, tk + 1)
        return _strided(tensor) and tensor.numel() in [b * h * tq * count for count in columns]

    def follow(self, tensor: Tensor) -> None:
        """These probabilities now lie in this tensor as well."""
        source = _weak(tensor.untyped_storage())
        self.sources[source.cdata] = source


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
    dim = kwargs.get("dim", args[1] if len(args) > 1 else None)
    if scores.dim() > 2 and dim in (-1, scores.dim() - 1):
        _heard(frame, scores, result)
    return result


@taps(*PRODUCTS)
def product(inner: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls a product; where it takes probabilities that are followed, values were mixed."""
    result = inner(*args, **kwargs)
    if here.grids and here.inside is None and isinstance(result, Tensor):
        of = operands(inner, args, kwargs)
        for grid in [grid for grid in here.grids if any(map(grid.holds, of))]:
            at = next(i for i, x in enumerate(of) if grid.holds(x))
            found = mixed(inner, args, of, at, result, grid.layout)
            if found is None:
                passing(inner, args, kwargs, result)
                continue
            here.grids.remove(grid)
            frame = grid.frame if grid.frame in here.frames else here.frames[-1]
            frame.noted.made.append(_reduced(frame, grid, found))
    return result


@taps(torch.cat, torch.concat, torch.concatenate)
def joined(inner: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls the function; a cache that puts keys together this way gives them a length that is known then."""
    result = inner(*args, **kwargs)
    parts = args[0] if args else kwargs.get("tensors", ())
    if here.top is not None and here.inside is None and isinstance(result, Tensor) and result.dim() > 2:
        dim = kwargs.get("dim", args[1] if len(args) > 1 else 0)
        keys = isinstance(dim, int) and dim not in (-1, result.dim() - 1)  # a last axis is no sequence
        if keys and all(isinstance(part, Tensor) for part in parts):
            here.top.noted.lengths.grow(
                result.shape[dim], [part.shape[dim] for part in parts if part.dim() > 2]
            )
    return result


@taps(Tensor.index_copy_)
def written(inner: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls the function; a static cache is as long as what new keys are written into."""
    result = inner(*args, **kwargs)
    if here.top is not None and here.inside is None and len(args) == 4 and isinstance(args[1], int):
        whole, dim, _, part = args
        here.top.noted.lengths.grow(whole.shape[dim], [part.shape[dim]])
    return result


@follows
def passing(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
    """Anything else that is done to probabilities: what has as many numbers is followed, whatever it does to
    them; the certificate tells whether it left them alone.
    """
    if not isinstance(result, Tensor) or not result.is_floating_point():
        return
    given = [x for x in _flat((*args, *kwargs.values())) if isinstance(x, Tensor)]
    for grid in here.grids:
        if grid.fits(result) and any(map(grid.holds, given)):
            grid.follow(result)
            grid.dropout = max(grid.dropout, _dropout(function, args, kwargs))


def entered(frame: Frame, given: Sequence[Any]) -> None:
    """A module starts: what it was handed says on which lengths it works, and its parent too."""
    frame.noted.handed.see(given)
    frame.noted.lengths.see(given)
    if here.top is not None:
        here.top.noted.lengths.see(given)
    frame.noted.lengths.grown |= frame.session.lengths.get(frame.name, set())


def left(frame: Frame) -> None:
    """A module ends: what it mixed becomes sites, or a reason; what it did not is its parent's to mix."""
    for grid in [grid for grid in here.grids if grid.frame is frame]:
        if here.top is not None and here.top.session is frame.session and grid.handed_up < HANDED_UP:
            grid.frame, grid.handed_up = here.top, grid.handed_up + 1
        else:
            here.grids.remove(grid)
            frame.log.foreign.setdefault(grid.name, unmixed(grid.scores.shape))
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
            _take(frame, one)
    _put_together(frame)


def _put_together(frame: Frame) -> None:
    """What children made of shorter sequences than this module's: several calls of one child are pieces."""
    pieces = frame.noted.pieces
    for child, one in pieces:
        if sum(other.name == child.name for other, _ in pieces) == 1:
            _take(child, one)
            continue
        whole = frame.noted.handed.longer(one.sizes[0], *one.sizes[2:])
        child.session.not_shown(
            child, f"it attends to pieces of its text, {one.sizes[2]} of {whole} positions at a time"
        )


def _take(frame: Frame, one: Summed) -> None:
    frame.session.lengths.setdefault(frame.name, set()).add(one.sizes[3])
    frame.session.take(frame, lambda: one)


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
        f"its softmax over {tuple(shape)} was heard, and no product of its weights with values after it "
        "(matmul, @, bmm or einsum)"
    )


def _heard(frame: Frame, scores: Tensor, result: Tensor) -> None:
    frames = [one for one in reversed(here.frames) if one.session is frame.session]
    lengths = Lengths()
    for one in frames:
        lengths = lengths | one.noted.lengths
    counts = head_counts([one.module for one in frames], getattr(frame.session.model, "config", None))
    layout, sinks = layout_of(scores.shape, lengths, counts), None
    if layout is None:
        sinks = _sinks([one.module for one in frames], scores)
        keys = (*scores.shape[:-1], scores.shape[-1] - 1)
        layout = None if sinks is None else layout_of(keys, lengths, counts)
    if layout is None:
        if not of_each_position(scores.shape, lengths):
            frame.noted.foreign.append(tuple(scores.shape))
            if layout_of(scores.shape, lengths, set()) is not None:
                frame.noted.other_heads = of_other_heads(scores.shape, counts)
        return
    grid = Grid(
        frame.name,
        frame,
        layout,
        scores,
        _version(scores),
        sinks,
        result.dtype,
        layout.tk in lengths.grown,
        {},
    )
    grid.follow(result)
    here.grids.append(grid)


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


def _reduced(frame: Frame, grid: Grid, found: Mixed) -> Summed | str:
    """What is kept of a grid, or why nothing can be."""
    if _version(grid.scores) != grid.version:
        return "its scores were overwritten before its values were mixed"
    try:
        with quiet(grid.scores.device):
            scores = grid.scores.detach()[..., : grid.layout.tk].reshape(grid.layout)
            return reduced(
                frame.module, frame.name, scores, found, softmax=grid.softmax, dropout=grid.dropout,
                sinks=grid.sinks, cached=grid.cached,
            )  # fmt: skip
    except CannotShowError as reason:
        return str(reason)
    except AttnscopeError as error:
        return f"its numbers could not be read: {error}"


def _plain(*tensors: Any) -> bool:
    return all(type(x) is Tensor and not x.is_nested and x.is_floating_point() for x in tensors)


def _strided(tensor: Tensor) -> bool:
    """Whether a tensor lies in memory of its own kind: no sparse or nested one."""
    return tensor.layout is torch.strided and not tensor.is_nested


def _version(tensor: Tensor) -> int | None:
    return None if tensor.is_inference() else tensor._version


def _dropout(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> float:
    """The probability with which a call drops weights; 0 for every other function."""
    if function not in (F.dropout, torch.dropout):
        return 0.0
    names = ("input", "p", "training" if function is F.dropout else "train")
    given = {"p": 0.5, "training": True} | dict(zip(names, args, strict=False)) | kwargs
    return float(given["p"]) if given.get("train", given["training"]) else 0.0


def _flat(values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        if isinstance(value, list | tuple):
            yield from value
        else:
            yield value
