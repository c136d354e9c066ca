"""A recording written to disk: one safetensors file a site, the manifest last, the folder whole or not at
all.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from attnscope.errors import BrokenRecording, RecordingError
from attnscope.recording.entries import shelf_of
from attnscope.recording.files import opened
from attnscope.recording.folders import begin, one_at_a_time, put_in_place, sync
from attnscope.recording.manifest import FORMAT, LARGEST, NAME, VERSION, describe, libraries, seal
from attnscope.recording.ondisk import Home
from attnscope.recording.overview import with_overview
from attnscope.recording.places import PICTURE, file_name
from attnscope.recording.recording import Recording
from attnscope.recording.room import cannot_write, need, size
from attnscope.recording.sheet import size_of, write_site
from attnscope.recording.site import Site
from attnscope.recording.strips import FileStrip

OWN = re.compile(r"run\d{4,}-site\d{4,}\.safetensors")
"""The names that files of sites have."""


def write(recording: Recording, path: Path) -> Path:
    """The recording as a folder at `path`. Raises RecordingError where something else is in its place, or
    where the system refuses; NoRoom where the disk cannot hold it.
    """
    partial = Partial(path)
    try:
        need(path, sum(size_of(site) for run in recording.runs for site in run.sites))
        return partial.commit(recording)
    except BaseException:
        partial.discard()
        raise


@dataclass(eq=False)
class Partial:
    """A folder that is being written, hidden beside its place at `path`, until it is whole.

    Raises RecordingError where something else is in that place, or where the system refuses.
    """

    path: Path
    home: Home = field(init=False)
    _lock: int | None = field(default=None, init=False)
    _written: dict[Site, dict[str, Any]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.path = Path(os.path.abspath(self.path))  # noqa: PTH100 - resolve() would follow a link
        with self._refusals():
            _refuse_foreign(self.path)
            folder, self._lock = begin(self.path)
        self.home = Home(folder)

    def strip(self, name: str) -> FileStrip:
        """Room for a tensor that grows, in a file of that name."""
        return FileStrip(self.home.path / f"{name}.growing")

    def keep(self, site: Site, name: str) -> Site:
        """Writes a site now; the same site, whose tensors lie in its file."""
        entry = write_site(with_overview(site), self.home.path / name)
        kept = replace(site, shelf=shelf_of(self.home, entry))
        self._written[kept] = entry
        return kept

    def commit(self, recording: Recording) -> Path:
        """Writes what is not written yet, the manifest last, and puts the folder in its place."""
        fresh = self.home.path
        with self._refusals():
            manifest = _fill(recording, fresh, self._written)
            with one_at_a_time(self.path.parent):
                _refuse_foreign(self.path)
                _write_manifest(fresh, manifest)
                put_in_place(fresh, self.path)
                self.home.path, self.home.checksum = self.path, manifest["checksum"]
                self._let_go()
        return self.path

    def discard(self) -> None:
        """Removes the folder, if it is not in its place."""
        if self.home.path != self.path:
            shutil.rmtree(self.home.path, ignore_errors=True)
        self._let_go()

    def _let_go(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise cannot_write(error, self.path) from error


def check_place(path: Path) -> None:
    """Refuse a path at which no recording can be written, before anything runs. Raises RecordingError.

    Leaves nothing behind: a hidden folder is made beside it, or in the nearest folder that is there, and
    removed.
    """
    path = Path(os.path.abspath(path))  # noqa: PTH100 - as in write
    try:
        _refuse_foreign(path)
        there = next(one for one in path.parents if os.path.lexists(one))
        tempfile.TemporaryDirectory(prefix=f".{path.name}.try-", dir=there).cleanup()
    except OSError as error:
        # its own file name is the hidden folder's, which nobody asked for
        raise cannot_write(OSError(error.errno, error.strerror), path) from error


def _fill(recording: Recording, folder: Path, written: Mapping[Site, dict[str, Any]]) -> dict[str, Any]:
    """Everything but the manifest, which it gives."""
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "libraries": libraries(),
        **describe(recording),
    }
    for run, described in zip(recording.runs, manifest["runs"], strict=True):
        for site, entry in zip(run.sites, described["sites"], strict=True):
            name = f"run{run.index:04d}-site{site.index:04d}.safetensors"
            known = written.get(site)
            of_file = write_site(with_overview(site), folder / name) if known is None else known
            entry.update(of_file)
    for left in folder.glob("*.growing"):
        left.unlink()
    for stack, places in recording.places.items():
        if places.picture is not None:
            _write_bytes(folder / file_name(stack), places.picture)
    try:
        return manifest | {"checksum": seal(manifest)}
    except (TypeError, ValueError) as error:
        raise RecordingError(f"The recording's tokens or model cannot be written as JSON: {error}") from error


def _write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Under another name first: where a manifest stands, it is whole."""
    text = json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False)
    data = text.encode("utf-8", "backslashreplace")  # half a surrogate pair is written as JSON escapes it
    if len(data) > LARGEST:
        raise RecordingError(
            f"What is said of the recording and its tokens takes {size(len(data))}",
            wanted=f"At most {size(LARGEST)}",
            hint="Record a shorter text",
        )
    unfinished = folder / f"{NAME}.unfinished"
    _write_bytes(unfinished, data)
    unfinished.rename(folder / NAME)
    sync(folder)


def _refuse_foreign(path: Path) -> None:
    """Only a recording is replaced, and only where nothing else lies in its folder or points at it."""
    if path.is_symlink():
        what = f"{path} is a link"
    elif not path.exists():
        return
    elif not path.is_dir() or (any(path.iterdir()) and not _is_ours(path / NAME)):
        what = f"{path} exists and is not a recording"
    else:
        others = sorted(
            one.name
            for one in path.iterdir()
            if one.name != NAME and not OWN.fullmatch(one.name) and not PICTURE.fullmatch(one.name)
        )
        if not others:
            return
        what = f"{path} is a recording that also holds {', '.join(others[:3])}, which would be lost"
    raise RecordingError(
        what,
        wanted="A free name, or a recording to replace",
        hint="Nothing was written; choose another path",
    )


def _is_ours(manifest: Path) -> bool:
    try:
        with opened(manifest) as file:
            return FORMAT in file.read(4096).decode("utf-8", "replace")
    except (BrokenRecording, OSError):
        return False


def _write_bytes(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
