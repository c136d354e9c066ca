"""What the rows of many calls may see, as one mask in the columns of their site."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor
from torch.nn.functional import pad

from attnscope.core.mask import Mask
from attnscope.core.masks import rule, spans
from attnscope.core.spans import Spans
from attnscope.core.visible import Rule, Visible
from attnscope.recording.bits import Bits, bits_of
from attnscope.recording.strips import MemoryStrip

LARGEST = 2**28
"""Cells of which a site of many calls holds a bit each (32 MB): 16,384 rows of as many keys."""


@dataclass(frozen=True, eq=False)
class _Ruled:
    """Rows start .. stop of the site, whose visible keys are bits; first: the column of bit 0."""

    bits: Bits
    start: int
    stop: int
    first: int


@dataclass(eq=False)
class Edges:
    """Spans of each row, (b|1 h|1 t s) whole numbers, and bits beside them for rows that no spans can say."""

    _lo: MemoryStrip = field(default_factory=MemoryStrip, repr=False)
    _hi: MemoryStrip = field(default_factory=MemoryStrip, repr=False)
    _shape: tuple[int, int, int] = (1, 1, 1)  # b|1, h|1, s
    _ruled: list[_Ruled] = field(default_factory=list, repr=False)

    def fits(self, visible: Visible, held: Spans | None) -> bool:
        """Whether a further call of this sight may be added: bits grow as rows x columns, and have an end."""
        if held is not None or not self._ruled:
            return True
        cells = sum(one.bits.packed.numel() * 8 for one in self._ruled)
        apart = self._ruled[-1].bits.packed.shape[:2].numel()
        return cells + apart * visible.tq * visible.tk <= LARGEST

    @property
    def late(self) -> bool:
        """Whether the last row sees none of the first columns in any batch or head: it has a window."""
        return self._lo.size > 0 and bool((self._lo.last()[..., 0] > 0).all())

    def append(self, visible: Visible, held: Spans | None, first: int) -> None:
        """Adds the rows of a call whose column 0 is column `first` of the site.   held: `visible` as spans
        alone, None where it needs bits.
        """
        if held is None:
            bits = bits_of(visible)
            lo, hi = bits.lo, bits.hi
            self._ruled.append(_Ruled(bits, self._lo.size, self._lo.size + visible.tq, first))
        else:
            lo, hi = held.lo, held.hi
        lo, hi = ((edge + first).to(torch.int32) for edge in (lo, hi))
        self._widen((lo.shape[0], lo.shape[1], lo.shape[3]))
        for strip, edge in ((self._lo, lo), (self._hi, hi)):
            strip.append(_fitted(edge, self._shape))

    def rows(self, rows: slice) -> tuple[Tensor, Tensor]:
        """The ends (b|1 h|1 r s) int64 of the spans of these rows, in columns of the site."""
        lo, hi = (strip.whole()[:, :, rows].long() for strip in (self._lo, self._hi))
        return lo, hi

    def cut(self, size: int) -> None:
        """Keeps the first `size` rows."""
        self._lo.cut(size)
        self._hi.cut(size)
        self._ruled = [replace(one, stop=min(one.stop, size)) for one in self._ruled if one.start < size]

    def reorder(self, parents: Sequence[int]) -> None:
        """Puts batch entry parents[b] in the place of b."""
        order = list(parents)
        if self._shape[0] > 1:
            self._lo.reorder(order)
            self._hi.reorder(order)
        for at, one in enumerate(self._ruled):
            packed = one.bits.packed
            if packed.shape[0] > 1:
                self._ruled[at] = replace(one, bits=replace(one.bits, packed=packed[order]))

    def mask(self, offset: int) -> Mask:
        """The mask of the site, whose row 0 stands at `offset`."""
        mask = spans(self._lo.whole().long(), self._hi.whole().long())
        return mask & rule(_looked_up(list(self._ruled), offset)) if self._ruled else mask

    def _widen(self, shape: tuple[int, int, int]) -> None:
        """Makes place for batches, heads or spans that differ from here on."""
        wide = (max(self._shape[0], shape[0]), max(self._shape[1], shape[1]), max(self._shape[2], shape[2]))
        if wide == self._shape or not self._lo.size:
            self._shape = wide
            return
        self._shape = wide
        for name in ("_lo", "_hi"):
            widened = MemoryStrip()
            widened.append(_fitted(getattr(self, name).whole(), wide))
            setattr(self, name, widened)


def _fitted(edge: Tensor, shape: tuple[int, int, int]) -> Tensor:
    """(b|1 h|1 r s) in a wider shape; the spans that are added are empty."""
    b, h, s = shape
    return pad(edge, (0, s - edge.shape[3]), value=0).expand(b, h, -1, -1)


def _looked_up(ruled: list[_Ruled], offset: int) -> Rule:
    """True in rows that follow no bits: there the spans say all."""

    def look(b: Tensor, h: Tensor, position: Tensor, key: Tensor) -> Tensor:
        row = position - offset
        seen = torch.ones((1, 1, row.numel(), key.numel()), dtype=torch.bool, device=key.device)
        for one in ruled:
            own = (row.flatten() >= one.start) & (row.flatten() < one.stop)
            if not bool(own.any()):
                continue
            packed = one.bits.packed.to(key.device)
            local = row.flatten()[own].view(1, 1, -1, 1) - one.start
            column = (key - one.first).clamp(0, packed.shape[-1] * 8 - 1)
            batch, head = (index if size > 1 else index.flatten()[:1].view(1, 1, 1, 1) * 0
                           for index, size in zip((b, h), packed.shape[:2], strict=True))  # fmt: skip
            held = (packed[batch, head, local, column // 8] >> (column % 8).to(torch.uint8)) & 1 == 1
            seen = seen.expand(max(seen.shape[0], held.shape[0]), max(seen.shape[1], held.shape[1]), -1, -1)
            seen = seen.clone()
            seen[:, :, own] = held
        return seen

    return look
