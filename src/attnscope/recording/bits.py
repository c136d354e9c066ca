"""A mask that no small number of spans can say, as one bit a cell, between bounding spans."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from jaxtyping import UInt8
from torch import Tensor

from attnscope.core.mask import Mask
from attnscope.core.masks import rule, spans
from attnscope.core.visible import Visible

CELLS_TOGETHER = 2**22


@dataclass(frozen=True, eq=False)
class Bits:
    """packed: (b|1, h|1, tq, ceil(tk / 8)), cell j in bit j % 8 of byte j // 8; lo, hi: bounding spans (..
    tq 1).
    """

    packed: UInt8[Tensor, "b h tq bytes"] = field(repr=False)
    lo: Tensor = field(repr=False)
    hi: Tensor = field(repr=False)

    def mask(self, offset: int) -> Mask:
        """The mask of a call whose row 0 stands at `offset`."""
        packed = self.packed

        def looked_up(b: Tensor, h: Tensor, position: Tensor, key: Tensor) -> Tensor:
            held = packed.to(key.device)
            b, h = (index if size > 1 else index.flatten()[:1].view(1, 1, 1, 1) * 0
                    for index, size in zip((b, h), held.shape[:2], strict=True))  # fmt: skip
            return (held[b, h, position - offset, key // 8] >> (key % 8).to(torch.uint8)) & 1 == 1

        return spans(self.lo, self.hi) & rule(looked_up)


def pack(seen: Tensor) -> Tensor:
    """(.. c) bool -> (.. ceil(c / 8)) uint8."""
    spare = -seen.shape[-1] % 8
    padded = torch.nn.functional.pad(seen.to(torch.uint8), (0, spare))
    places = 2 ** torch.arange(8, device=seen.device, dtype=torch.uint8)
    eights = padded.view(*padded.shape[:-1], -1, 8)
    return (eights * places).sum(dim=-1, dtype=torch.uint8)


def bits_of(visible: Visible) -> Bits:
    """Everything that `visible` says, packed; O(tq tk / 8) bytes for each batch and head that differ."""
    per_row = max(1, visible.b * visible.h * visible.tk)
    step = max(1, CELLS_TOGETHER // per_row)
    blocks = [slice(i, min(i + step, visible.tq)) for i in range(0, max(visible.tq, 1), step)]
    parts = [pack(visible.tile(rows, slice(0, visible.tk))) for rows in blocks]
    b, h = (max(part.shape[axis] for part in parts) for axis in (0, 1))
    packed = torch.cat([part.expand(b, h, -1, -1) for part in parts], dim=2)
    return Bits(packed, visible.lo.amin(dim=-1, keepdim=True), visible.hi.amax(dim=-1, keepdim=True))
