"""Masks that are handed in: padding, spans, a rule, a tensor of booleans."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from attnscope.core.mask import Mask, from_edges
from attnscope.core.spans import Spans, from_bool
from attnscope.core.visible import MAX_SPANS, Rule, Visible
from attnscope.errors import MaskError


@dataclass(frozen=True, eq=False)
class Padding(Mask):
    """The valid keys of each batch, and the valid rows where they are given."""

    keys: Tensor = field(repr=False)  # (b|1 tk)
    queries: Tensor | None = field(default=None, repr=False)  # (b|1 tq)

    def bind(
        self, b: int, h: int, tq: int, tk: int, offset: int, device: torch.device | str = "cpu"
    ) -> Visible:
        _fits(self.keys, "keys", b, tk)
        valid = self.keys.to(device).expand(b, -1)
        hi = torch.full((1, 1, tq, 1), tk, dtype=torch.int64, device=device)
        if self.queries is not None:
            _fits(self.queries, "queries", b, tq)
            hi = hi * self.queries.to(device)[:, None, :, None]
        seen = from_edges(torch.zeros_like(hi), hi, b=b, h=h, tk=tk, device=device)
        return Visible(seen.lo, seen.hi, b=b, h=h, tk=tk, valid=valid)


@dataclass(frozen=True, eq=False)
class Given(Mask):
    """Spans given outright."""

    lo: Tensor = field(repr=False)
    hi: Tensor = field(repr=False)

    def bind(
        self, b: int, h: int, tq: int, tk: int, offset: int, device: torch.device | str = "cpu"
    ) -> Visible:
        shape = self.lo.shape
        if shape[0] not in (1, b) or shape[1] not in (1, h) or shape[2] not in (1, tq):
            raise MaskError(
                f"spans are {tuple(shape)}", wanted=f"({b} or 1, {h} or 1, {tq}, s), or ({tq}, s)"
            )
        return from_edges(
            self.lo.expand(-1, -1, tq, -1), self.hi.expand(-1, -1, tq, -1), b=b, h=h, tk=tk, device=device
        )


@dataclass(frozen=True)
class Ruled(Mask):
    """A rule about positions, beside no narrower bounds than all keys."""

    fn: Rule

    @property
    def speaks_of_positions(self) -> bool:
        return True

    def bind(
        self, b: int, h: int, tq: int, tk: int, offset: int, device: torch.device | str = "cpu"
    ) -> Visible:
        lo = torch.zeros(1, 1, tq, 1, dtype=torch.int64, device=device)
        fn = self.fn

        def by_row(where: Tensor, head: Tensor, row: Tensor, key: Tensor) -> Tensor:
            return fn(where, head, row + offset, key)

        return Visible(lo, torch.full_like(lo, tk), b=b, h=h, tk=tk, rule=by_row)


@dataclass(frozen=True, eq=False)
class FromTensor(Mask):
    """A tensor of booleans, broadcast from the right to (b, h, tq, tk)."""

    seen: Tensor = field(repr=False)

    def bind(
        self, b: int, h: int, tq: int, tk: int, offset: int, device: torch.device | str = "cpu"
    ) -> Visible:
        seen = _four(self.seen, b, h, tq, tk).to(device)
        full = torch.zeros(1, 1, tq, 1, dtype=torch.int64, device=device)
        if seen.shape[-1] == 1:
            seen = seen.expand(-1, -1, -1, tk)
        spans = from_bool(seen, MAX_SPANS) if tk else Spans(full, full, tk)
        if spans is not None:
            rows = (spans.lo.shape[0], spans.lo.shape[1], tq, spans.lo.shape[3])
            return Visible(spans.lo.expand(rows), spans.hi.expand(rows), b=b, h=h, tk=tk)
        if seen.shape[1] == seen.shape[2] == 1:  # many runs, the same for every row: a set of valid keys
            valid = seen[:, 0, 0].expand(b, -1)
            return Visible(full, torch.full_like(full, tk), b=b, h=h, tk=tk, valid=valid)
        return Visible(full, torch.full_like(full, tk), b=b, h=h, tk=tk, rule=_looked_up(seen))


def padding(keys: Tensor, queries: Tensor | None = None) -> Mask:
    """Which keys are real, (b, tk) or (tk,), True or 1 = real; `queries` (b, tq) leaves rows out as well.

    Raises MaskError for a float tensor: a mask of floats is added to scores, and is a bias.
    """
    return Padding(_flags(keys, "keys"), None if queries is None else _flags(queries, "queries"))


def spans(lo: Tensor, hi: Tensor) -> Mask:
    """Spans lo <= j < hi of each row, as indices: (tq,), (tq, s) or (b|1, h|1, tq, s), in any order.

    Raises MaskError for other shapes, or numbers that are not whole.
    """
    lo, hi = torch.as_tensor(lo), torch.as_tensor(hi)
    if (
        lo.shape != hi.shape
        or lo.dim() not in (1, 2, 4)
        or any(edge.is_floating_point() for edge in (lo, hi))
    ):
        raise MaskError(
            f"spans(lo, hi) got {tuple(lo.shape)} of {lo.dtype} and {tuple(hi.shape)} of {hi.dtype}",
            wanted="Two tensors of whole numbers of the same shape: (tq,), (tq, s) or (b, h, tq, s)",
        )
    if lo.shape[-1] == 0:
        lo, hi = lo.new_zeros(*lo.shape[:-1], 1), hi.new_zeros(*hi.shape[:-1], 1)
    if lo.dim() == 1:
        lo, hi = lo[:, None], hi[:, None]
    return Given(lo, hi) if lo.dim() == 4 else Given(lo[None, None], hi[None, None])


def rule(fn: Rule) -> Mask:
    """A mask as a function fn(batch, head, position, key) of index tensors that broadcast, giving booleans.

    The position of a row is its index + offset. Every tile is asked for, so nothing is skipped: & it with a
    mask made of spans where there is one.
    """
    if not callable(fn):
        raise MaskError(
            f"rule() got {type(fn).__name__}", wanted="A function of (batch, head, position, key)"
        )
    return Ruled(fn)


def from_tensor(t: Tensor) -> Mask:
    """The mask in a tensor of booleans, True = may attend, broadcast from the right to (b, h, tq, tk).

    >>> from_tensor(torch.tensor([True, False, True])).bind(1, 1, 2, 3, 0).count()
    tensor([[[2, 2]]])

    Raises MaskError for other dtypes: a float tensor is added to scores, so it is a TensorBias.
    """
    if not isinstance(t, Tensor) or t.dtype != torch.bool:
        came = f"a tensor of {t.dtype}" if isinstance(t, Tensor) else type(t).__name__
        raise MaskError(
            f"from_tensor() got {came}",
            wanted="Booleans, True = may attend",
            hint="A float mask is added to the scores: Scoring(bias=TensorBias(t)), or from_tensor(t >= 0)",
        )
    if t.dim() > 4:
        raise MaskError(f"from_tensor() got {tuple(t.shape)}", wanted="At most four axes, (b, h, tq, tk)")
    return FromTensor(t)


def _four(seen: Tensor, b: int, h: int, tq: int, tk: int) -> Tensor:
    four = seen.reshape((1,) * (4 - seen.dim()) + tuple(seen.shape))
    if any(have not in (1, want) for have, want in zip(four.shape, (b, h, tq, tk), strict=True)):
        raise MaskError(
            f"The mask is {tuple(seen.shape)}, and the call is (b, h, tq, tk) = ({b}, {h}, {tq}, {tk})",
            wanted="Axes that are 1 or fit, counted from the right",
            hint="A mask of keys (b, tk) is padding(keys); one grid for each batch is t[:, None]",
        )
    # an expanded axis says the same thing over and over: read it once
    once = [
        slice(0, 1) if n > 1 and step == 0 else slice(None)
        for n, step in zip(four.shape, four.stride(), strict=True)
    ]
    return four[tuple(once)]


def _flags(flags: Tensor, name: str) -> Tensor:
    flags = torch.as_tensor(flags)
    whole = not flags.is_floating_point() and not flags.is_complex()
    if flags.dim() in (1, 2) and whole and bool(((flags == 0) | (flags == 1)).all()):
        return (flags if flags.dim() == 2 else flags[None]).bool()
    raise MaskError(
        f"padding({name}) got {tuple(flags.shape)} of {flags.dtype}",
        wanted="Booleans or 0 and 1, (b, t) or (t,), True = a real token",
        hint="A float mask is added to the scores: use Scoring(bias=KeyBias(t))",
    )


def _fits(flags: Tensor, name: str, b: int, t: int) -> None:
    if flags.shape[0] not in (1, b) or flags.shape[1] != t:
        raise MaskError(
            f"padding({name}) is {tuple(flags.shape)}", wanted=f"({b}, {t}), as many as in this call"
        )


def _looked_up(seen: Tensor) -> Rule:
    def look(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        b, h, i = (
            index if size != 1 else torch.zeros_like(index).flatten()[:1].view(1, 1, 1, 1)
            for index, size in zip((b, h, i), seen.shape[:3], strict=True)
        )
        return seen[b, h, i, j]

    return look
