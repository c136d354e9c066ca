"""Room on the disk: how much there is, how much is wanted, and a refusal where the one does not hold the
other.
"""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from attnscope.errors import NoRoom, RecordingError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the system says where a file finds no room."""


def free_at(path: Path) -> int:
    """Bytes that may still be written where `path` is to be. Raises OSError."""
    there = Path(os.path.abspath(path)).parent  # noqa: PTH100 - as in writing
    while not there.exists() and there != there.parent:
        there = there.parent
    return shutil.disk_usage(there).free


def taken(folder: Path) -> int:
    """The bytes of all files of a recording, its manifest and pictures included. Raises OSError."""
    return sum(file.stat().st_size for file in folder.iterdir() if file.is_file())


def need(path: Path, count: int) -> None:
    """Refuse to write `count` bytes to `path` where they find no room. Raises NoRoom.

    An older recording in its place counts as kept: it is removed when the new one is whole.
    """
    try:
        free = free_at(path)
    except OSError:
        return  # the writing itself says what is wrong
    if count > free:
        raise NoRoom(
            f"{path} is to take about {size(count)}, and the disk has {size(free)} left",
            wanted="A place with room",
            hint='Choose another path, fewer layers or heads, or keep="qk" or "summary"',
        )


def cannot_write(error: OSError, path: Path) -> RecordingError:
    """What the system refused, in a sentence."""
    return (NoRoom if error.errno in FULL else RecordingError)(
        f"{error.filename or path} cannot be written: {error.strerror or error}",
        wanted="A place with room, in which files may be made",
        hint="Choose another path; an older recording in this place is as it was",
    )


def size(count: int) -> str:
    """A number of bytes as a person reads it.

    >>> size(812), size(81_200), size(5 * 2**20), size(3 * 2**30)
    ('812 bytes', '79.3 KB', '5.0 MB', '3.0 GB')
    """
    if count < 2**10:
        return f"{count} bytes"
    unit, step = next((u, s) for u, s in (("GB", 2**30), ("MB", 2**20), ("KB", 2**10)) if count >= s)
    return f"{count / step:,.1f} {unit}"
