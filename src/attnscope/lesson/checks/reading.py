"""Whatever grid a user has, as (b h tq tk), checked once; and how exactly its rows can be expected to sum."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attnscope.core.arithmetic import FLOATS
from attnscope.core.mask import Mask
from attnscope.core.masks import from_tensor
from attnscope.core.scoring import Scoring
from attnscope.errors import AttnscopeError, DtypeError, LessonError, MaskError, ScoringError, ShapeError

_UNIT = {torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}  # half of the last place of a weight near 1
_SMALLEST = {torch.float16: 2.0**-24}  # the step of the subnormals, which small weights are rounded to
_HALF = 2.0**-8  # what a model in bfloat16 may have missed 1 by before its weights were typed
_MOST_PLACES = 5
_LARGEST = 1e100  # in q and k: products of these are far within float64
_FEW, _PART = 4096, 2**22  # cells: looked at first, and at a time


@dataclass(frozen=True, eq=False)
class Given:
    """What came: weights (b h tq tk), mask (b h tq tk) bool or None, q (b h tq d), k (b hk tk d), sinks
    (h)."""

    weights: Tensor
    visible: Tensor | None
    q: Tensor | None
    k: Tensor | None
    sinks: Tensor | None
    places: int | None

    def head(self, b: int, h: int) -> Head:
        """The grid of one head, in float64."""
        grid = self.weights[b, h].double()
        visible = None if self.visible is None else self.visible[b, h]
        q, k = self.q, self.k
        if q is not None and k is not None:
            q = q[b, h][None, None].double()
            k = k[b, h // (self.weights.shape[1] // k.shape[1])][None, None].double()
        sink = None if self.sinks is None else float(self.sinks[h])
        return Head(grid, visible, q, k, sink, self.weights.dtype, self.places)


@dataclass(frozen=True, eq=False)
class Head:
    """One head: weights (tq tk) float64, visible (tq tk) or None, q and k (1 1 t d) or None, its sink's
    logit.

    places: the decimal places the weights were rounded to, where they were typed or copied; else None.
    """

    weights: Tensor
    visible: Tensor | None
    q: Tensor | None
    k: Tensor | None
    sink: float | None
    dtype: torch.dtype
    places: int | None

    def allowed(self, axis: int = 1) -> Tensor:
        """How far the sum over an axis may be from 1, given the dtype and the rounding of its weights."""
        n = self.weights.shape[axis]
        if self.places is not None:
            # A weight that was typed as 0 may be one that was rounded to it.
            rounded = (self.weights >= 0 if self.visible is None else self.visible).sum(dim=axis)
            return _HALF + rounded.double() * 0.5 * 10.0**-self.places
        unit = _UNIT.get(self.dtype, 1e-5) + n * _SMALLEST.get(self.dtype, 2.0**-24)
        return self.weights.new_full((self.weights.shape[1 - axis],), unit)

    @property
    def close(self) -> float:
        """How far a weight computed again from q and k may be from the one given."""
        if self.places is not None:
            return 2 * 10.0**-self.places
        return 0.03 if self.dtype in _UNIT else 1e-3

    @property
    def like(self) -> float:
        """How far a share may be from that of q and k alone, where nothing else has a part in the scores."""
        return min(self.close, 1e-4) if self.places is None and self.dtype not in _UNIT else self.close

    def some(self, most: int) -> Head:
        """The same head with at most so many of its rows, evenly chosen."""
        tq = self.weights.shape[0]
        if tq <= most:
            return self
        rows = torch.linspace(0, tq - 1, most, device=self.weights.device).long()
        visible = None if self.visible is None else self.visible[rows]
        q = None if self.q is None else self.q[:, :, rows]
        return replace(self, weights=self.weights[rows], visible=visible, q=q)

    def turned(self) -> Head:
        """The same cells with keys for rows, for what was normalised over queries."""
        visible = None if self.visible is None else self.visible.T
        return Head(self.weights.T, visible, self.k, self.q, None, self.dtype, self.places)


def read(weights: Any, mask: Any, q: Any, k: Any, sinks: Any, offset: int | None) -> Given:
    """Check and shape everything. Raises ShapeError, DtypeError, MaskError, ScoringError or LessonError."""
    grid = _four("weights", _tensor("weights", weights))
    _check_numbers(grid)
    queries = keys = None
    if (q is None) != (k is None):
        raise ShapeError(
            f"{'k' if q is None else 'q'} alone came", wanted="Both q and k are wanted, or neither"
        )
    if q is not None:
        queries, keys = (_four(name, _tensor(name, x)).to(grid.device) for name, x in (("q", q), ("k", k)))
        _check_pair(grid, queries, keys)
    return Given(grid, _visible(mask, grid, offset), queries, keys, _sinks(sinks, grid), _places(grid))


def _tensor(name: str, given: Any) -> Tensor:
    tensor = _whole(name, given, "numbers", ShapeError)
    if tensor.is_complex():
        raise DtypeError(f"{name} is {tensor.dtype}", wanted="Real numbers are wanted")
    if tensor.is_floating_point() and tensor.dtype not in FLOATS:
        raise DtypeError(
            f"{name} is {tensor.dtype}",
            wanted="float16, bfloat16, float32 or float64 is wanted",
            hint="Try .float()",
        )
    return tensor if tensor.is_floating_point() else tensor.double()


def _whole(name: str, given: Any, of: str, kind: type[AttnscopeError]) -> Tensor:
    """What came as a tensor that holds its cells one by one. Raises an error of that kind."""
    try:
        tensor = given.detach() if isinstance(given, Tensor) else _gathered(given)
    except (TypeError, ValueError, RuntimeError) as error:
        raise kind(
            f"{name} is {type(given).__name__} that is no rectangle of {of}",
            wanted=f"A tensor, a NumPy array, or lists of equally many {of} are wanted",
        ) from error
    if tensor.is_meta:
        raise kind(
            f"{name} is on the meta device, which holds no {of}", wanted=f"A tensor with {of} is wanted"
        )
    if tensor.layout != torch.strided or tensor.is_nested or tensor.is_quantized:
        form = "nested" if tensor.is_nested else "quantized" if tensor.is_quantized else "sparse"
        hint = "Try .dequantize()" if tensor.is_quantized else "Try .to_dense(), or to_padded_tensor(0)"
        raise kind(f"{name} is {form}", wanted="A dense tensor is wanted", hint=hint)
    return tensor


def _gathered(given: Any) -> Tensor:
    """Lists of tensors as one tensor in their own dtype; anything else as NumPy reads it."""
    leaf = given
    while isinstance(leaf, list | tuple) and leaf:
        leaf = leaf[0]
    if isinstance(leaf, Tensor):
        return torch.stack([one.detach() if isinstance(one, Tensor) else _gathered(one) for one in given])
    array = np.asarray(given)
    if array.dtype.kind not in "fiubc":
        raise TypeError
    # In this machine's order of bytes, no wider than float64, and writable, as PyTorch wants it.
    dtype = np.dtype(np.float64) if array.dtype == np.longdouble else array.dtype.newbyteorder("=")
    return torch.from_numpy(np.require(array, dtype, ["C", "W"]))


def _four(name: str, x: Tensor) -> Tensor:
    if not 2 <= x.dim() <= 4:
        axes = "(tq, tk), (heads, tq, tk) or (batch, heads, tq, tk)"
        raise ShapeError(
            f"{name} has shape {tuple(x.shape)}",
            wanted=axes if name == "weights" else axes.replace("tk", "d"),
            hint=f"One row alone is {name}[None]" if x.dim() == 1 else "",
        )
    return x.reshape((1,) * (4 - x.dim()) + tuple(x.shape))


def _check_numbers(grid: Tensor) -> None:
    if not grid.numel():
        return
    low, high = (float(one) for one in grid.aminmax())  # nan where any is
    if not (math.isfinite(low) and math.isfinite(high)):
        bad = torch.nonzero(~torch.isfinite(grid))
        first = grid[tuple(bad[0])].item()
        raise LessonError(
            f"weights hold {first} at {_where(bad[0])}, and {len(bad):,} such in all",
            wanted="Numbers of 0 or more are wanted",
            hint="softmax gives nan for a row in which every score is -inf: "
            "a query that sees no key should have weights 0",
        )
    if low < 0:
        bad = torch.nonzero(grid < 0)
        raise LessonError(
            f"weights hold {grid[tuple(bad[0])].item():.4g} at {_where(bad[0])}, and {len(bad):,} negative "
            "numbers in all",
            wanted="Numbers of 0 or more are wanted",
            hint="These look like scores: take softmax over the keys first",
        )


def _where(index: Tensor) -> str:
    b, h, i, j = index.tolist()
    return f"batch {b}, head {h}, query {i}, key {j}"


def _check_pair(grid: Tensor, q: Tensor, k: Tensor) -> None:
    b, h, tq, tk = grid.shape
    fits = q.shape[:3] == (b, h, tq) and k.shape[0] == b and k.shape[2] == tk and q.shape[3] == k.shape[3]
    if not fits or not k.shape[1] or h % k.shape[1] or not q.shape[3]:
        raise ShapeError(
            f"weights are {tuple(grid.shape)}, q is {tuple(q.shape)} and k is {tuple(k.shape)}",
            wanted=f"q ({b}, {h}, {tq}, d) and k ({b}, {h} or a part of it, {tk}, d) are wanted",
        )
    largest = [float(x.abs().max()) if x.numel() else 0.0 for x in (q, k)]
    if not all(size <= _LARGEST for size in largest):
        raise LessonError(
            "q or k holds nan, infinity or a number above 1e+100",
            wanted="Finite numbers up to that are wanted",
        )


def _visible(mask: Any, grid: Tensor, offset: int | None) -> Tensor | None:
    if mask is None:
        return None
    b, h, tq, tk = grid.shape
    if not isinstance(mask, Mask):
        given = _whole("mask", mask, "booleans", MaskError)
        if given.dtype != torch.bool:
            raise MaskError(
                f"mask is {given.dtype}",
                wanted="Booleans (True = may attend) are wanted, or a mask such as ats.causal()",
                hint="Where 1 means may attend: mask.bool(); where -inf hides: mask == 0",
            )
        mask = from_tensor(given.to(grid.device))
    nothing = torch.zeros(b, h, 1, 1, device=grid.device)
    bound = Scoring(mask, offset=offset).bind(nothing.expand(b, h, tq, 1), nothing.expand(b, h, tk, 1))
    return bound.visible.tile(slice(0, tq), slice(0, tk)).expand(b, h, tq, tk)


def _sinks(sinks: Any, grid: Tensor) -> Tensor | None:
    if sinks is None:
        return None
    logits, h = _tensor("sinks", sinks).to(grid.device).double(), grid.shape[1]
    logits = logits.expand(h) if logits.dim() == 0 else logits
    if logits.shape != (h,):
        raise ScoringError(
            f"sinks is {tuple(logits.shape)}", wanted=f"One logit for each head, ({h},) is wanted"
        )
    if bool(torch.isnan(logits).any() or (logits == torch.inf).any()):
        raise ScoringError("sinks holds nan or +inf", wanted="Numbers are wanted; -inf is no sink")
    return logits


def _places(grid: Tensor) -> int | None:
    """The fewest decimal places (2 to 5) that write every weight exactly; None where more are needed."""
    if grid.dtype in _UNIT:
        return None
    flat = grid.reshape(-1)
    if all(bool((part == part.round()).all()) for part in torch.split(flat, _PART)):
        return None
    some = flat[:: max(1, len(flat) // _FEW)]  # enough to see that most grids were never typed
    for places in range(2, _MOST_PLACES + 1):
        if _written(some, places) and all(_written(part, places) for part in torch.split(flat, _PART)):
            return places
    return None


def _written(cells: Tensor, places: int) -> bool:
    size = 10.0**places
    moved = cells.double() * size
    return bool(((moved - moved.round()).abs() < 1e-7 * size).all())
