"""Places put together: the pieces of a word, or a place of one text and its fellow in another.

A weight *to* a group is the sum over its keys; a weight *from* a group is the mean over its queries (Clark
et al. 2019, section 4.1; Kovaleva et al. 2019). Sums keep the mass of a row, means keep it 1 at most: nothing
is renormalised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attnscope.errors import ShapeError


@dataclass(frozen=True, eq=False)
class Groups:
    """of: the group of each place, (n) int64, -1 where it is in none.   count: how many groups there are."""

    of: Int[Tensor, " n"] = field(repr=False)
    count: int

    @cached_property
    def sizes(self) -> Int[Tensor, " count"]:
        """How many places each group has."""
        return torch.bincount(self.of[self.of >= 0], minlength=self.count)

    def places(self) -> list[list[int]]:
        """The places of each group, in order."""
        found: list[list[int]] = [[] for _ in range(self.count)]
        for place, group in enumerate(self.of.tolist()):
            if group >= 0:
                found[group].append(place)
        return found

    def of_keys(self, block: Float[Tensor, "r n"]) -> Float[Tensor, "r count"]:
        """Weights to each group: the sum over its keys. Raises ShapeError."""
        self._check(block, 1)
        summed = block.new_zeros(block.shape[0], self.count)
        if self._straight:
            summed[:, : block.shape[1]] = block
            return summed
        inside = (self.of >= 0).to(block.device)
        return summed.index_add_(1, self.of.to(block.device)[inside], block[:, inside])

    def of_queries(self, block: Float[Tensor, "n c"]) -> Float[Tensor, "count c"]:
        """Weights from each group: the mean over its queries, NaN without one. Raises ShapeError."""
        self._check(block, 0)
        inside = (self.of >= 0).to(block.device)
        summed = block.new_zeros(self.count, block.shape[1])
        summed.index_add_(0, self.of.to(block.device)[inside], block[inside])
        return summed / self.sizes.to(block.device)[:, None]

    def seen(self, visible: Bool[Tensor, "r n"], axis: int) -> Tensor:
        """Whether any place of each group along an axis (0 or 1) is visible."""
        own = visible if axis == 1 else visible.T
        found = self.of_keys(own.to(torch.float32)) > 0
        return found if axis == 1 else found.T

    @cached_property
    def _straight(self) -> bool:
        """Whether place n is group n, as where nothing is put together: then nothing is added up."""
        return torch.equal(self.of, torch.arange(len(self.of)))

    def _check(self, block: Tensor, axis: int) -> None:
        if block.dim() != 2 or block.shape[axis] != len(self.of):
            raise ShapeError(f"A block {tuple(block.shape)}", wanted=f"{len(self.of)} places on axis {axis}")


def groups_of(ranges: Sequence[range], size: int) -> Groups:
    """Groups of neighbouring places, one for each range, among `size` places."""
    of = torch.full((size,), -1, dtype=torch.int64)
    for group, places in enumerate(ranges):
        of[places.start : places.stop] = group
    return Groups(of, len(ranges))
