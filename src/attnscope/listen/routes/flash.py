"""The flash names of transformers' registry: what they are handed says what they compute.

Their kernels cannot be looked into. They take no mask of cells: a padding mask of two axes, causality, a
window, documents packed into one row. What is read from these is certified against the kernel's output.
Source: transformers' modeling_flash_attention_utils, and flash-attention 2.1 or newer (causal from the
bottom right).
"""

from __future__ import annotations

import torch
from torch import Tensor

from attnscope.listen.call import Call, CannotShowError
from attnscope.listen.reading import Reading
from attnscope.listen.routes.handed import Handed


def is_flash(implementation: str) -> bool:
    """Whether a name of the registry is one of flash attention's, or of a kernel of its kind."""
    return "flash" in implementation


def call(handed: Handed) -> Call:
    """The call, its keys and rows read from padding, window and documents. Raises CannotShowError."""
    given = handed.given
    if given.get("block_table") is not None or given.get("cache") is not None:
        raise CannotShowError("its keys lie in a paged cache, which is not opened yet")
    q, k, v = handed.tensors
    out = handed.out(q, v)
    padding = handed.mask
    if padding is not None and k.shape[2] > padding.shape[-1]:  # a static cache
        k, v = k[:, :, : padding.shape[-1]], v[:, :, : padding.shape[-1]]
    q, k, v = (x.to(out.dtype) for x in (q, k, v))  # a float32 model computes here in 16 bits
    sinks = handed.sinks
    return Call(
        handed.module, f"huggingface/{handed.implementation}", q, k, v, out, handed.scale,
        softcap=given.get("softcap") or None, sinks=None if sinks is None else sinks.to(q.dtype),
        dropout=handed.dropout, autocast=handed.cast, readings=(_reading(handed, q, k, padding),),
    )  # fmt: skip


def _reading(handed: Handed, q: Tensor, k: Tensor, padding: Tensor | None) -> Reading:
    b, tq, tk = q.shape[0], q.shape[2], k.shape[2]
    window = handed.given.get("sliding_window")
    reach = int(window) - 1 if window is not None and tk > int(window) else None
    if padding is not None:
        if padding.dim() != 2 or padding.shape != (b, tk):
            raise CannotShowError(
                f"its padding mask is {tuple(padding.shape)}, and ({b}, {tk}) was looked for"
            )
        return _padded(padding.bool(), tq, causal=handed.causal, reach=reach)
    starts = _documents(handed, b, tq)
    rows, keys = starts if starts is not None else ([0, tq], [0, tk])
    return _packed(rows, keys, q.device, causal=handed.causal, reach=reach)


def _padded(valid: Tensor, tq: int, *, causal: bool, reach: int | None) -> Reading:
    """Padded tokens are taken out, both as rows and as keys; what is left counts as if it stood together."""
    place = valid.long().cumsum(dim=-1) - 1
    rows = valid[:, -tq:] if tq > 1 else valid.new_ones(len(valid), 1)
    count = valid.sum(dim=-1, keepdim=True)
    at = count - rows.long().sum(dim=-1, keepdim=True) + rows.long().cumsum(dim=-1) - 1  # (b tq)
    lo, hi = _edges(at, count, causal=causal, reach=reach)
    # the first key whose place is lo, and one past the last whose place is below hi
    first = torch.searchsorted(place.contiguous(), lo.contiguous())
    end = torch.searchsorted(place.contiguous(), (hi - 1).contiguous()) + 1
    first, end = (torch.where(rows & (hi > lo), edge, 0) for edge in (first, end))
    return Reading(first[:, None, :, None], end[:, None, :, None], valid)


def _packed(
    rows: list[int], keys: list[int], device: torch.device, *, causal: bool, reach: int | None
) -> Reading:
    """Documents that lie one after another: rows and keys give where each begins, and the end."""
    parts = []
    for start, stop, first, end in zip(rows[:-1], rows[1:], keys[:-1], keys[1:], strict=True):
        at = torch.arange(end - first - (stop - start), end - first, device=device)[None]
        lo, hi = _edges(at, at.new_full((1, 1), end - first), causal=causal, reach=reach)
        parts.append(torch.stack((lo + first, hi.clamp(min=0) + first)))
    lo, hi = torch.cat(parts, dim=-1)
    return Reading(lo[:, None, :, None], hi[:, None, :, None])


def _edges(at: Tensor, count: Tensor, *, causal: bool, reach: int | None) -> tuple[Tensor, Tensor]:
    """lo, hi (b tq) of rows that stand at the places `at` among `count` keys."""
    lo = torch.zeros_like(at) if reach is None else (at - reach).clamp(min=0)
    last = at if causal else count - 1 if reach is None else torch.minimum(at + reach, count - 1)
    return lo, (last + 1).expand_as(at)


def _documents(handed: Handed, b: int, tq: int) -> tuple[list[int], list[int]] | None:
    """Where packed documents begin among rows and keys: as given, else where the positions begin again."""
    given = handed.given
    rows, keys = given.get("cu_seq_lens_q"), given.get("cu_seq_lens_k")
    lengths = (given.get("max_length_q"), given.get("max_length_k"))
    if rows is not None and keys is not None and None not in lengths:
        if b != 1:
            raise CannotShowError(f"its documents are packed over a batch of {b}, and 1 was looked for")
        return [int(i) for i in rows], [int(i) for i in keys]
    positions = given.get("position_ids")
    if positions is None or b != 1 or tq == 1 or positions.shape[-1] != tq:
        return None
    line = positions.reshape(-1)
    if bool((line == torch.arange(tq, device=line.device) + line.min()).all()):
        return None
    starts = [*(line == line.min()).nonzero().flatten().tolist(), tq]
    return starts, starts
