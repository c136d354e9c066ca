"""Memory that the tiles of a walk use one after the other: large tensors cost more to get than to fill."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

KEPT = 2**25
"""Bytes that a thread holds on to between two walks."""


class Room:
    """Tensors by name; what stood in one is lost when the next tile asks for it."""

    def __init__(self) -> None:
        self._held: dict[str, Tensor] = {}

    def take(self, name: str, shape: Sequence[int], dtype: torch.dtype, device: torch.device) -> Tensor:
        """A contiguous tensor of this shape; its numbers are anything."""
        size, held = math.prod(shape), self._held.get(name)
        if held is None or held.numel() < size or held.dtype != dtype or held.device != device:
            self._held[name] = held = torch.empty(size, dtype=dtype, device=device)
        return held[:size].view(*shape)

    def kept(self) -> Room:
        """The same, without what is larger than KEPT together."""
        if sum(held.numel() * held.element_size() for held in self._held.values()) > KEPT:
            self._held.clear()
        return self

    def zeros(self, name: str, shape: Sequence[int], dtype: torch.dtype, device: torch.device) -> Tensor:
        """One that was zeros when this shape was asked for first, and holds what was written since then."""
        held = self._held.get(name)
        if held is None or held.shape != torch.Size(shape) or held.dtype != dtype or held.device != device:
            self._held[name] = held = torch.zeros(*shape, dtype=dtype, device=device)
        return held


_LENT = threading.local()


@contextmanager
def lent() -> Iterator[Room]:
    """The room of this thread, for the length of the block: what is taken from it must not outlive that. A
    block within another gets a room of its own.
    """
    room: Room = _LENT.__dict__.pop("room", None) or Room()
    try:
        yield room
    finally:
        _LENT.room = room.kept()
