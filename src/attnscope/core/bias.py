"""What is added to scores: by distance, by key, or as a whole tensor. Each gives any block of itself.

An entry of -inf hides its cell, as a mask would: `hidden` says which, and `block` has 0 there.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from attnscope.core.given import from_tensor, rule
from attnscope.core.mask import Mask
from attnscope.core.visible import Visible
from attnscope.errors import ScoringError


@dataclass(frozen=True, eq=False)
class RelativeBias:
    """table (h|1, n): the bias at distance d = j - position of the row is table[:, d - first] (T5, ALiBi)."""

    table: Tensor = field(repr=False)
    first: int

    speaks_of_positions = True

    def check(self, visible: Visible, offset: int) -> None:
        """Raises ScoringError unless the table fits the heads and holds every visible distance."""
        _check_values(self.table, "RelativeBias(table)", 2)
        if self.table.shape[0] not in (1, visible.h):
            raise _misfit("RelativeBias(table)", self.table, f"({visible.h}, n)")
        position = torch.arange(visible.tq, device=visible.lo.device)[:, None] + offset
        some = visible.hi > visible.lo
        if not bool(some.any()):
            return
        nearest = int((visible.lo - position)[some].min())
        farthest = int((visible.hi - 1 - position)[some].max())
        last = self.first + self.table.shape[1] - 1
        if nearest < self.first or farthest > last:
            raise ScoringError(
                f"RelativeBias holds the distances {self.first} to {last}",
                wanted=f"Every visible distance, {nearest} to {farthest}",
                hint="Distances are j - position; give a longer table, or clamp the far ends into it",
            )

    def hidden(self) -> Mask | None:
        """The mask that the table's -inf entries make, or None."""
        seen = self.table != -torch.inf
        if bool(seen.all()):
            return None
        first, last = self.first, self.table.shape[1] - 1

        def by_distance(b: Tensor, h: Tensor, position: Tensor, key: Tensor) -> Tensor:
            head = h if len(seen) > 1 else torch.zeros_like(h)[:, :1]
            return seen.to(key.device)[head, (key - position - first).clamp(0, last)]

        return rule(by_distance)

    def block(self, rows: slice, cols: slice, *, heads: slice, batch: slice, offset: int) -> Tensor:
        """(1, h|1, r, c) values; where no distance is held, the nearest one (such cells are not visible)."""
        device = self.table.device
        position = torch.arange(rows.start, rows.stop, device=device) + offset
        key = torch.arange(cols.start, cols.stop, device=device)
        slot = (key - position[:, None] - self.first).clamp(0, self.table.shape[1] - 1)  # (r c)
        table = self.table if self.table.shape[0] == 1 else self.table[heads]
        return _no_inf(table)[:, slot][None]

    def between(self, rows: Tensor, cols: Tensor, *, offset: int) -> Tensor:
        """(1, h|1, g, r, c) values of rows (g r) and keys (g c), group by group, as `block` has them."""
        slot = (cols[:, None, :] - rows[:, :, None] - offset - self.first).clamp(0, self.table.shape[1] - 1)
        return _no_inf(self.table)[:, slot][None]


@dataclass(frozen=True, eq=False)
class KeyBias:
    """A bias of each key, whatever the row: values (b|1, h|1, tk), or (b|1, tk)."""

    values: Tensor = field(repr=False)

    speaks_of_positions = False

    def check(self, visible: Visible, offset: int) -> None:
        """Raises ScoringError unless the values fit the call."""
        _check_values(self.values, "KeyBias(values)", 2, 3)
        four = self._four()
        if not _spreads(four, (visible.b, visible.h, 1, visible.tk)):
            raise _misfit("KeyBias(values)", self.values, f"({visible.b}, {visible.h}, {visible.tk})")

    def hidden(self) -> Mask | None:
        """The mask that the -inf entries make, or None."""
        return _hidden(self._four())

    def block(self, rows: slice, cols: slice, *, heads: slice, batch: slice, offset: int) -> Tensor:
        """(b|1, h|1, 1, c) values."""
        return _no_inf(_cut(self._four(), slice(None), cols, heads, batch))

    def between(self, rows: Tensor, cols: Tensor, *, offset: int) -> Tensor:
        """(b|1, h|1, g, 1, c) values of keys (g c), group by group."""
        return _chosen(self._four(), rows, cols)

    def _four(self) -> Tensor:
        return self.values[:, None, None] if self.values.dim() == 2 else self.values[:, :, None]


@dataclass(frozen=True, eq=False)
class TensorBias:
    """A bias of each cell: values that broadcast from the right to (b, h, tq, tk)."""

    values: Tensor = field(repr=False)

    speaks_of_positions = False

    def check(self, visible: Visible, offset: int) -> None:
        """Raises ScoringError unless the values fit the call."""
        _check_values(self.values, "TensorBias(values)", 0, 1, 2, 3, 4)
        if not _spreads(self._four(), (visible.b, visible.h, visible.tq, visible.tk)):
            raise _misfit(
                "TensorBias(values)",
                self.values,
                f"({visible.b}, {visible.h}, {visible.tq}, {visible.tk}) or 1s",
            )

    def hidden(self) -> Mask | None:
        """The mask that the -inf entries make, or None."""
        return _hidden(self._four())

    def block(self, rows: slice, cols: slice, *, heads: slice, batch: slice, offset: int) -> Tensor:
        """(b|1, h|1, r|1, c|1) values."""
        return _no_inf(_cut(self._four(), rows, cols, heads, batch))

    def between(self, rows: Tensor, cols: Tensor, *, offset: int) -> Tensor:
        """(b|1, h|1, g, r|1, c|1) values of rows (g r) and keys (g c), group by group."""
        return _chosen(self._four(), rows, cols)

    def _four(self) -> Tensor:
        return self.values.reshape((1,) * (4 - self.values.dim()) + tuple(self.values.shape))


Bias = RelativeBias | KeyBias | TensorBias


def values_of(bias: Bias) -> Tensor:
    """The tensor that a bias holds, as given."""
    return bias.table if isinstance(bias, RelativeBias) else bias.values


def with_values(bias: Bias, values: Tensor) -> Bias:
    """The same bias with another tensor of the same shape."""
    return replace(bias, table=values) if isinstance(bias, RelativeBias) else replace(bias, values=values)


def of_head(bias: Bias, head: int, batch: int) -> Bias:
    """The bias of one head of one batch entry, as that of a call of this head alone: a view."""
    values = values_of(bias)
    leading = 3 if isinstance(bias, KeyBias) else 4  # axes of a tensor that begins with batch and head
    axes = {values.dim() - leading: batch, values.dim() - leading + 1: head}
    if isinstance(bias, RelativeBias):
        axes = {0: head}
    elif isinstance(bias, KeyBias) and values.dim() == 2:
        axes = {0: batch}
    for axis, at in axes.items():
        if axis >= 0 and values.shape[axis] > 1:
            values = values.narrow(axis, at, 1)
    return with_values(bias, values)


def as_relative(values: Tensor, offset: int = 0) -> RelativeBias | None:
    """The same bias by distance, if `values` ([1,] h|1, tq, tk) is bit-exactly Toeplitz; else None."""
    grid = values[0] if values.dim() == 4 and values.shape[0] == 1 else values
    if grid.dim() != 3 or grid.shape[-1] == 0 or grid.shape[-2] == 0:
        return None
    if grid.shape[-1] > 1 and grid.shape[-2] > 1 and not torch.equal(grid[:, 1:, 1:], grid[:, :-1, :-1]):
        return None
    table = torch.cat(
        [grid[:, :, 0].flip(1), grid[:, 0, 1:]], dim=1
    )  # distances -(tq - 1) .. tk - 1 from row 0
    return RelativeBias(table.contiguous(), first=-(grid.shape[1] - 1) - offset)


def _cut(four: Tensor, rows: slice, cols: slice, heads: slice, batch: slice) -> Tensor:
    cuts = (batch, heads, rows, cols)
    return four[tuple(slice(None) if n == 1 else cut for n, cut in zip(four.shape, cuts, strict=True))]


def _chosen(four: Tensor, rows: Tensor, cols: Tensor) -> Tensor:
    """(b|1, h|1, g, r|1, c|1) of a tensor (b|1, h|1, tq|1, tk|1)."""
    row = rows[:, :, None] if four.shape[2] > 1 else rows.new_zeros(1, 1, 1)
    col = cols[:, None, :] if four.shape[3] > 1 else cols.new_zeros(1, 1, 1)
    return _no_inf(four[:, :, row, col])


def _spreads(four: Tensor, sizes: tuple[int, ...]) -> bool:
    return all(have in (1, want) for have, want in zip(four.shape, sizes, strict=True))


def _no_inf(values: Tensor) -> Tensor:
    return values.masked_fill(values == -torch.inf, 0.0)


def _hidden(four: Tensor) -> Mask | None:
    seen = four != -torch.inf
    return None if bool(seen.all()) else from_tensor(seen)


def _check_values(values: Tensor, name: str, *dims: int) -> None:
    if values.dim() not in dims:
        raise ScoringError(
            f"{name} has shape {tuple(values.shape)}", wanted=f"{' or '.join(map(str, dims))} axes"
        )
    if not values.is_floating_point():
        raise ScoringError(
            f"{name} is {values.dtype}",
            wanted="Floating-point numbers that are added to the scores",
            hint="Booleans are a mask: from_tensor(t)",
        )
    if bool((values == torch.inf).any()):
        raise ScoringError(
            f"{name} holds +inf",
            wanted="Numbers; -inf hides a key",
            hint="To force a key, hide the others with a mask",
        )


def _misfit(name: str, values: Tensor, wanted: str) -> ScoringError:
    return ScoringError(f"{name} has shape {tuple(values.shape)}", wanted=f"{wanted}, counted from the right")
