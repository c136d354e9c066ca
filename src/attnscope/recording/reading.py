"""A recording read from disk: checked at once for shape and size, its tensors mapped in when they are first
asked for.

`load` checks the manifest's checksum, and every file's length, header and names; a tensor is held against its
own checksum when it is first asked for. load(path, verify=True) and verify(path) read all files through.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from attnscope.errors import BrokenRecording
from attnscope.recording.entries import recording_from
from attnscope.recording.folders import one_at_a_time, whole_folder
from attnscope.recording.manifest import read_manifest
from attnscope.recording.ondisk import Home, OnDisk
from attnscope.recording.recording import Recording
from attnscope.recording.room import taken

Read = Callable[[int, int], object]
"""Called with the bytes that were read, and of how many."""


def load(path: str | Path, *, verify: bool = False) -> Recording:
    """The recording at `path`; tensors stay on disk, mapped into memory, until they are asked for.

    verify: read and check the content of every file now. Raises BrokenRecording, which names the file and
    the fault.
    """
    place = _place(path)
    with one_at_a_time(place.parent, alone=False):  # or the folder could change hands in the middle
        home = Home(whole_folder(place))
        recording = recording_from(home, read_manifest(home.path), _raised)
    if verify:
        for shelf in _shelves(recording):
            for fault in shelf.check():
                raise fault
    return recording


@dataclass(frozen=True)
class Fault:
    """A file of a recording, by its name in the folder, and what is wrong with it."""

    file: str
    fault: str


@dataclass(frozen=True)
class Verified:
    """What reading a whole recording has shown.

    folder: where it lies.   version: of its format, None where the manifest itself is at fault.   files: how
    many it has, the manifest included.   bytes: of all that lies in the folder.   faults: none where all is
    as it was written.
    """

    folder: Path
    version: int | None
    files: int
    bytes: int
    faults: tuple[Fault, ...]

    @property
    def whole(self) -> bool:
        """Whether every byte is as it was written."""
        return not self.faults


def verify(path: str | Path, *, progress: Read | None = None) -> Verified:
    """Reads every file of the recording at `path` and holds it against its checksums.

    Gives all faults, each with its file and, in files of format 3, the tensor. progress(done, total) is told
    the bytes. Raises BrokenRecording where there is no folder at `path`.
    """
    place, faults = _place(path), list[Fault]()

    def found(fault: BrokenRecording) -> None:
        faults.append(Fault(fault.file, fault.fault))

    with one_at_a_time(place.parent, alone=False):
        home = Home(whole_folder(place))
        try:
            manifest = read_manifest(home.path)
            recording = recording_from(home, manifest, found)
        except BrokenRecording as fault:
            found(fault)
            return Verified(home.path, None, 1, taken(home.path), tuple(faults))
    shelves = list(_shelves(recording))
    total, done = sum(shelf.size for shelf in shelves), 0

    def heard(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, total)

    for shelf in shelves:
        for one in shelf.check(heard):
            found(one)
    names = [site["file"] for run in manifest["runs"] for site in run["sites"]]
    names += [stack for stack, said in manifest.get("places", {}).items() if said["picture"] is not None]
    return Verified(home.path, manifest["version"], 1 + len(names), taken(home.path), tuple(faults))


def _place(path: str | Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow a link


def _shelves(recording: Recording) -> Iterator[OnDisk]:
    for run in recording.runs:
        for site in run.sites:
            assert isinstance(site.shelf, OnDisk)  # what was loaded lies in files
            yield site.shelf


def _raised(fault: BrokenRecording) -> None:
    raise fault
