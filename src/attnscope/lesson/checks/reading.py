"""Whatever grid a user has, as (b h tq tk), checked once; and how exactly its rows can be expected to sum."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attnscope.core.mask import Mask
from attnscope.core.masks import from_tensor
from attnscope.core.scoring import Scoring
from attnscope.errors import DtypeError, LessonError, MaskError, ScoringError, ShapeError

_UNIT = {torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}  # half of the last place of a weight near 1
_SMALLEST = {torch.float16: 2.0**-24}  # the step of the subnormals, which small weights are rounded to
_MOST_PLACES = 5
_MOST_TYPED = 4096  # cells; more than this nobody types or copies from a print


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
        used = (self.weights > 0).sum(dim=axis).double()
        if self.places is not None:
            return 1e-9 + used * 0.5 * 10.0**-self.places
        unit = _UNIT.get(self.dtype, 1e-5) + n * _SMALLEST.get(self.dtype, 2.0**-24)
        return torch.full_like(used, unit)

    @property
    def close(self) -> float:
        """How far a weight computed again from q and k may be from the one given."""
        if self.places is not None:
            return 2 * 10.0**-self.places
        return 0.03 if self.dtype in _UNIT else 1e-3

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
        raise ShapeError(f"{'k' if q is None else 'q'} alone came", wanted="Both q and k, or neither")
    if q is not None:
        queries, keys = _four("q", _tensor("q", q)), _four("k", _tensor("k", k))
        _check_pair(grid, queries, keys)
    return Given(grid, _visible(mask, grid, offset), queries, keys, _sinks(sinks, grid), _places(grid))


def _tensor(name: str, given: Any) -> Tensor:
    if isinstance(given, Tensor):
        tensor = given.detach()
    else:
        try:
            array = np.asarray(given)
            if array.dtype.kind not in "fiub":
                raise TypeError
            tensor = torch.from_numpy(np.ascontiguousarray(array))
        except (TypeError, ValueError) as error:
            raise ShapeError(
                f"{name} is {type(given).__name__} that is no rectangle of numbers",
                wanted="A tensor, a NumPy array, or lists of equally many numbers",
            ) from error
    if tensor.is_complex():
        raise DtypeError(f"{name} is {tensor.dtype}", wanted="Real numbers")
    return tensor if tensor.is_floating_point() else tensor.double()


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
    finite = torch.isfinite(grid)
    if not bool(finite.all()):
        bad = torch.nonzero(~finite)
        first = grid[tuple(bad[0])].item()
        raise LessonError(
            f"weights hold {first} at {_where(bad[0])}, and {len(bad):,} such in all",
            wanted="Numbers of 0 or more",
            hint="softmax gives nan for a row in which every score is -inf: "
            "a query that sees no key should have weights 0",
        )
    if grid.numel() and float(grid.min()) < 0:
        bad = torch.nonzero(grid < 0)
        raise LessonError(
            f"weights hold {grid[tuple(bad[0])].item():.4g} at {_where(bad[0])}, and {len(bad):,} negative "
            "numbers in all",
            wanted="Numbers of 0 or more",
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
            wanted=f"q ({b}, {h}, {tq}, d) and k ({b}, {h} or a part of it, {tk}, d)",
        )
    if not bool(torch.isfinite(q).all() and torch.isfinite(k).all()):
        raise LessonError("q or k holds nan or infinity", wanted="Finite numbers")


def _visible(mask: Any, grid: Tensor, offset: int | None) -> Tensor | None:
    if mask is None:
        return None
    b, h, tq, tk = grid.shape
    if not isinstance(mask, Mask):
        given = mask if isinstance(mask, Tensor) else torch.as_tensor(np.asarray(mask))
        if given.dtype != torch.bool:
            raise MaskError(
                f"mask is {given.dtype}",
                wanted="Booleans, True = may attend, or a mask such as ats.causal()",
                hint="Where 1 means may attend: mask.bool(); where -inf hides: mask == 0",
            )
        mask = from_tensor(given)
    nothing = torch.zeros(b, h, 1, 1, device=grid.device)
    bound = Scoring(mask, offset=offset).bind(nothing.expand(b, h, tq, 1), nothing.expand(b, h, tk, 1))
    return bound.visible.tile(slice(0, tq), slice(0, tk)).expand(b, h, tq, tk)


def _sinks(sinks: Any, grid: Tensor) -> Tensor | None:
    if sinks is None:
        return None
    logits, h = _tensor("sinks", sinks).double(), grid.shape[1]
    logits = logits.expand(h) if logits.dim() == 0 else logits
    if logits.shape != (h,):
        raise ScoringError(f"sinks is {tuple(logits.shape)}", wanted=f"One logit for each head, ({h},)")
    if bool(torch.isnan(logits).any() or (logits == torch.inf).any()):
        raise ScoringError("sinks holds nan or +inf", wanted="Numbers; -inf is no sink")
    return logits


def _places(grid: Tensor) -> int | None:
    """The fewest decimal places (2 to 5) that write every weight exactly; None where more are needed."""
    if grid.dtype in _UNIT or grid.numel() > _MOST_TYPED or bool((grid == grid.round()).all()):
        return None
    cells = grid.double()
    for places in range(2, _MOST_PLACES + 1):
        size = 10.0**places
        if bool(((cells * size - (cells * size).round()).abs() < 1e-7 * size).all()):
            return places
    return None
