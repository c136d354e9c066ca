"""What each row may see in one call: spans of keys, a set of valid keys, and where needed a rule.

All three hold together. Rows and columns are indices of the call (row 0 is its first query): the mask has
taken care of positions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, reduce

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attnscope.core.spans import Spans, from_bool, runs, spread
from attnscope.shapes import Edges

Rule = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
"""(batch (b 1 1 1), head (1 h 1 1), row (1 1 r 1), key (1 1 1 c)) -> bool that broadcasts to (b h r c)."""

MAX_SPANS = 64  # past this many spans a row is described by a rule: spans must stay O(T)
COUNT_CELLS = 2**22  # cells looked at together when a rule has to be counted


@dataclass(frozen=True, eq=False)
class Visible:
    """lo, hi (b|1, h|1, tq, s); valid (b, tk) or None; rule or None; b, h, tk: the sizes of the call."""

    lo: Edges
    hi: Edges
    b: int
    h: int
    tk: int
    valid: Bool[Tensor, "b tk"] | None = None
    rule: Rule | None = None

    @property
    def spans(self) -> Spans:
        """The spans alone; bounds only, where there are valid keys or a rule."""
        return Spans(self.lo, self.hi, self.tk)

    @property
    def tq(self) -> int:
        """The number of rows."""
        return self.lo.shape[2]

    def tile(
        self, rows: slice, cols: slice, *, heads: slice | None = None, batch: slice | None = None
    ) -> Bool[Tensor, "bx hx r c"]:
        """True where row i sees key j: (b|1, h|1, r, c) bool."""
        device = self.lo.device
        sizes = ((batch, self.b), (heads, self.h), (rows, self.tq), (cols, self.tk))
        spans = [torch.arange(*(cut or slice(None)).indices(size), device=device) for cut, size in sizes]
        index = [x.view([-1 if axis == own else 1 for axis in range(4)]) for own, x in enumerate(spans)]
        return _holds(self, *index)

    def of_head(self, head: int, batch: int) -> Visible:
        """What one head of one batch entry sees, of a call of that head alone (b = h = 1): views."""
        lo, hi = (_one(_one(edge, 0, batch), 1, head) for edge in (self.lo, self.hi))
        valid = None if self.valid is None else self.valid[batch : batch + 1]
        rule = None if self.rule is None else _moved(self.rule, head, batch)
        return replace(self, lo=lo, hi=hi, b=1, h=1, valid=valid, rule=rule)

    def between(self, rows: Tensor, cols: Tensor) -> Bool[Tensor, "bx hx g r c"]:
        """True where row i sees key j, for rows (g r) and keys (g c), group by group."""
        if self.rule is not None:
            return torch.stack([self._outer(*pair) for pair in zip(rows, cols, strict=True)], dim=2)
        lo, hi = (edge[:, :, rows] for edge in (self.lo, self.hi))  # (b|1 h|1 g r s)
        key = cols[:, None, :, None]
        inside = ((key >= lo[..., None, :]) & (key < hi[..., None, :])).any(dim=-1)
        if self.valid is not None:
            inside = inside & self.valid[:, cols][:, None, :, None, :]
        return inside

    def _outer(self, rows: Tensor, cols: Tensor) -> Tensor:
        b, h = torch.arange(self.b), torch.arange(self.h)
        index = [x.to(self.lo.device) for x in (b, h, rows, cols)]
        index = [x.view([-1 if axis == own else 1 for axis in range(4)]) for own, x in enumerate(index)]
        seen = _holds(self, *index)
        return seen.expand(*seen.shape[:2], len(rows), len(cols))

    def look(
        self, rows: slice, cols: slice, *, heads: slice | None = None, batch: slice | None = None
    ) -> tuple[Bool[Tensor, "bx hx r c"], bool]:
        """The tile, and whether all of it is visible; such a tile takes no memory."""
        if not self._sees_all(rows, cols, batch):
            return self.tile(rows, cols, heads=heads, batch=batch), False
        size = (len(range(*rows.indices(self.tq))), len(range(*cols.indices(self.tk))))
        return torch.ones((), dtype=torch.bool, device=self.lo.device).expand(1, 1, *size), True

    def _sees_all(self, rows: slice, cols: slice, batch: slice | None) -> bool:
        """Whether one span of every row of every head, valid keys throughout, holds these columns."""
        if self.rule is not None:
            return False
        first, last, _ = cols.indices(self.tk)
        held = (self.lo[:, :, rows] <= first) & (self.hi[:, :, rows] >= last)
        if not bool(held.any(dim=-1).all()):
            return False
        return self.valid is None or bool(self.valid[batch or slice(None), cols].all())

    def count(self) -> Int[Tensor, "bx hx tq"]:
        """How many keys each row sees: (b|1, h|1, tq) int64."""
        if self.rule is not None:
            step = max(1, COUNT_CELLS // max(1, self.b * self.h * self.tk))
            starts = range(0, max(self.tq, 1), step)
            parts = [self.tile(slice(i, i + step), slice(0, self.tk)).sum(dim=-1) for i in starts]
            lead: list[int] = reduce(spread, [list(part.shape[:2]) for part in parts])
            return torch.cat([part.expand(*lead, -1) for part in parts], dim=-1)
        if self.valid is None:
            return (self.hi - self.lo).sum(dim=-1)
        before = torch.zeros(self.b, self.tk + 1, dtype=torch.int64, device=self.lo.device)
        before[:, 1:] = self.valid.cumsum(dim=-1)
        lo, hi = self.lo.expand(self.b, -1, -1, -1), self.hi.expand(self.b, -1, -1, -1)
        below, above = (before.gather(1, edge.flatten(1)).view(edge.shape) for edge in (lo, hi))
        return (above - below).sum(dim=-1)

    def ranges(self, rows: slice, *, gap: int = 0) -> list[tuple[int, int]]:
        """The columns worth visiting for these rows: disjoint (lo, hi) in order, holes up to `gap` closed."""
        return runs(self.lo[:, :, rows], self.hi[:, :, rows], gap)

    def bounds(self, rows: slice) -> tuple[int, int]:
        """The first and one past the last column worth visiting for these rows; (0, 0) for none."""
        lo, hi = self.lo[:, :, rows], self.hi[:, :, rows]
        some = hi > lo
        if not bool(some.any()):
            return 0, 0
        return int(lo.where(some, self.tk).amin()), int(hi.where(some, 0).amax())

    @cached_property
    def full(self) -> bool:
        """Whether every row sees every key; looked at once."""
        return self.is_full()

    @cached_property
    def causal(self) -> bool:
        """Whether row i sees exactly the keys 0 .. i; looked at once."""
        return self.is_causal(0)

    def is_full(self) -> bool:
        """Whether every row sees every key."""
        if self.rule is not None or (self.valid is not None and not bool(self.valid.all())):
            return False
        return self.spans_are_full()

    def spans_are_full(self) -> bool:
        """Whether the spans, valid keys and rule aside, hold every key in every row."""
        return bool((self.lo[..., 0] == 0).all() and (self.hi[..., 0] == self.tk).all())

    def is_causal(self, offset: int) -> bool:
        """Whether row i sees exactly the keys 0 .. i + offset."""
        if (
            self.rule is not None
            or self.lo.shape[-1] != 1
            or (self.valid is not None and not bool(self.valid.all()))
        ):
            return False
        last = (torch.arange(self.tq, device=self.lo.device) + offset + 1).clamp(0, self.tk)
        some = last > 0
        hi_fits = self.hi[..., 0] == torch.where(some, last, self.tk)
        lo_fits = self.lo[..., 0] == torch.where(some, 0, self.tk)
        return bool((hi_fits & lo_fits).all())

    def __and__(self, other: Visible) -> Visible:
        spans = self.spans & other.spans
        valid = (
            self.valid
            if other.valid is None
            else other.valid
            if self.valid is None
            else self.valid & other.valid
        )
        rule = (
            self.rule
            if other.rule is None
            else other.rule
            if self.rule is None
            else _both(self.rule, other.rule)
        )
        return replace(self, lo=spans.lo, hi=spans.hi, valid=valid, rule=rule)

    def __or__(self, other: Visible) -> Visible:
        one, two = self.as_spans(), other.as_spans()
        if one is not None and two is not None:
            spans = one | two
            if spans.lo.shape[-1] <= MAX_SPANS:
                return replace(self, lo=spans.lo, hi=spans.hi, valid=None, rule=None)
        outer = self.spans | other.spans
        if outer.lo.shape[-1] > MAX_SPANS:
            outer = Spans(outer.lo.amin(dim=-1, keepdim=True), outer.hi.amax(dim=-1, keepdim=True), self.tk)
        return replace(self, lo=outer.lo, hi=outer.hi, valid=None, rule=_either(self, other))

    def as_spans(self) -> Spans | None:
        """The same set as spans alone, or None where it needs a rule or more than MAX_SPANS spans a row."""
        if self.rule is not None:
            return None
        if self.valid is None:
            return self.spans
        keys = from_bool(self.valid[:, None, None, :], MAX_SPANS)
        return None if keys is None else self.spans & keys


def _one(x: Tensor, dim: int, at: int) -> Tensor:
    """One place of an axis; of an axis that broadcasts, the only one."""
    return x if x.shape[dim] == 1 else x.narrow(dim, at, 1)


def _moved(rule: Rule, head: int, batch: int) -> Rule:
    return lambda b, h, i, j: rule(b + batch, h + head, i, j)


def _both(one: Rule, two: Rule) -> Rule:
    return lambda b, h, i, j: one(b, h, i, j) & two(b, h, i, j)


def _either(one: Visible, two: Visible) -> Rule:
    return lambda b, h, i, j: _holds(one, b, h, i, j) | _holds(two, b, h, i, j)


def _within(key: Tensor, lo: Tensor, hi: Tensor) -> Tensor:
    """Whether each key (c) lies in one of the spans (b h r s) of each row: (b h r c)."""
    key, lo, hi = key.int(), lo.int(), hi.int()  # half the memory traffic of int64
    inside = key >= lo[..., 0, None]
    inside &= key < hi[..., 0, None]
    for s in range(1, lo.shape[-1]):
        inside |= (key >= lo[..., s, None]) & (key < hi[..., s, None])
    return inside


def _holds(seen: Visible, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    """The whole of `seen` at index tensors as a rule gets them."""
    rows, edge_b = i.flatten(), b.flatten() if seen.lo.shape[0] != 1 else b.new_zeros(1)
    edge_h = h.flatten() if seen.lo.shape[1] != 1 else h.new_zeros(1)
    # rows first: copying the spans of every row for each tile would cost T x T after all
    lo, hi = (edge[:, :, rows][edge_b][:, edge_h] for edge in (seen.lo, seen.hi))  # (b|1 h|1 r s)
    inside = _within(j.flatten(), lo, hi)
    if seen.valid is not None:
        inside = inside & seen.valid[:, j.flatten()][b.flatten()][:, None, None, :]
    return inside if seen.rule is None else inside & seen.rule(b, h, i, j)
