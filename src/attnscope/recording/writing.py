"""A recording written to disk: one safetensors file a site, the manifest last, the folder whole or not at
all.

The folder is built as `.NAME.new-…` beside its place. An older recording is moved aside to `.NAME.old-…`,
the new one moved in, the old one removed; `load` understands every state in between.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from attnscope.errors import RecordingError
from attnscope.recording.manifest import FORMAT, NAME, VERSION, describe, libraries, seal
from attnscope.recording.places import PICTURE, file_name
from attnscope.recording.reading import Home, shelf_of
from attnscope.recording.recording import Recording
from attnscope.recording.sheet import write_site
from attnscope.recording.site import Site
from attnscope.recording.strips import FileStrip

OWN = re.compile(r"run\d{4,}-site\d{4,}\.safetensors")
"""The names that files of sites have."""

ABANDONED = 3600.0
"""Seconds without a file that is new or has grown, after which a half-written folder is abandoned."""


def write(recording: Recording, path: Path) -> Path:
    """The recording as a folder at `path`. Raises RecordingError where something else is in its place, or
    where the system refuses.
    """
    partial = Partial(path)
    try:
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
    _written: dict[Site, dict[str, Any]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.path = Path(os.path.abspath(self.path))  # noqa: PTH100 - resolve() would follow a link
        with self._refusals():
            _refuse_foreign(self.path)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.home = Home(self.path.parent / f".{self.path.name}.new-{uuid.uuid4().hex[:12]}")
            self.home.path.mkdir()

    def strip(self, name: str) -> FileStrip:
        """Room for a tensor that grows, in a file of that name."""
        return FileStrip(self.home.path / f"{name}.growing")

    def keep(self, site: Site, name: str) -> Site:
        """Writes a site now; the same site, whose tensors lie in its file."""
        entry = write_site(site, self.home.path / name)
        kept = replace(site, shelf=shelf_of(self.home, entry))
        self._written[kept] = entry
        return kept

    def commit(self, recording: Recording) -> Path:
        """Writes what is not written yet, the manifest last, and puts the folder in its place."""
        with self._refusals():
            _fill(recording, self.home.path, self._written)
            _put_in_place(self.home.path, self.path)
        self.home.path = self.path  # from here on it is saved, whatever tidying up meets
        _sync(self.path.parent)
        _clear_leftovers(self.path)
        return self.path

    def discard(self) -> None:
        """Removes the folder, if it is not in its place."""
        if self.home.path != self.path:
            shutil.rmtree(self.home.path, ignore_errors=True)

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise cannot_write(error, self.path) from error


def cannot_write(error: OSError, path: Path) -> RecordingError:
    """What the system refused, in a sentence."""
    return RecordingError(
        f"{error.filename or path} cannot be written: {error.strerror or error}",
        wanted="A place with room, in which files may be made",
        hint="Choose another path; an older recording in this place is as it was",
    )


def check_place(path: Path) -> None:
    """Refuse a path at which no recording can be written, before anything runs. Raises RecordingError."""
    try:
        _refuse_foreign(Path(os.path.abspath(path)))  # noqa: PTH100 - as in write
    except OSError as error:
        raise RecordingError(
            f"{error.filename or path} cannot be used: {error.strerror or error}",
            wanted="A place in which files may be made",
        ) from error


def _put_in_place(fresh: Path, path: Path) -> None:
    """The old recording aside, the new one in, the old one back where that fails."""
    old = path.parent / fresh.name.replace(".new-", ".old-")
    try:
        if path.exists():
            path.rename(old)
        fresh.rename(path)
    except BaseException:
        if old.exists() and not path.exists():
            old.rename(path)
        raise


def _clear_leftovers(path: Path) -> None:
    """Removes what killed saves left beside `path`, which is whole now; not what may still be written."""
    name = _literal(path.name)
    for left in path.parent.glob(f".{name}.old-*"):
        shutil.rmtree(left, ignore_errors=True)
    for left in path.parent.glob(f".{name}.new-*"):
        with suppress(OSError):  # another save may be taking it away, or it is somebody else's
            if time.time() - max(one.stat().st_mtime for one in (left, *left.iterdir())) > ABANDONED:
                shutil.rmtree(left, ignore_errors=True)


def _fill(recording: Recording, folder: Path, written: Mapping[Site, dict[str, Any]]) -> None:
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "libraries": libraries(),
        **describe(recording),
    }
    for run, described in zip(recording.runs, manifest["runs"], strict=True):
        for site, entry in zip(run.sites, described["sites"], strict=True):
            name = f"run{run.index:04d}-site{site.index:04d}.safetensors"
            of_file = written[site] if site in written else write_site(site, folder / name)
            entry.update({key: value for key, value in of_file.items() if key != "names"})
    for left in folder.glob("*.growing"):
        left.unlink()
    for stack, places in recording.places.items():
        if places.picture is not None:
            _write_bytes(folder / file_name(stack), places.picture)
    try:
        text = json.dumps(manifest | {"checksum": seal(manifest)}, indent=1, ensure_ascii=False)
    except TypeError as error:
        raise RecordingError(f"The recording's tokens or model cannot be written as JSON: {error}") from error
    _write_bytes(folder / NAME, text.encode())
    _sync(folder)


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
        return FORMAT in manifest.read_bytes()[:4096].decode("utf-8", "replace")
    except OSError:
        return False


def _write_bytes(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """Makes the names in a folder lasting, where the system can: some file systems refuse."""
    if os.name != "posix":
        return
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _literal(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)
