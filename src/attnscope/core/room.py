"""Memory that the tiles of a walk use one after the other: large tensors cost more to get than to fill."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor


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

    def zeros(self, name: str, shape: Sequence[int], dtype: torch.dtype, device: torch.device) -> Tensor:
        """One that was zeros when this shape was asked for first, and holds what was written since then."""
        held = self._held.get(name)
        if held is None or held.shape != torch.Size(shape) or held.dtype != dtype or held.device != device:
            self._held[name] = held = torch.zeros(*shape, dtype=dtype, device=device)
        return held
