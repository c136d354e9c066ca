"""Files read and written: the system's refusals as sentences, and what is written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from attnscope.errors import AttnscopeError


@contextmanager
def reading(path: Path, kind: type[AttnscopeError]) -> Iterator[None]:
    """Turn what the system refuses inside the block into an error of that kind, with path and reason."""
    try:
        yield
    except OSError as error:
        raise kind(f"{error.filename or path} cannot be read: {error.strerror or error}") from None


def partial(path: Path) -> Path:
    """The hidden file beside `path` in which its next content is written; a killed write leaves it."""
    return path.with_name(f".{path.name}.partial")


def write_whole(path: Path, content: bytes, kind: type[AttnscopeError]) -> None:
    """Write beside `path`, flush to the disk, rename over it. Raises an error of `kind` where that fails.

    Of several that write one file at once each writes it whole, one after the other.
    """
    beside = partial(path)
    try:
        with _alone(beside) as file:
            try:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
                if os.name == "nt":
                    file.close()  # Windows renames no file that is open
                beside.replace(path)
            except BaseException:
                with suppress(OSError):
                    beside.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise kind(f"{path} cannot be written: {error.strerror or error}") from None


@contextmanager
def _alone(path: Path) -> Iterator[IO[bytes]]:
    """The file, empty and open for writing; who else opens it so waits, and then has a new one."""
    while True:
        with path.open("ab") as file:
            _lock(file)
            if _is_at(path, file):  # else it was renamed while we waited
                file.truncate(0)
                yield file
                return


def _lock(file: IO[bytes]) -> None:
    """Wait until no other holds the file; the system lets go of it with its process, even a killed one."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    with suppress(OSError):  # a file system without locks
        fcntl.flock(file, fcntl.LOCK_EX)


def _is_at(path: Path, file: IO[bytes]) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def home_made(given: str | Path, kind: type[AttnscopeError]) -> Path:
    """The path that was given, ~ being the home folder. Raises an error of that kind where there is none."""
    if "\0" in str(given):
        raise kind(f"The path {str(given)!r:.80} holds a NUL", wanted="A path without one")
    try:
        return Path(given).expanduser()
    except RuntimeError:
        raise kind(f"{given} begins with the home folder of a user that is not known here") from None


def place_of(given: str, kind: type[AttnscopeError]) -> Path:
    """The path of a file that is to be written when the work is done, ~ being the home folder.

    Nothing is made yet. Raises an error of that kind where a folder has its name, or where no file can be
    made.
    """
    path = home_made(given, kind)
    if path.is_dir():
        raise kind(f"{path} is a folder", wanted="The name of a file", hint="Choose another name")
    above = next(one for one in path.absolute().parents if one.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        what = "is no folder" if not above.is_dir() else "is a folder in which you may not write"
        raise kind(f"{path} cannot be written: {above} {what}", hint="Choose another folder")
    return path


def write_new(path: Path, content: bytes, kind: type[AttnscopeError]) -> None:
    """Write a file whole, in a folder that is made where there is none. Raises an error of that kind."""
    make_folder(path.parent, kind, "Choose another file")
    write_whole(path, content, kind)


def make_folder(folder: Path, kind: type[AttnscopeError], hint: str) -> None:
    """Make a folder and those above it. Raises an error of that kind where that is not possible."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise kind(f"The folder {folder} cannot be made: {error.strerror or error}", hint=hint) from None
