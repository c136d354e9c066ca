"""The numbers that a mask adds to the scores, in their smallest exact form: by key, by distance, or as they
are.
"""

from __future__ import annotations

import torch
from torch import Tensor

from attnscope.core.bias import Bias, KeyBias, RelativeBias, TensorBias
from attnscope.listen.reading import BLOCK_CELLS, Reading


def bias_of(reading: Reading, offset: int) -> Bias | None:
    """The bias in its smallest exact form: by key, by distance where it is Toeplitz bit for bit, else as it
    is.
    """
    values = reading.bias
    if values is None:
        return None
    if values.shape[2] == 1:
        return KeyBias(values[:, :, 0])
    if reading.bits is not None:
        return TensorBias(values)
    return _by_key(values, reading) or _by_distance(values, offset, reading) or TensorBias(values)


def _by_key(values: Tensor, reading: Reading) -> KeyBias | None:
    """values (b|1, h|1, tq, tk) as one number a key (ALiBi as Falcon writes it), where all rows that see a
    key add the same.
    """
    batch, heads, _, tk = values.shape
    least = values.new_full((batch, heads, tk), torch.inf)
    most = values.new_full((batch, heads, tk), -torch.inf)
    for rows in _row_blocks(values):
        _, there = _slots(rows, values, reading)
        block = values[:, :, rows]
        least = torch.minimum(least, block.masked_fill(~there, torch.inf).amin(dim=2))
        most = torch.maximum(most, block.masked_fill(~there, -torch.inf).amax(dim=2))
    if bool((least < most).any()):
        return None
    return KeyBias(most.masked_fill(least > most, 0))


def _row_blocks(values: Tensor) -> list[slice]:
    """Blocks of rows of a tensor (b h tq tk), few enough cells to be looked at together."""
    batch, heads, tq, tk = values.shape
    step = max(1, BLOCK_CELLS // max(1, batch * heads * tk))
    return [slice(i, min(i + step, tq)) for i in range(0, tq, step)]


def _by_distance(values: Tensor, offset: int, reading: Reading) -> RelativeBias | None:
    """values (b|1, h|1, tq, tk) as a table of distances, where every visible cell fits it bit for bit."""
    heads, tq, tk = values.shape[1:]
    if tk == 1:
        return None
    table = torch.zeros(heads, tq + tk - 1, dtype=values.dtype, device=values.device)
    blocks = _row_blocks(values)
    for rows in blocks:
        where, there = _slots(rows, values, reading)
        head = torch.arange(heads, device=values.device).view(1, -1, 1, 1).expand(there.shape)
        table[head[there], where.expand(there.shape)[there]] = values[:, :, rows].expand(there.shape)[there]
    for rows in blocks:
        where, there = _slots(rows, values, reading)
        same = table[:, where[0, 0]][None] == values[:, :, rows]
        if not bool((same | ~there).all()):
            return None
    return RelativeBias(table, first=-(tq - 1) - offset)


def _slots(rows: slice, values: Tensor, reading: Reading) -> tuple[Tensor, Tensor]:
    """Where the cells of some rows stand in the table, (1 1 r tk), and which of them some batch or head
    sees, (b h r tk).
    """
    tq, tk = values.shape[2:]
    key = torch.arange(tk, device=values.device)
    where = key - torch.arange(rows.start, rows.stop, device=values.device)[:, None] + tq - 1
    lo, hi = reading.lo[:, :, rows, :, None], reading.hi[:, :, rows, :, None]
    seen = ((key >= lo) & (key < hi)).any(dim=3)  # (b|1 h|1 r tk)
    if reading.valid is not None:
        seen = seen & reading.valid[:, None, None, :]
    batch = max(values.shape[0], 1)
    seen = seen if seen.shape[0] in (1, batch) else seen.any(dim=0, keepdim=True)
    seen = seen if seen.shape[1] in (1, values.shape[1]) else seen.any(dim=1, keepdim=True)
    return where[None, None], seen.expand(batch, values.shape[1], -1, -1)
