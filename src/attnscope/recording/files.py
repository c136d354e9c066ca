"""Files of a recording opened with care: a regular file, never a link or a pipe, and JSON that means one
thing.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from attnscope.errors import BrokenRecording

PIECE = 2**20
"""Bytes that are read together."""

CHANGED = "its content does not fit its checksum: it was changed after it was written"


def broken(path: Path, fault: str) -> BrokenRecording:
    """The error that names a file and its fault."""
    return BrokenRecording(
        f"{path}: {fault}",
        file=path.name,
        fault=fault,
        wanted="A whole recording, as save(path) writes it",
        hint="Record it again, or take a backup",
    )


def opened(path: Path) -> BinaryIO:
    """A regular file, for reading. Raises BrokenRecording for everything else, and never waits for a pipe.

    A link is refused: it would lead out of the recording.
    """
    try:
        if path.is_symlink():
            raise broken(path, "it is a link, and a recording's files lie in its own folder")
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
                         | getattr(os, "O_BINARY", 0))  # fmt: skip
    except FileNotFoundError as error:
        raise broken(path, "it is missing") from error
    except OSError as error:
        raise broken(path, f"it cannot be read ({error.strerror})") from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise broken(path, "it is no regular file")
    return os.fdopen(handle, "rb")


def read_whole(path: Path, most: int) -> bytes:
    """All of a file of at most so many bytes. Raises BrokenRecording."""
    with opened(path) as file:
        length = os.fstat(file.fileno()).st_size
        if length > most:
            raise broken(path, f"it holds {length:,} bytes, and at most {most:,} were expected")
        try:
            return file.read(most + 1)
        except OSError as error:
            raise broken(path, f"it cannot be read ({error.strerror})") from error


def digest(path: Path, begin: int = 0, end: int | None = None) -> str:
    """The SHA-256 of a file, or of the bytes begin .. end of it, read in pieces. Raises BrokenRecording."""
    found = hashlib.sha256()
    with opened(path) as file:
        left = (os.fstat(file.fileno()).st_size if end is None else end) - begin
        try:
            file.seek(begin)
            while left > 0 and (piece := file.read(min(PIECE, left))):
                found.update(piece)
                left -= len(piece)
        except OSError as error:
            raise broken(path, f"it cannot be read ({error.strerror})") from error
    return found.hexdigest()


def parsed(text: bytes) -> Any:
    """JSON in UTF-8, in which every name stands once in its object and every number is one.

    Raises ValueError for what is not.
    """
    try:
        return json.loads(text.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} stands there twice")
    return found


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is no number")
