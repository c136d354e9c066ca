"""Sets of keys as sorted, disjoint spans lo <= j < hi, and their algebra.

Every row of every head has S spans, S as needed. An empty span stands last and is lo = hi = tk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from attnscope.shapes import Edges, Seen


@dataclass(frozen=True, eq=False)
class Spans:
    """lo, hi: (b|1, h|1, tq, s) int64 on one device; tk: the number of keys."""

    lo: Edges
    hi: Edges
    tk: int

    def __and__(self, other: Spans) -> Spans:
        """The keys in both."""
        lo = torch.maximum(self.lo[..., :, None], other.lo[..., None, :]).flatten(-2)
        hi = torch.minimum(self.hi[..., :, None], other.hi[..., None, :]).flatten(-2)
        return _sorted(lo, hi, self.tk)

    def __or__(self, other: Spans) -> Spans:
        """The keys in either; spans that touch become one."""
        lead = spread(self.lo.shape[:3], other.lo.shape[:3])
        lo = torch.cat([self.lo.expand(*lead, -1), other.lo.expand(*lead, -1)], dim=-1)
        hi = torch.cat([self.hi.expand(*lead, -1), other.hi.expand(*lead, -1)], dim=-1)
        return tidy(lo, hi, self.tk)


def spread(one: Sequence[int], other: Sequence[int]) -> list[int]:
    """The sizes that two shapes of equal length broadcast to."""
    return [b if a == 1 else a for a, b in zip(one, other, strict=True)]


def tidy(lo: Tensor, hi: Tensor, tk: int) -> Spans:
    """Spans from edges (b|1, h|1, tq, s) in any order, overlapping or past the ends of the keys."""
    lo, hi = lo.to(torch.int64).clamp(0, tk), hi.to(torch.int64).clamp(0, tk)
    spans = _sorted(lo, hi, tk)
    if spans.lo.shape[-1] == 1:
        return spans
    reach = spans.hi.cummax(dim=-1).values
    starts = torch.ones_like(reach, dtype=torch.bool)
    starts[..., 1:] = spans.lo[..., 1:] > reach[..., :-1]
    group = starts.cumsum(dim=-1) - 1
    lo = torch.full_like(reach, tk).scatter_reduce(-1, group, spans.lo, "amin")
    hi = torch.zeros_like(reach).scatter_reduce(-1, group, spans.hi, "amax")
    return _trimmed(lo, torch.maximum(lo, hi), tk)


def _sorted(lo: Tensor, hi: Tensor, tk: int) -> Spans:
    """Empty spans pushed last as (tk, tk), the others in order of lo."""
    empty = hi <= lo
    lo, hi = lo.masked_fill(empty, tk), hi.masked_fill(empty, tk)
    if lo.shape[-1] == 1:
        return Spans(lo, hi, tk)
    lo, order = lo.sort(dim=-1, stable=True)
    return _trimmed(lo, hi.gather(-1, order), tk)


def _trimmed(lo: Tensor, hi: Tensor, tk: int) -> Spans:
    """Without the last columns in which every span is empty; at least one stays."""
    used = (hi > lo).flatten(0, -2).any(dim=0)  # (s)
    keep = int(used.nonzero().max()) + 1 if bool(used.any()) else 1
    return Spans(lo[..., :keep].contiguous(), hi[..., :keep].contiguous(), tk)


def from_bool(seen: Seen, limit: int) -> Spans | None:
    """The spans of a grid of booleans (b|1, h|1, r, c), or None when a row needs more than `limit`."""
    tk, rows = seen.shape[-1], seen.shape[:3]
    count = rows.numel()
    edges = seen.new_zeros(count, tk + 1)  # True where a span begins and where it has ended
    edges[:, :tk] = seen.reshape(count, tk)
    edges[:, 1:] ^= seen.reshape(count, tk)
    places = edges.flatten().nonzero()[:, 0]  # in row order, begin and end in turn
    row, lo, hi = places[0::2] // (tk + 1), places[0::2] % (tk + 1), places[1::2] % (tk + 1)
    per_row = row.bincount(minlength=count)
    size = max(int(per_row.max()) if count else 0, 1)
    if size > limit:
        return None
    rank = torch.arange(len(row), device=seen.device) - (per_row.cumsum(0) - per_row)[row]
    edge = torch.full((2, count, size), tk, dtype=torch.int64, device=seen.device)
    edge[0, row, rank], edge[1, row, rank] = lo, hi
    return Spans(edge[0].view(*rows, size), edge[1].view(*rows, size), tk)


def runs(lo: Tensor, hi: Tensor, gap: int = 0) -> list[tuple[int, int]]:
    """The union of any number of spans as disjoint (lo, hi) in order; holes up to `gap` wide are closed."""
    if lo.numel() == 1:  # the one row of a step
        begin, stop = int(lo), int(hi)
        return [(begin, stop)] if stop > begin else []
    lo, hi = lo.flatten(), hi.flatten()
    some = hi > lo
    lo, order = lo[some].sort()
    if not len(lo):
        return []
    reach = hi[some][order].cummax(dim=0).values
    cut = (lo[1:] > reach[:-1] + gap).nonzero()[:, 0]
    begins = torch.cat([lo[:1], lo[cut + 1]]).tolist()
    stops = torch.cat([reach[cut], reach[-1:]]).tolist()
    return list(zip(begins, stops, strict=True))
