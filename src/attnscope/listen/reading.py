"""Reads a mask tensor as the call got it: spans first, then valid keys beside spans, then bits; what is
left is bias.

The tensor at the call is the truth. In booleans True = may attend. In numbers a cell at or below the most
negative number of their dtype is masked, and every other non-zero number is a bias: -10,000 stays a bias,
as it is for the model. Each distinct tensor is read once a run. Memory beside the tensor itself is O(T):
rows are read in blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from attnscope.core.mask import Mask
from attnscope.core.masks import padding, spans
from attnscope.core.spans import Spans, from_bool
from attnscope.core.visible import MAX_SPANS
from attnscope.listen.call import CannotShowError
from attnscope.recording.bits import Bits, pack

BLOCK_CELLS = 2**22
"""Cells of a mask that are looked at together."""

SEVERAL = 4
"""Spans a row: past this, a set of valid keys beside fewer spans is tried first."""


@dataclass(frozen=True, eq=False)
class Reading:
    """What a mask tensor says. lo, hi: (b|1, h|1, tq, s).   valid: (b|1, tk).   bits: (b|1, h|1, tq, bytes).

    bias: (b|1, h|1, tq|1, tk|1) numbers that are added to the scores, 0 where masked; None where there are
    none.
    """

    lo: Tensor = field(repr=False)
    hi: Tensor = field(repr=False)
    valid: Tensor | None = field(default=None, repr=False)
    bits: Tensor | None = field(default=None, repr=False)
    bias: Tensor | None = field(default=None, repr=False)

    def of_heads(self, heads: tuple[int, ...] | None) -> Reading:
        """The same for some heads alone."""
        if heads is None:
            return self
        bits = None if self.bits is None else of_heads(self.bits, heads)
        return Reading(of_heads(self.lo, heads), of_heads(self.hi, heads), self.valid, bits, self.bias)

    def mask(self, offset: int) -> Mask:
        """The mask of a call whose row 0 stands at `offset`."""
        if self.bits is not None:
            return Bits(self.bits, self.lo, self.hi).mask(offset)
        mask = spans(self.lo, self.hi)
        return mask if self.valid is None else mask & padding(self.valid)

    def last_key(self) -> Tensor:
        """One past the last key that each row may see, (b|1, h|1, tq); 0 where it sees none."""
        return self.hi.masked_fill(self.hi <= self.lo, 0).amax(dim=-1)


def read(mask: Tensor, tq: int, tk: int) -> Reading:
    """What the tensor says, read once. Raises CannotShowError where it does not fit, or holds +inf or NaN."""
    four = _fitted(mask, tq, tk)
    if 0 in (tq, tk):
        return everything(tq, tk, mask.device, causal=False)
    return replace(_read_blocks(lambda: _seen_blocks(four), tq, tk), bias=_bias_in(four))


def read_rule(seen: Callable[[slice], Tensor], width: int, tq: int, tk: int) -> Reading:
    """The reading of a rule that gives booleans (b|1, h|1, r, tk) for rows. width: how many (b h) it gives.

    Rows are asked for in blocks, so no grid is ever whole.
    """
    step = max(1, BLOCK_CELLS // max(1, width * tk))

    def blocks() -> Iterator[Tensor]:
        for i in range(0, tq, step):
            yield seen(slice(i, min(i + step, tq)))

    return _read_blocks(blocks, tq, tk)


def _read_blocks(blocks: Callable[[], Iterator[Tensor]], tq: int, tk: int) -> Reading:
    """Spans, valid keys beside spans, or bits, of booleans (b|1, h|1, r, tk) that come in blocks of rows."""
    valid = _valid_keys(blocks)
    some = []
    for seen in blocks():
        one = _span_block(seen, valid)
        if one is None:
            lo, hi, bits = _as_bits(blocks, tk)
            return Reading(lo, hi, None, bits)
        some.append(one)
    size = max(one.lo.shape[-1] for one in some)
    lo, hi = (rows_joined([_widened(edge, size, tk) for edge in edges])
              for edges in ([one.lo for one in some], [one.hi for one in some]))  # fmt: skip
    lo, hi = (edge.expand(-1, -1, tq, -1) for edge in (lo, hi))
    return Reading(lo.contiguous(), hi.contiguous(), valid)


def everything(tq: int, tk: int, device: torch.device, *, causal: bool) -> Reading:
    """The reading of no mask at all, or of is_causal, which counts from the top left."""
    hi = torch.full((tq,), tk, dtype=torch.int64, device=device)
    if causal:
        hi = (torch.arange(tq, device=device) + 1).clamp(max=tk)
    return Reading(torch.zeros_like(hi).view(1, 1, tq, 1), hi.view(1, 1, tq, 1))


def rows_joined(blocks: Sequence[Tensor]) -> Tensor:
    """Blocks of rows (b|1 h|1 r ..), in order, as one."""
    lead = [max(block.shape[axis] for block in blocks) for axis in (0, 1)]
    return torch.cat([block.expand(*lead, -1, -1) for block in blocks], dim=2)


def of_heads(x: Tensor, heads: tuple[int, ...] | None) -> Tensor:
    """Some heads of a tensor (b, h|1, ..)."""
    return x if heads is None or x.shape[1] == 1 else x[:, list(heads)]


def _fitted(mask: Tensor, tq: int, tk: int) -> Tensor:
    """(b|1, h|1, tq|1, tk), longer masks cut to the keys of the call as the models themselves do."""
    if mask.is_nested or mask.dim() > 4 or not (mask.dtype == torch.bool or mask.is_floating_point()):
        raise CannotShowError(f"its mask is {tuple(mask.shape)} of {mask.dtype}, which has no reading")
    four = mask.reshape((1,) * (4 - mask.dim()) + tuple(mask.shape))
    if four.shape[3] == 1 and tk != 1:
        four = four.expand(-1, -1, -1, tk)
    if four.shape[2] not in (1, tq) or four.shape[3] < tk:
        raise CannotShowError(f"its mask {tuple(mask.shape)} does not fit {tq} queries and {tk} keys")
    return four[..., :tk]


def _seen(block: Tensor) -> Tensor:
    """True where a cell may be seen."""
    if block.dtype == torch.bool:
        return block
    if bool((block == torch.inf).any() | block.isnan().any()):
        raise CannotShowError("its mask holds +inf or NaN")
    return block > torch.finfo(block.dtype).min


def _seen_blocks(four: Tensor) -> Iterator[Tensor]:
    """The booleans of blocks of rows."""
    step = max(1, BLOCK_CELLS // max(1, four.shape[0] * four.shape[1] * four.shape[3]))
    for i in range(0, four.shape[2], step):
        yield _seen(four[:, :, i : i + step])


def _valid_keys(blocks: Callable[[], Iterator[Tensor]]) -> Tensor | None:
    """(b|1, tk) keys that some row sees, where rows need several spans because of the others; None where
    they do not.
    """
    several = False
    some: Tensor | None = None
    for seen in blocks():
        keys = seen.any(dim=2).any(dim=1)
        some = keys if some is None else some | keys
        several = several or from_bool(seen, SEVERAL) is None
    return some if several and some is not None and not bool(some.all()) else None


def _span_block(seen: Tensor, valid: Tensor | None) -> Spans | None:
    """The spans of a block of rows, exactly; None where they are too many even beside the valid keys."""
    if valid is None:
        return from_bool(seen, MAX_SPANS)
    # What a padded key says is free: it repeats its nearest real neighbour on the left, and opens no span.
    keys = valid[:, None, None, :].expand(seen.shape[0], 1, 1, -1)
    place = torch.arange(seen.shape[-1], device=seen.device).expand(keys.shape)
    nearest = torch.where(keys, place, -1).cummax(dim=-1).values
    left = seen.gather(-1, nearest.clamp(min=0).expand(seen.shape)) & (nearest >= 0)
    return from_bool(torch.where(keys, seen, left), MAX_SPANS)


def _widened(edge: Tensor, size: int, tk: int) -> Tensor:
    """The same edges with empty spans added, (.. size)."""
    return torch.nn.functional.pad(edge, (0, size - edge.shape[-1]), value=tk)


def _as_bits(blocks: Callable[[], Iterator[Tensor]], tk: int) -> tuple[Tensor, Tensor, Tensor]:
    """Bounding spans (.. tq 1) and one bit a cell."""
    lo, hi, bits = [], [], []
    for seen in blocks():
        places = torch.arange(tk, device=seen.device)
        lo.append(torch.where(seen, places, tk).amin(dim=-1, keepdim=True))
        hi.append(torch.where(seen, places + 1, 0).amax(dim=-1, keepdim=True))
        bits.append(pack(seen))
    low, high = rows_joined(lo), rows_joined(hi)
    return torch.minimum(low, high), high, rows_joined(bits)


def _bias_in(four: Tensor) -> Tensor | None:
    """The finite numbers of a float mask, 0 where masked, axes along which it was expanded left at 1; None
    if all 0.
    """
    if four.dtype == torch.bool:
        return None
    small = four[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in four.stride())]
    found = False
    for i in range(0, small.shape[2], max(1, BLOCK_CELLS // max(1, small[:, :, :1].numel()))):
        block = small[:, :, i : i + max(1, BLOCK_CELLS // max(1, small[:, :, :1].numel()))]
        found = found or bool(((block != 0) & _seen(block)).any())
    return small.masked_fill(~_seen(small), 0) if found else None
