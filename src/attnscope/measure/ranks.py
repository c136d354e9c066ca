"""The processes among which a survey is divided, as `torchrun` starts them; without it there is one.

Text n is measured by rank n modulo their number, and each rank then gets what all of them found, text by
text: no sum is made across ranks, so that two give the very numbers of one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import distributed

from attnscope.errors import AttnscopeError


@dataclass(frozen=True)
class Ranks:
    """rank: the number of this process among `size`."""

    rank: int = 0
    size: int = 1

    @property
    def first(self) -> bool:
        """Whether this is the process that writes the table."""
        return self.rank == 0

    def own(self, count: int) -> range:
        """The texts of this rank, out of `count`."""
        return range(self.rank, count, self.size)

    def gathered(self, own: list[str]) -> list[str]:
        """The texts that all ranks found, those of rank 0 first; every rank calls this once."""
        if self.size == 1:
            return own
        mine = torch.frombuffer(bytearray("\n".join(own).encode()) or bytearray(b"\n"), dtype=torch.uint8)
        sizes = [torch.zeros(1, dtype=torch.int64) for _ in range(self.size)]
        distributed.all_gather(sizes, torch.tensor([len(mine)]))
        longest = max(int(size) for size in sizes)
        padded = torch.zeros(longest, dtype=torch.uint8)
        padded[: len(mine)] = mine
        parts = [torch.zeros(longest, dtype=torch.uint8) for _ in range(self.size)]
        distributed.all_gather(parts, padded)
        texts = [bytes(part[: int(size)].tolist()).decode() for part, size in zip(parts, sizes, strict=True)]
        return [line for text in texts for line in text.split("\n") if line]


@contextmanager
def ranks() -> Iterator[Ranks]:
    """The ranks of this run: those of torchrun's environment over gloo, or one. A group that the program has
    begun already is used, and left as it is. Raises AttnscopeError where they cannot meet.
    """
    if not distributed.is_available() or int(os.environ.get("WORLD_SIZE", "1")) < 2:
        yield Ranks()
        return
    begun = distributed.is_initialized()
    if not begun:
        try:
            distributed.init_process_group("gloo")
        except (RuntimeError, ValueError) as error:
            raise AttnscopeError(
                f"The processes of this survey did not find each other ({error})",
                hint="torchrun --nproc-per-node 2 -m attnscope heads … starts two on one machine",
            ) from error
    try:
        yield Ranks(distributed.get_rank(), distributed.get_world_size())
    finally:
        if not begun:
            distributed.destroy_process_group()
