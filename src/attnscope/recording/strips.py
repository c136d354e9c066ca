"""Tensors that grow along their rows or keys while a model generates: in memory by blocks, or in a file.

The growing axis is axis 2. Nothing that is held is copied when something is added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor

ROOM = 64
"""Rows for which a new block has room, at least."""


class Strip(Protocol):
    """A tensor (b h t ..) that grows along t."""

    size: int

    def append(self, x: Tensor) -> None:
        """Adds rows (b h r ..); they are copied."""

    def cut(self, size: int) -> None:
        """Keeps the first `size` rows."""

    def reorder(self, parents: Sequence[int]) -> None:
        """Puts batch entry parents[b] in the place of b."""

    def whole(self) -> Tensor:
        """All of it."""

    def drop(self) -> None:
        """Lets it go."""


@dataclass(eq=False)
class MemoryStrip:
    """In memory: the first part as it came, in its own memory order, then blocks with room."""

    size: int = 0
    _blocks: list[Tensor] = field(default_factory=list, repr=False)
    _used: int = 0  # rows of the last block

    def append(self, x: Tensor) -> None:
        """Adds rows; those that fit go into the last block."""
        x = x.detach()
        self.size += x.shape[2]
        if not self._blocks:
            self._blocks, self._used = [x.clone()], x.shape[2]
            return
        last = self._blocks[-1]
        fits = min(x.shape[2], last.shape[2] - self._used)
        last[:, :, self._used : self._used + fits] = x[:, :, :fits]
        self._used += fits
        rest = x[:, :, fits:]
        if rest.shape[2]:
            shape = list(x.shape)
            shape[2] = max(rest.shape[2], ROOM)
            self._close()
            self._blocks.append(x.new_empty(shape))
            self._blocks[-1][:, :, : rest.shape[2]] = rest
            self._used = rest.shape[2]

    def cut(self, size: int) -> None:
        """Drops what lies past `size`."""
        while self._blocks and self.size - self._used >= size and len(self._blocks) > 1:
            self.size -= self._used
            self._blocks.pop()
            self._used = self._blocks[-1].shape[2]
        self._used -= max(self.size - size, 0)
        self.size = min(self.size, size)

    def reorder(self, parents: Sequence[int]) -> None:
        """Copies each block once."""
        order = list(parents)
        self._blocks = [block[order] for block in self._blocks]

    def whole(self) -> Tensor:
        """All of it; where it is one part, that part itself."""
        parts = [*self._blocks[:-1], self._blocks[-1].narrow(2, 0, self._used)]
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=2)

    def last(self) -> Tensor:
        """The last row, (b h 1 ..)."""
        return self._blocks[-1].narrow(2, self._used - 1, 1)

    def drop(self) -> None:
        """Lets the blocks go; what whole() gave stays."""
        self._blocks, self._used, self.size = [], 0, 0

    def _close(self) -> None:
        """The last block without its room."""
        self._blocks[-1] = self._blocks[-1].narrow(2, 0, self._used)


@dataclass(eq=False)
class FileStrip:
    """In a plain file, row after row: (t b h ..). It is opened for each write, so that a long list of layers
    does not exhaust the open files; the rows of single steps are written ROOM at a time.
    """

    path: Path
    size: int = 0
    _shape: tuple[int, ...] = ()  # of one row: (b h ..)
    _dtype: torch.dtype = torch.float32
    _room: Tensor | None = field(default=None, repr=False)  # of rows that wait, (ROOM b h ..)
    _waiting: int = 0

    def append(self, x: Tensor) -> None:
        """Writes the rows at the end of the file, now or with those that follow."""
        rows = x.detach().movedim(2, 0)
        self._shape, self._dtype = tuple(rows.shape[1:]), x.dtype
        self.size += len(rows)
        if self._waiting + len(rows) > ROOM:
            self._write()
        if len(rows) > ROOM:
            with self.path.open("ab") as file:
                file.write(bytes_of(rows))
            return
        if self._room is None:
            self._room = torch.empty(ROOM, *self._shape, dtype=x.dtype)
        self._room[self._waiting : self._waiting + len(rows)] = rows
        self._waiting += len(rows)

    def cut(self, size: int) -> None:
        """Shortens the file."""
        if size < self.size:
            self._write()
            with self.path.open("r+b") as file:
                file.truncate(size * self._row)
            self.size = size

    def reorder(self, parents: Sequence[int]) -> None:
        """Writes the file anew, some rows at a time."""
        rows, order = self.whole().movedim(2, 0), list(parents)
        fresh = self.path.with_suffix(".reordered")
        with fresh.open("wb") as file:
            for i in range(0, self.size, ROOM):
                file.write(bytes_of(rows[i : i + ROOM, order]))
        fresh.replace(self.path)

    def whole(self) -> Tensor:
        """All of it, mapped into memory; the file must stay as it is while this is in use."""
        self._write()
        if not self.size:
            return torch.empty(0, *self._shape, dtype=self._dtype).movedim(0, 2)
        count = self.size * self._row // self._dtype.itemsize
        flat = torch.from_file(str(self.path), shared=False, size=count, dtype=self._dtype)
        return flat.view(self.size, *self._shape).movedim(0, 2)

    def drop(self) -> None:
        """Removes the file."""
        self.path.unlink(missing_ok=True)
        self._room, self._waiting, self.size = None, 0, 0

    def _write(self) -> None:
        """Writes the rows that wait. The file is there afterwards, be it empty."""
        with self.path.open("ab") as file:
            if self._room is not None:
                file.write(bytes_of(self._room[: self._waiting]))
        self._waiting = 0

    @property
    def _row(self) -> int:
        """Bytes of one row."""
        return torch.Size(self._shape).numel() * self._dtype.itemsize


def bytes_of(x: Tensor) -> memoryview:
    """The bytes of a tensor in the order of its axes; copied only where they do not lie so."""
    flat = x.detach().cpu().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().data
