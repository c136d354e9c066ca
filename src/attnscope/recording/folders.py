"""The place of a recording and what stands beside it: which folder is whole, who may write, one swap at a
time.

A recording is built as `.NAME.new-…` beside its place, by a writer that holds a lock on that folder for as
long as it lives. An older recording is moved aside to `.NAME.old-…`, the new one moved in, the old one
removed. All that happens to these names happens under a lock on the folder around them, so that two writers
never meet halfway, and what nobody holds is a leftover. The system lets go of the locks of a process that
dies. Where it has no such locks, a folder counts as held until nothing in it has grown for an hour.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attnscope.errors import BrokenRecording
from attnscope.recording.files import broken
from attnscope.recording.manifest import NAME

if sys.platform != "win32":
    import fcntl

ABANDONED = 3600.0
"""Seconds without a file that is new or has grown, after which a folder without locks is a leftover."""

PATIENCE, POLL = 30.0, 0.002
"""Seconds that one swap waits for others, and between two looks."""


def whole_folder(path: Path) -> Path:
    """The folder itself, or where a save was cut short in the middle of its renames, the newest whole one
    beside it. To be called under one_at_a_time(). Raises BrokenRecording where there is neither.
    """
    if path.is_dir():
        return path
    if os.path.lexists(path) and not path.is_symlink():
        raise broken(path, "it is a file, and a recording is a folder")
    newest = _newest(path)
    if newest is None:
        raise BrokenRecording(
            f"There is no recording at {path}", hint="Check the path; save(path) writes one"
        )
    return newest


def begin(path: Path) -> tuple[Path, int | None]:
    """A new folder beside `path` to write to, and what holds it: to be closed by the one who writes.

    What killed writers left is put in order first: a whole recording whose place is free goes there, and the
    rest is removed. Raises OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with one_at_a_time(path.parent):
        if not os.path.lexists(path) and (whole := _newest(path)) is not None:
            with contextlib.suppress(OSError):
                whole.rename(path)
        _clear(path)
        folder = path.parent / f".{path.name}.new-{uuid.uuid4().hex[:12]}"
        folder.mkdir()
        return folder, _held(folder)


def put_in_place(fresh: Path, path: Path) -> None:
    """The old recording aside, the new one in, the old one removed; the old one back where that fails.

    To be called under one_at_a_time(). Raises OSError, after which the old one is in its place.
    """
    old = path.parent / fresh.name.replace(".new-", ".old-")
    try:
        if path.exists():
            path.rename(old)
        fresh.rename(path)
    except BaseException:
        if old.exists() and not path.exists():
            old.rename(path)
        raise
    sync(path.parent)  # the new one is there, whatever becomes of this and of the rest
    _clear(path)


@contextmanager
def one_at_a_time(parent: Path, *, alone: bool = True) -> Iterator[None]:
    """Waits until nobody else swaps recordings in this folder. alone: False lets readers in together.

    Nobody holds it for long: what is held past PATIENCE is held by some other program, and not waited for.
    """
    handle, until = None, time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            handle = _held(parent, alone=alone)
            break
        except BlockingIOError:
            time.sleep(POLL)
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


def sync(folder: Path) -> None:
    """Makes the names in a folder lasting, where the system can: some file systems refuse."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _held(folder: Path, *, alone: bool = True) -> int | None:
    """A handle that holds a lock on a folder until it is closed, None where the system gives none.

    Raises BlockingIOError where another holds it.
    """
    if sys.platform == "win32":
        return None
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(handle, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise
    except OSError:
        os.close(handle)
        return None
    return handle


def _newest(path: Path) -> Path | None:
    """The newest whole recording that was to come to `path`, or came from there."""
    whole = [one for one in _beside(path, "new") + _beside(path, "old") if (one / NAME).is_file()]
    return max(whole, key=lambda one: (one / NAME).stat().st_mtime_ns, default=None)


def _clear(path: Path) -> None:
    """Removes what nobody holds beside `path`; what was moved aside only where `path` stands."""
    for left in _beside(path, "new") + (_beside(path, "old") if path.exists() else []):
        with contextlib.suppress(OSError):
            handle = _held(left)
            if handle is not None or _is_old(left):
                shutil.rmtree(left, ignore_errors=True)
            if handle is not None:
                os.close(handle)


def _is_old(folder: Path) -> bool:
    return ".old-" in folder.name or (
        time.time() - max(one.stat().st_mtime for one in (folder, *folder.iterdir())) > ABANDONED
    )


def _beside(path: Path, what: str) -> list[Path]:
    start = f".{path.name}.{what}-"
    try:
        return [one for one in path.parent.iterdir() if one.name.startswith(start)]
    except OSError:
        return []
