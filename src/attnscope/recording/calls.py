"""The calls that a joined site is made of, and its rows replayed each in the shapes of its own call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations

import torch
from jaxtyping import Int64
from torch import Tensor
from torch.nn.functional import pad

from attnscope.core.arithmetic import Arithmetic
from attnscope.core.bias import Bias, RelativeBias, values_of, with_values
from attnscope.core.replay import Reach, replay_head
from attnscope.core.scoring import Bound
from attnscope.core.visible import Rule, Visible

ORDERS = tuple(permutations(range(4)))
"""The orders in which four axes may lie in memory."""

COLUMNS = 9
"""Numbers that the table keeps of each call."""

REACHES: tuple[Reach | None, ...] = (None, "head", "call")
EXACT: tuple[bool | None, ...] = (None, False, True)


@dataclass(frozen=True)
class Step:
    """One call. start: the site's row that is its row 0.   rows, columns: how many it had, some of which a
    later call may have replaced.   first: the site's column that is its column 0.   q_order, k_order: how q
    and k lay in memory.   arithmetic, bit_exact, reach: as in a site of one call.
    """

    start: int
    rows: int
    first: int
    columns: int
    q_order: tuple[int, ...]
    k_order: tuple[int, ...]
    arithmetic: Arithmetic | None = None
    bit_exact: bool | None = None
    reach: Reach | None = None


@dataclass(frozen=True, eq=False)
class Calls:
    """The calls of a site in the order of their rows: whole numbers (n 9), in the order of Step's fields."""

    table: Int64[Tensor, "n 9"] = field(repr=False)
    arithmetics: tuple[Arithmetic, ...] = ()

    def __len__(self) -> int:
        return self.table.shape[0]

    def __iter__(self) -> Iterator[Step]:
        return (self.at(index) for index in range(len(self)))

    def at(self, index: int) -> Step:
        """One call."""
        start, rows, first, columns, q, k, how, exact, reach = self.table[index].tolist()
        arithmetic = None if how < 0 else self.arithmetics[how]
        return Step(
            start, rows, first, columns, ORDERS[q], ORDERS[k], arithmetic, EXACT[exact], REACHES[reach]
        )

    def around(self, rows: slice) -> Iterator[tuple[Step, slice]]:
        """The calls that made these rows, and which rows of the site each of them made."""
        starts = self.table[:, 0].contiguous()
        low, high = torch.searchsorted(starts, torch.tensor([rows.start + 1, rows.stop])).tolist()
        for index in range(max(low - 1, 0), high):
            stop = rows.stop if index + 1 == len(self) else int(starts[index + 1])
            own = slice(max(rows.start, int(starts[index])), min(rows.stop, stop))
            if own.start < own.stop:
                yield self.at(index), own

    @property
    def bit_exact(self) -> bool | None:
        """True where all calls were, False where one was not, None where none could be compared."""
        seen = {EXACT[code] for code in set(self.table[:, 7].tolist())}
        return False if False in seen else True if seen == {True} else None

    @property
    def reach(self) -> Reach | None:
        """What a replay computes together, at most; None where weights come from the normaliser."""
        return REACHES[int(self.table[:, 8].max())] if len(self) else None


def calls_of(steps: Sequence[Step]) -> Calls:
    """The table of these calls."""
    arithmetics = tuple(dict.fromkeys(step.arithmetic for step in steps if step.arithmetic is not None))
    rows = [
        (
            step.start, step.rows, step.first, step.columns, ORDERS.index(step.q_order),
            ORDERS.index(step.k_order),
            -1 if step.arithmetic is None else arithmetics.index(step.arithmetic),
            EXACT.index(step.bit_exact), REACHES.index(step.reach),
        )
        for step in steps
    ]  # fmt: skip
    return Calls(torch.tensor(rows, dtype=torch.int64).view(-1, COLUMNS), arithmetics)


def order_of(tensor: Tensor) -> tuple[int, ...]:
    """The order of axes in which the tensor lies in memory: a replay needs it to get the same bits."""
    strides = tensor.stride()
    if any(size > 1 and stride == 0 for size, stride in zip(tensor.shape, strides, strict=True)):
        return tuple(range(tensor.dim()))
    return tuple(sorted(range(tensor.dim()), key=lambda axis: -strides[axis]))


def replayed(bound: Bound, calls: Calls, rows: slice, cols: slice, *, head: int, batch: int) -> Tensor:
    """The weights of one head, (r c), each row as its own call computed it; 0 where nothing is visible."""
    block = torch.zeros(
        rows.stop - rows.start, cols.stop - cols.start, dtype=bound.dtype, device=bound.q.device
    )
    for step, own in calls.around(rows):
        local = slice(own.start - step.start, own.stop - step.start)
        grid = replay_head(bound_of(bound, step), local, head, batch=batch, reach=step.reach or "head")
        first, stop = max(cols.start, step.first), min(cols.stop, step.first + step.columns)
        if first < stop:
            there = slice(own.start - rows.start, own.stop - rows.start)
            block[there, first - cols.start : stop - cols.start] = grid[
                :, first - step.first : stop - step.first
            ]
    return block


def bound_of(bound: Bound, step: Step) -> Bound:
    """One call by itself, in its own sizes and memory order.

    Rows and keys that a later call replaced are 0, and so are keys that nobody saw: they keep the shapes.
    """
    rows, cols = slice(step.start, step.start + step.rows), slice(step.first, step.first + step.columns)
    q = _lying(bound.q[:, :, rows], step.rows, step.q_order)
    k = _lying(bound.k[:, :, cols], step.columns, step.k_order)
    offset = step.start + bound.offset - step.first
    bias = None if bound.scoring.bias is None else _bias_of(bound.scoring.bias, step)
    scoring = replace(bound.scoring, mask=None, arithmetic=step.arithmetic, bias=bias, offset=offset)
    shape = bound.shape._replace(tq=step.rows, tk=step.columns)
    return Bound(scoring, q, k, shape, bound.scale, offset, _visible_of(bound.visible, step, rows, cols))


def _lying(x: Tensor, size: int, order: tuple[int, ...]) -> Tensor:
    """x (b h t d) with `size` rows, lying in memory in this order of axes."""
    x = pad(x, (0, 0, 0, size - x.shape[2])) if x.shape[2] < size else x
    inverse = [order.index(axis) for axis in range(4)]
    return x.permute(order).contiguous().permute(inverse)


def _visible_of(visible: Visible, step: Step, rows: slice, cols: slice) -> Visible:
    spare = (0, 0, 0, step.rows - visible.lo[:, :, rows].shape[2])
    lo, hi = (
        pad((edge[:, :, rows] - step.first).clamp(0, step.columns), spare)
        for edge in (visible.lo, visible.hi)
    )
    valid = visible.valid
    if valid is not None:
        valid = valid[:, cols]
        valid = pad(valid, (0, step.columns - valid.shape[1]))
    moved = None if visible.rule is None else _moved(visible.rule, visible, step)
    return Visible(lo, hi, b=visible.b, h=visible.h, tk=step.columns, valid=valid, rule=moved)


def _moved(rule: Rule, visible: Visible, step: Step) -> Rule:
    def inside(b: Tensor, h: Tensor, row: Tensor, key: Tensor) -> Tensor:
        last = (visible.tq - 1, visible.tk - 1)
        return rule(b, h, (row + step.start).clamp(max=last[0]), (key + step.first).clamp(max=last[1]))

    return inside


def _bias_of(bias: Bias, step: Step) -> Bias:
    """The bias in the columns of one call."""
    if isinstance(bias, RelativeBias):
        return bias
    values = values_of(bias)
    if values.shape[-1] > 1:
        cut = values[..., step.first : step.first + step.columns]
        values = pad(cut, (0, step.columns - cut.shape[-1]))
    if values.dim() == 4 and values.shape[2] > 1:
        cut = values[:, :, step.start : step.start + step.rows]
        values = pad(cut, (0, 0, 0, step.rows - cut.shape[2]))
    return with_values(bias, values)
