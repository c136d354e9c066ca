"""The largest scores of each row with their keys: by score, and the lowest key on ties."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Top:
    """scores (b h r n), largest first, -inf where a row sees fewer keys; keys (b h r n) int64, -1 there."""

    scores: Float[Tensor, "b h r n"]
    keys: Int[Tensor, "b h r n"]

    def merge(self, other: Top) -> Top:
        """The largest of both, as many as either holds; halves of the keys may come in any order."""
        size = max(self.keys.shape[-1], other.keys.shape[-1])
        scores = torch.cat([self.scores, other.scores], dim=-1)
        keys = torch.cat([self.keys, other.keys], dim=-1)
        keys, order = keys.sort(dim=-1, stable=True)
        scores, order = torch.sort(scores.gather(-1, order), dim=-1, descending=True, stable=True)
        return Top(scores[..., :size], keys.gather(-1, order[..., :size]))


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
    """The largest and their columns. Columns go in groups: the top is within the `size` groups of
    largest maximum."""
    columns = scores.shape[-1]
    width = 2 ** round(math.log2(math.sqrt(columns / size))) if size else 1
    if width < 2:
        return _largest(scores, size)
    short = -columns % width
    if short:
        scores = torch.nn.functional.pad(scores, (0, short), value=-torch.inf)
    groups = scores.reshape(*scores.shape[:-1], -1, width)
    _, chosen = _largest(groups.amax(dim=-1), min(size, groups.shape[-2]))
    chosen = chosen.sort(dim=-1).values  # in order of columns, so that ties still go to the lowest
    near = groups.gather(-2, chosen[..., None].expand(*chosen.shape, width)).flatten(-2)
    values, place = _largest(near, size)
    return values, chosen.gather(-1, place // width) * width + place % width


def _largest(x: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """The `size` largest of the last axis and where they are, the lowest index on ties."""
    seen = min(size + 1, x.shape[-1])  # one more shows whether the last place is shared
    values, index = x.topk(seen, dim=-1)
    shared = ((values[..., 1:] == values[..., :-1]) & (values[..., 1:] > -torch.inf)).any(dim=-1)
    if bool(shared.any()):  # topk breaks ties as it likes
        ordered = torch.sort(x[shared], dim=-1, descending=True, stable=True)
        values[shared], index[shared] = ordered.values[:, :seen], ordered.indices[:, :seen]
    return values[..., :size], index[..., :size]
