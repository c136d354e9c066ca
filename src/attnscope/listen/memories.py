"""What is known of memory for as long as somebody holds it: tensors that are views of each other share it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor
from torch.multiprocessing import reductions

# an untyped class of torch's: an address that is not given away while it is held
_weak: Callable[[Any], Any] = reductions.StorageWeakRef

MANY = 64
"""Past so many entries those of memory that is gone are dropped."""

Known = TypeVar("Known")


def strided(tensor: Tensor) -> bool:
    """Whether a tensor lies in memory of its own kind: no sparse or nested one."""
    return tensor.layout is torch.strided and not tensor.is_nested


class Memories(Generic[Known]):
    """Something known of each of several memories; none is kept alive by it."""

    def __init__(self) -> None:
        self._of: dict[int, tuple[Any, Known]] = {}

    def __bool__(self) -> bool:
        if not self._of:
            return False
        if any(source.expired() for source, _ in self._of.values()):
            self.drop_gone()  # else every call would be followed for what nobody holds
        return bool(self._of)

    def of(self, tensor: Tensor) -> Known | None:
        """What is known of the memory in which a tensor lies, None where nothing is."""
        if not self._of or not strided(tensor):
            return None
        found = self._of.get(tensor.untyped_storage()._cdata)
        return None if found is None or found[0].expired() else found[1]

    def keep(self, tensor: Tensor, known: Known) -> None:
        """From here on this is known of the memory in which a tensor lies."""
        if len(self._of) >= MANY:
            self.drop_gone()
        source = _weak(tensor.untyped_storage())
        self._of[source.cdata] = (source, known)

    def drop_gone(self) -> None:
        """Forgets memory that nobody holds any more."""
        self._of = {at: one for at, one in self._of.items() if not one[0].expired()}

    def clear(self) -> None:
        """Forgets everything."""
        self._of.clear()
