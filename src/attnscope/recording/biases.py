"""The biases of many calls as one: by distance or by key, where all of them agree bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from attnscope.core.bias import Bias, KeyBias, RelativeBias, TensorBias, values_of, with_values
from attnscope.core.visible import Visible


@dataclass(frozen=True, eq=False)
class Line:
    """values (b|1 h|1 n) for the places first, first + 1 ...; known (n): which of them some row has shown."""

    values: Tensor = field(repr=False)
    known: Tensor = field(repr=False)
    first: int

    def merge(self, other: Line) -> Line | None:
        """Both as one; None where they differ at a place that both know."""
        first = min(self.first, other.first)
        stop = max(self.first + len(self.known), other.first + len(other.known))
        one, two = self.over(first, stop), other.over(first, stop)
        both = one.known & two.known
        if not bool(((one.values == two.values) | ~both).all()):
            return None
        return Line(torch.where(one.known, one.values, two.values), one.known | two.known, first)

    def over(self, first: int, stop: int) -> Line:
        """The same over the places first .. stop, 0 and not known where there was none."""
        ends = (self.first - first, stop - self.first - len(self.known))
        values = torch.nn.functional.pad(self.values, ends)
        return Line(values, torch.nn.functional.pad(self.known, ends), first)


@dataclass(frozen=True, eq=False)
class Biases:
    """What the calls of a site have added to their scores. A single row fits a bias by distance and one by
    key: both are followed for as long as they hold.
    """

    calls: int = 0
    _only: Bias | None = None
    _by_key: Line | None = None
    _by_distance: Line | None = None

    def joined(self, bias: Bias | None, visible: Visible, offset: int, first: int) -> Biases | None:
        """With one call more, whose row 0 stands at `offset` among its keys, and whose key 0 is column
        `first` of the site; None where no one bias says both.
        """
        if bias is None or (self.calls and self._only is None):
            same = bias is None and self._only is None
            return Biases(self.calls + 1) if same else None
        key, distance = _by_key(bias, visible, first), _by_distance(bias, visible, offset)
        if self.calls:
            key = None if key is None or self._by_key is None else self._by_key.merge(key)
            distance = (
                None if distance is None or self._by_distance is None else self._by_distance.merge(distance)
            )
            if key is None and distance is None:
                return None
        return Biases(self.calls + 1, bias, key, distance)

    def reordered(self, parents: Sequence[int]) -> Biases:
        """The same with batch entry parents[b] in the place of b."""
        line = self._by_key
        if line is None or line.values.shape[0] == 1:
            return self
        return replace(self, _by_key=replace(line, values=line.values[list(parents)]))

    def bias(self, tk: int) -> Bias | None:
        """The bias of a site of tk keys; that of a single call as it was, without the room of its cache."""
        if self.calls == 1 or self._only is None:
            return _cut(self._only, tk)
        if self._by_key is not None:
            return KeyBias(self._by_key.over(0, tk).values)
        if self._by_distance is not None:
            return RelativeBias(self._by_distance.values[0], first=self._by_distance.first)
        return self._only


def _cut(bias: Bias | None, tk: int) -> Bias | None:
    if bias is None or isinstance(bias, RelativeBias) or values_of(bias).dim() == 0:
        return bias
    return with_values(bias, values_of(bias)[..., :tk])


def _by_key(bias: Bias, visible: Visible, first: int) -> Line | None:
    if not isinstance(bias, KeyBias):
        return None
    values = bias.values[:, None] if bias.values.dim() == 2 else bias.values
    return Line(values, _seen(visible, 0, visible.tk), first)


def _by_distance(bias: Bias, visible: Visible, offset: int) -> Line | None:
    if isinstance(bias, RelativeBias):
        return Line(bias.table[None], _distances(bias, visible, offset), bias.first)
    if isinstance(bias, TensorBias) or visible.tq != 1:
        return None
    values = bias.values[:, None] if bias.values.dim() == 2 else bias.values
    if not bool((values == values[:1]).all()):
        return None
    return Line(values[:1], _seen(visible, 0, visible.tk), -offset)


def _seen(visible: Visible, first: int, stop: int) -> Tensor:
    """Which keys some row may see, (n)."""
    seen = torch.zeros(stop - first, dtype=torch.bool, device=visible.lo.device)
    for lo, hi in visible.ranges(slice(0, visible.tq)):
        seen[lo:hi] = True
    return seen if visible.valid is None else seen & visible.valid.any(dim=0)


def _distances(bias: RelativeBias, visible: Visible, offset: int) -> Tensor:
    """Which distances of the table some row sees, (n): spans opened and closed, then summed up."""
    position = torch.arange(visible.tq, device=visible.lo.device)[:, None] + offset
    some = visible.hi > visible.lo
    size = bias.table.shape[1]
    count = torch.zeros(size + 1, dtype=torch.int64, device=visible.lo.device)
    for edge, sign in ((visible.lo, 1), (visible.hi, -1)):
        places = (edge - position - bias.first)[some].clamp(0, size)
        count += sign * places.bincount(minlength=size + 1)
    return count.cumsum(0)[:size] > 0
