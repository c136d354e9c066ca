"""What happens between q.k and softmax, as one frozen description, and the same bound to a call's q and k.

score(i, j) = softcap(scale * q_i.k_j) + bias(h, i, j) where j is visible from i, else -inf
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import torch
from torch import Tensor

from attnscope.core.arithmetic import EXACT, FLOATS, Arithmetic, compute_dtype, rounded
from attnscope.core.bias import Bias, of_head
from attnscope.core.mask import Mask
from attnscope.core.masks import full
from attnscope.core.mix import dot
from attnscope.core.scores import Tile, biased
from attnscope.core.visible import Visible
from attnscope.errors import DtypeError, MaskError, ScoringError, ShapeError
from attnscope.shapes import Key, Query

_FARTHEST = 2**62  # of an offset: positions after it are still int64


@dataclass(frozen=True, eq=False)
class Scoring:
    """mask: None is full().   scale: None is 1 / sqrt(d).   bias: added after the cap, unless
    bias_inside_cap.

    softcap: c in c * tanh(s / c).   sinks: (h,) logits of learned sinks: in the softmax, but mixing nothing.
    offset: the position of row 0 among the keys.   arithmetic: the model's own roundings.
    """

    mask: Mask | None = None
    scale: float | None = None
    bias: Bias | None = None
    softcap: float | None = None
    sinks: Tensor | None = field(default=None, repr=False)
    offset: int | None = None
    arithmetic: Arithmetic | None = None
    bias_inside_cap: bool = False

    def bind(self, q: Query, k: Key) -> Bound:
        """The scoring with its q (b h tq d) and k (b hk tk d), everything checked once.

        Raises ShapeError, DtypeError, MaskError or ScoringError.
        """
        check_tensors(q=q, k=k)
        shape = _sizes(q, k)
        self._check_numbers(shape, q.device)
        offset = self._offset(shape)
        visible = (self.mask or full()).bind(shape.b, shape.h, shape.tq, shape.tk, offset, q.device)
        bias = self.bias
        if bias is not None:
            bias.check(visible, offset)
            hidden = bias.hidden()
            if hidden is not None:
                visible = visible & hidden.bind(shape.b, shape.h, shape.tq, shape.tk, offset, q.device)
        scale = self.scale if self.scale is not None else 1.0 / math.sqrt(shape.d) if shape.d else 1.0
        return Bound(self, q, k, shape, float(scale), offset, visible)

    def _offset(self, shape: Sizes) -> int:
        if self.offset is not None:
            return self.offset
        mask, bias = self.mask, self.bias
        spoken = mask if mask is not None and mask.speaks_of_positions else None
        if shape.tq != shape.tk and (spoken or (bias is not None and bias.speaks_of_positions)):
            what = repr(spoken) if spoken is not None else "A relative bias"
            raise MaskError(
                f"{what} speaks of positions, and there are {shape.tq} queries and {shape.tk} keys",
                wanted="The offset: the position of row 0 among the keys",
                hint=f"offset={shape.tk - shape.tq} where the queries come last (a cache, bottom-right); "
                "offset=0 where row 0 stands at key 0 (top-left, as in F.scaled_dot_product_attention)",
            )
        return 0

    def _check_numbers(self, shape: Sizes, device: torch.device) -> None:
        at = 0 if self.offset is None else self.offset
        if not isinstance(at, int) or isinstance(at, bool) or abs(at) > _FARTHEST:
            raise ScoringError(
                f"offset={at!r:.40}", wanted="A whole number: the position of row 0 among the keys"
            )
        if self.scale is not None and not math.isfinite(self.scale):
            raise ScoringError(f"scale={self.scale}", wanted="A finite number, or None for 1 / sqrt(d)")
        if self.softcap is not None and not (math.isfinite(self.softcap) and self.softcap > 0):
            raise ScoringError(f"softcap={self.softcap}", wanted="A number above 0, or None for no cap")
        if self.sinks is not None:
            if self.sinks.shape != (shape.h,) or not self.sinks.is_floating_point():
                raise ScoringError(
                    f"sinks is {tuple(self.sinks.shape)} of {self.sinks.dtype}",
                    wanted=f"One logit for each query head, ({shape.h},)",
                )
            if bool((self.sinks == torch.inf).any()):
                raise ScoringError("sinks holds +inf", wanted="Numbers; -inf is no sink")


class Sizes(NamedTuple):
    """The sizes of a call."""

    b: int
    h: int
    hk: int
    tq: int
    tk: int
    d: int


@dataclass(frozen=True, eq=False)
class Bound:
    """A scoring with its q and k: any block of its scores can be asked for."""

    scoring: Scoring
    q: Query
    k: Key
    shape: Sizes
    scale: float
    offset: int
    visible: Visible

    @property
    def dtype(self) -> torch.dtype:
        """The dtype computed in: float32, or float64 for float64."""
        return compute_dtype(self.q.dtype)

    @property
    def arithmetic(self) -> Arithmetic:
        """The roundings; nothing rounded where the scoring has none."""
        return self.scoring.arithmetic or EXACT

    def sinks(self, heads: slice | None = None) -> Tensor | None:
        """The sinks' logits as (1 h 1) in the compute dtype, or None."""
        sinks = self.scoring.sinks
        if sinks is None:
            return None
        sinks = rounded(sinks.to(self.q.device, self.dtype), self.arithmetic.scores)
        return sinks[heads or slice(None)].view(1, -1, 1)

    def tile(
        self, rows: slice, cols: slice, *, heads: slice | None = None, batch: slice | None = None
    ) -> Tile:
        """The block rows x cols, in the compute dtype; heads (query heads) and batch None are all of them.

        O(r c) memory for each head and batch; slices have step 1.
        """
        rows, cols = _span(rows, self.shape.tq), _span(cols, self.shape.tk)
        heads, batch = _span(heads, self.shape.h), _span(batch, self.shape.b)
        q, k = self.q[batch, heads, rows], self.heads_of(self.k, heads)[batch, :, cols]
        return self.score(q, k, rows, cols, heads=heads, batch=batch)

    def score(self, q: Tensor, k: Tensor, rows: slice, cols: slice, *, heads: slice, batch: slice) -> Tile:
        """The block rows x cols from its own q (b h r d) and k (b hk c d)."""
        visible, whole = self.visible.look(rows, cols, heads=heads, batch=batch)
        added, bias = None, self.scoring.bias
        if bias is not None:
            added = bias.block(rows, cols, heads=heads, batch=batch, offset=self.offset).to(q.device)
        scores = self.unmasked(q, k, added)
        if not whole:
            scores = scores.masked_fill_(~visible, -torch.inf)
        return Tile(rows, cols, scores, visible, whole, lambda: self._before(q, k))

    def unmasked(self, q: Tensor, k: Tensor, added: Tensor | None) -> Tensor:
        """The scores of q (b h r d) and k (b hk c d) with the bias `added`, not yet masked: (b h r c)."""
        scores = biased(
            self._scaled(q, k), added, self.scoring.softcap, inside=self.scoring.bias_inside_cap
        ).to(self.dtype)
        return rounded(scores, self.arithmetic.scores) if self.arithmetic.fused_bias else scores

    def heads_of(self, x: Tensor, heads: slice) -> Tensor:
        """The key heads (b hk t n) that a span of query heads uses, so that grouping still holds."""
        group = self.shape.h // max(self.shape.hk, 1)
        if group <= 1:
            return x[:, heads]
        if heads.start % group == 0 and heads.stop % group == 0:
            return x[:, heads.start // group : heads.stop // group]
        return x[:, torch.arange(heads.start, heads.stop, device=x.device) // group]

    def _scaled(self, q: Tensor, k: Tensor) -> Tensor:
        """q.k times the scale, in the scores' dtype: (b h r c), nobody else's memory."""
        how = self.arithmetic
        wide, narrow = how.products or self.dtype, how.scores or self.dtype
        if how.fused_bias:
            scaled_q = rounded(q * self.scale, how.products) if how.scale_q else q
            scaled = dot(scaled_q.to(self.dtype), k.to(self.dtype))
            return scaled if how.scale_q else scaled.mul_(self.scale)
        if how.scale_q:
            return dot((q.to(wide) * self.scale), k.to(wide)).to(narrow)
        return dot(q.to(wide), k.to(wide)).to(narrow).mul_(self.scale)

    def _before(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        wide = self.arithmetic.products or self.dtype
        return dot(q.to(wide), k.to(wide)).to(self.dtype), self._scaled(q, k).to(self.dtype)

    def of_head(self, head: int, batch: int) -> Bound:
        """The same call of one query head and one batch entry alone (b = h = hk = 1), `scoring.mask` aside,
        which `visible` speaks for: views, nothing is copied.
        """
        own = self.scoring
        key_head = head // (self.shape.h // self.shape.hk)
        scoring = replace(
            own,
            bias=None if own.bias is None else of_head(own.bias, head, batch),
            sinks=None if own.sinks is None else own.sinks[head : head + 1],
        )
        return replace(
            self,
            scoring=scoring,
            q=self.q[batch : batch + 1, head : head + 1],
            k=self.k[batch : batch + 1, key_head : key_head + 1],
            shape=self.shape._replace(b=1, h=1, hk=1),
            visible=self.visible.of_head(head, batch),
        )

    def with_visible(self, visible: Visible) -> Bound:
        """The same call, seen through another set of keys."""
        return replace(self, visible=visible)


def as_scoring(x: Scoring | Mask | None) -> Scoring:
    """A Scoring from a Scoring, a Mask or None."""
    if x is None or isinstance(x, Scoring):
        return x or Scoring()
    if isinstance(x, Mask):
        return Scoring(mask=x)
    raise ScoringError(
        f"The scoring is {type(x).__name__}",
        wanted="A Scoring, a mask, or None",
        hint="A tensor of booleans becomes a mask through from_tensor(t); True = may attend",
    )


def check_tensors(**tensors: Tensor) -> None:
    """Raises DtypeError or ShapeError unless all are of one floating dtype, on one device, with four axes."""
    dtypes = {name: x.dtype for name, x in tensors.items()}
    if len(set(dtypes.values())) > 1 or any(dtype not in FLOATS for dtype in dtypes.values()):
        raise DtypeError(
            ", ".join(f"{name} is {dtype}" for name, dtype in dtypes.items()),
            wanted="One floating dtype for all: float16, bfloat16, float32 or float64",
            hint="Cast with .to(dtype)",
        )
    devices = {name: str(x.device) for name, x in tensors.items()}
    if len(set(devices.values())) > 1:
        raise ShapeError(
            ", ".join(f"{name} is on {device}" for name, device in devices.items()),
            wanted="One device for all",
        )
    for name, x in tensors.items():
        if x.dim() != 4:
            raise ShapeError(
                f"{name} has shape {tuple(x.shape)}", wanted="Four axes: (batch, heads, positions, width)"
            )


def check_values(bound: Bound, v: Tensor) -> None:
    """Raises ShapeError or DtypeError unless v (b hk tk dv) belongs to the keys of the call."""
    check_tensors(q=bound.q, k=bound.k, v=v)
    if v.shape[:3] != bound.k.shape[:3]:
        raise ShapeError(
            f"v is {tuple(v.shape)} and k is {tuple(bound.k.shape)}",
            wanted="v with the batch, heads and keys of k",
        )


def _sizes(q: Tensor, k: Tensor) -> Sizes:
    (b, h, tq, d), (bk, hk, tk, dk) = q.shape, k.shape
    came = f"q is {tuple(q.shape)} and k is {tuple(k.shape)}"
    if b != bk or d != dk:
        raise ShapeError(came, wanted="The same batch and head width (first and last axis)")
    if (h == 0) != (hk == 0) or (hk and h % hk):
        raise ShapeError(
            came,
            wanted=f"Query heads ({h}) a multiple of key heads ({hk})",
            hint="The axes are (batch, heads, positions, width)",
        )
    return Sizes(b, h, hk, tq, tk, d)


def _span(cut: slice | None, size: int) -> slice:
    start, stop, _ = (cut or slice(None)).indices(size)
    return slice(start, max(start, stop))
