"""The largest scores of each row with their keys: by score, and the lowest key on ties."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

PIECES = 16
"""Columns of a group in which the largest is looked for first."""


@dataclass(frozen=True, eq=False)
class Top:
    """scores (b h r n), largest first, -inf where a row sees fewer keys; keys (b h r n) int64, -1 there."""

    scores: Float[Tensor, "b h r n"]
    keys: Int[Tensor, "b h r n"]

    def merge(self, other: Top) -> Top:
        """The largest of both, as many as either holds; halves of the keys may come in any order."""
        if not other.keys.shape[-1] or not self.keys.shape[-1]:
            return self if self.keys.shape[-1] else other
        size = max(self.keys.shape[-1], other.keys.shape[-1])
        scores = torch.cat([self.scores, other.scores], dim=-1)
        keys = torch.cat([self.keys, other.keys], dim=-1)
        keys, order = keys.sort(dim=-1, stable=True)
        scores, order = torch.sort(scores.gather(-1, order), dim=-1, descending=True, stable=True)
        return Top(scores[..., :size], keys.gather(-1, order[..., :size]))

    def after(self, scores: Tensor, first: int) -> Top:
        """The top once scores (b h r c) have been seen too, whose columns are the keys from `first` on, all
        of them past the keys seen before.

        Columns that are c / PIECES apart form a group. Only groups whose maximum beats the last of their
        row's top are looked into; where those are many, whole rows are.
        """
        size, columns = self.keys.shape[-1], scores.shape[-1]
        if not size or not columns:
            return self
        if columns % PIECES or columns < PIECES * size:
            return self.merge(top_of(scores, size, first))
        last, grid = self.scores[..., -1:], scores.reshape(*scores.shape[:-1], PIECES, -1)
        hits = ~(grid.amax(dim=-2) <= last)  # (b h r c/PIECES); NaN is a hit
        b, h, r, group = hits.nonzero(as_tuple=True)
        if len(group) > size * hits[..., 0].numel():
            return self.merge(top_of(scores, size, first))
        near = grid[b, h, r, :, group]  # (hits PIECES)
        hit, piece = (~(near <= last[b, h, r])).nonzero(as_tuple=True)
        row = ((b * scores.shape[1] + h) * scores.shape[2] + r)[hit]
        return self._with(row, piece * grid.shape[-1] + group[hit], near[hit, piece], first)

    def _with(self, row: Tensor, column: Tensor, score: Tensor, first: int) -> Top:
        """The top with these cells too, (n) each, of rows counted through all heads."""
        if not len(row):
            return self
        lead, size = self.keys.shape[:-1], self.keys.shape[-1]
        order = (row * (int(column.max()) + 1) + column).argsort()
        row, column, score = row[order], column[order], score[order]
        per_row = row.bincount(minlength=lead.numel())
        place = torch.arange(len(row), device=row.device) - (per_row.cumsum(0) - per_row)[row]
        more = self.scores.new_full((lead.numel(), int(per_row.max())), -torch.inf)
        keys = torch.full_like(more, -1, dtype=self.keys.dtype)
        more[row, place], keys[row, place] = score, column + first
        scores = torch.cat([self.scores.flatten(0, 2), more], dim=-1)
        keys = torch.cat([self.keys.flatten(0, 2), keys], dim=-1)
        # stable: of equal scores the lower key stands first
        scores, order = torch.sort(scores, dim=-1, descending=True, stable=True)
        keys = keys.gather(-1, order[..., :size])
        return Top(scores[..., :size].reshape(*lead, size), keys.reshape(*lead, size))


def top_of(scores: Tensor, size: int, first: int = 0) -> Top:
    """The `size` largest of scores (b h r c), whose columns are the keys from `first` on."""
    columns = scores.shape[-1]
    values, keys = _grouped(scores, min(size, columns))
    keys = (keys + first).masked_fill(values == -torch.inf, -1)
    short = size - keys.shape[-1]
    if short > 0:
        values = torch.nn.functional.pad(values, (0, short), value=-torch.inf)
        keys = torch.nn.functional.pad(keys, (0, short), value=-1)
    return Top(values, keys)


def no_top(
    b: int, h: int, r: int, size: int, *, dtype: torch.dtype, device: torch.device | str = "cpu"
) -> Top:
    """The top of rows that have seen nothing: it changes nothing in a merge."""
    scores = torch.full((b, h, r, size), -torch.inf, dtype=dtype, device=device)
    return Top(scores, torch.full((b, h, r, size), -1, device=device))


def _grouped(scores: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """The largest and their columns. Columns that are `width` apart form a group: the top is within the
    `size` groups of largest maximum."""
    columns = scores.shape[-1]
    pieces = 2 ** round(math.log2(math.sqrt(columns / size))) if size else 1
    if pieces < 2:
        return _largest(scores, size)
    padded = torch.nn.functional.pad(scores, (0, -columns % pieces), value=-torch.inf)
    grid = padded.reshape(*padded.shape[:-1], pieces, -1)  # (b h r pieces width)
    width = grid.shape[-1]
    maxima, groups = grid.amax(dim=-2).topk(min(size + 1, width), dim=-1)
    chosen = groups[..., :size].sort(dim=-1).values  # in order of columns, so that ties go to the lowest
    near = grid.gather(-1, chosen[..., None, :].expand(*chosen.shape[:-1], pieces, -1)).flatten(-2)
    values, place = _largest(near, size)
    where = (place // chosen.shape[-1]) * width + chosen.gather(-1, place % chosen.shape[-1])
    if width > size:  # a group left out may hold an equal score in a lower column
        tied = (maxima[..., size] == values[..., -1]) & (values[..., -1] > -torch.inf)
        if bool(tied.any()):
            values[tied], where[tied] = _in_order(scores[tied], size)
    return values, where


def _largest(x: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """The `size` largest of the last axis and where they are, the lowest index on ties."""
    seen = min(size + 1, x.shape[-1])  # one more shows whether the last place is shared
    values, index = x.topk(seen, dim=-1)
    shared = ((values[..., 1:] == values[..., :-1]) & (values[..., 1:] > -torch.inf)).any(dim=-1)
    if bool(shared.any()):  # topk breaks ties as it likes
        values[shared], index[shared] = _in_order(x[shared], seen)
    return values[..., :size], index[..., :size]


def _in_order(x: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """The same by sorting, which keeps the order of equal numbers."""
    values, index = torch.sort(x, dim=-1, descending=True, stable=True)
    return values[..., :size], index[..., :size]
