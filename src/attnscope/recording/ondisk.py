"""The shelf of one file: its tensors are mapped into memory when they are first asked for, each held against
its own checksum then.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from attnscope.core.certificate import Certificate
from attnscope.core.fold import Summary
from attnscope.core.scoring import Scoring
from attnscope.core.tile import Normaliser
from attnscope.core.verdict import Thresholds
from attnscope.errors import BrokenRecording
from attnscope.recording.calls import Calls
from attnscope.recording.files import CHANGED, broken, digest
from attnscope.recording.header import Header, read_header
from attnscope.recording.manifest import NAME, checksum_in
from attnscope.recording.mixes import OLDER, Lengths
from attnscope.recording.packing import (
    ALIGNED,
    Records,
    unpack_calls,
    unpack_scoring,
)
from attnscope.recording.strips import bytes_of

KINDS: dict[str, type] = {
    "Certificate": Certificate,
    "Lengths": Lengths,
    "Summary": Summary,
    "Thresholds": Thresholds,
    "Normaliser": Normaliser,
}
"""The only things that are ever built from a file."""

MALFORMED = (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, RuntimeError)
"""What plain data raises where something is built from it that it does not fit."""


@dataclass(eq=False)
class Home:
    """The folder of a recording; it moves once, when a recording that was being written is whole."""

    path: Path
    checksum: str | None = None  # of the manifest, once there is one


@dataclass(frozen=True, eq=False)
class OnDisk:
    """The shelf of one file. Safe to share between threads.

    sha256: of the whole file, as formats 1 and 2 have it; None where each tensor has its own in `sums`.
    """

    home: Home
    file: str
    header: Header
    sha256: str | None
    sums: Mapping[str, str]
    orders: Mapping[str, list[int]]
    stored: Mapping[str, Any]
    _held: dict[str, Tensor] = field(default_factory=dict, init=False, repr=False)

    @property
    def path(self) -> Path:
        """Where the file is now."""
        return self.home.path / self.file

    @property
    def names(self) -> frozenset[str]:
        """The tensors that it holds."""
        return frozenset(self.header.tensors)

    def tensor(self, name: str) -> Tensor | None:
        """q, k, v or out; None where it was not kept."""
        return self.fetch(name) if name in self.header.tensors else None

    def fetch(self, name: str) -> Tensor:
        """A tensor of the file, in the memory order in which it was recorded. Raises BrokenRecording."""
        if name not in self._held:
            if name not in self.header.tensors:
                raise broken(self.path, f"it holds no {name!r}")
            order = list(self.orders.get(name, range(0)))
            tensor = self._open.get_tensor(name)
            if self.sha256 is None and hashlib.sha256(bytes_of(tensor)).hexdigest() != self.sums[name]:
                raise self._changed(f"in {name}, ")
            if tensor.data_ptr() % ALIGNED:
                tensor = tensor.clone()
            self._held[name] = (
                tensor.permute([order.index(axis) for axis in sorted(order)]) if order else tensor
            )
        return self._held[name]

    def check(self, heard: Callable[[int], object] = lambda count: None) -> Iterator[BrokenRecording]:
        """Reads the whole file against its checksums, and gives each fault; heard(n): n bytes more are read.

        One fault a tensor; of a file of format 1 or 2, one for the file.
        """
        if self.sha256 is not None:
            places = {"": (0, self.size, self.sha256)}
        else:
            places = {"in its header, ": (0, self.header.first, self.header.sha256)}
            for name, one in self.header.tensors.items():
                places[f"in {name}, "] = one.begin, one.end, self.sums[name]
        for where, (begin, end, wanted) in places.items():
            try:
                if digest(self.path, begin, end) != wanted:
                    yield self._changed(where)
            except BrokenRecording as fault:
                yield fault
            heard(end - begin)

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return max((one.end for one in self.header.tensors.values()), default=self.header.first)

    def _changed(self, where: str) -> BrokenRecording:
        return self._replaced() or broken(self.path, f"{where}{CHANGED}")

    def _replaced(self) -> BrokenRecording | None:
        """What is to be said where the folder is gone, or holds another recording by now."""
        if not self.home.path.is_dir():
            return BrokenRecording(
                f"{self.home.path} is not there any more: the recording was deleted or moved",
                file=self.file, fault="its folder is gone", hint="Load it from where it is now",
            )  # fmt: skip
        if self.home.checksum is None or checksum_in(self.home.path) == self.home.checksum:
            return None
        return BrokenRecording(
            f"{self.path}: another recording was written in its place after this one was loaded",
            file=self.file, fault="it belongs to another recording", hint="Load it again",
        )  # fmt: skip

    @cached_property
    def _open(self) -> Any:
        try:
            if self.sha256 is not None and digest(self.path) != self.sha256:
                raise self._changed("")
            if read_header(self.path, self.size).sha256 != self.header.sha256:
                raise self._changed("in its header, ")
            return safe_open(str(self.path), framework="pt", device="cpu")
        except BrokenRecording as fault:
            raise self._replaced() or fault from fault
        except (SafetensorError, OSError) as error:
            raise self._replaced() or broken(self.path, str(error)) from error

    @cached_property
    def scoring(self) -> Scoring:
        """What happened between q.k and softmax."""
        scoring: Scoring = self._built("scoring", lambda plain: unpack_scoring(plain, self.fetch, self.names))
        return scoring

    @cached_property
    def normaliser(self) -> Normaliser:
        """(peak, logsum) of every row."""
        return Normaliser(self.fetch("peak"), self.fetch("logsum"))

    @cached_property
    def certificate(self) -> Certificate | None:
        """The verdict on every head, made at the call."""
        certificate: Certificate | None = self._record("certificate", "Certificate")
        return certificate

    @cached_property
    def summary(self) -> Summary | None:
        """The summary made at the call, where one was kept."""
        summary: Summary | None = self._record("summary", "Summary")
        return summary

    def summed(self, *names: str) -> Mapping[str, Any] | None:
        """Some fields of the summary by their names; no tensor of another one is read. Raises
        BrokenRecording.
        """
        if "summary" not in self.stored:
            return None
        sums: Mapping[str, Any] = self._built(
            "summary", lambda plain: self._records.fields("Summary", plain, "summary", wanted=names)
        )
        return sums

    @property
    def device(self) -> torch.device:
        """Where its tensors come to lie."""
        return torch.device("cpu")

    @cached_property
    def calls(self) -> Calls | None:
        """The calls of a joined site."""
        if "calls" not in self.stored:
            return None
        calls: Calls = self._built("calls", lambda plain: unpack_calls(plain, self.fetch))
        return calls

    @cached_property
    def lengths(self) -> Lengths:
        """How long each key's value is, or why that is not known."""
        return self._record("lengths", "Lengths") or OLDER

    @property
    def way_on(self) -> tuple[str | None, str | None]:
        """`through` and `why` of the lengths, told without reading them."""
        if "lengths" not in self.stored:
            return OLDER.through, OLDER.why
        told: tuple[str | None, str | None] = self._built(
            "lengths", lambda plain: (plain["through"], plain["why"])
        )
        return told

    def _record(self, name: str, kind: str) -> Any:
        if name not in self.stored:
            return None
        return self._built(name, lambda plain: self._records.unpack(kind, plain, name))

    @property
    def _records(self) -> Records:
        return Records(KINDS, self.fetch, self.header.tensors)

    def _built(self, name: str, build: Callable[[Any], Any]) -> Any:
        try:
            return build(self.stored[name])
        except BrokenRecording:
            raise
        except MALFORMED as error:
            manifest = self.path.parent / NAME
            raise broken(manifest, f"its {name} for {self.path.name} is malformed ({error!r})") from error
