"""Writing a file so that it is there whole or not at all, whatever kills the program meanwhile."""

from __future__ import annotations

import os
from pathlib import Path

from attnscope.errors import TrainingError


def write_whole(path: Path, content: bytes) -> None:
    """Write beside `path`, flush to the disk, rename over it. Raises TrainingError where that fails."""
    beside = path.with_name(f".{path.name}.partial")
    try:
        with beside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        raise TrainingError(f"{path} cannot be written: {error.strerror or error}") from None


def make_folder(folder: Path) -> None:
    """Make a folder and those above it. Raises TrainingError where that is not possible."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TrainingError(
            f"The folder {folder} cannot be made: {error.strerror or error}", hint="Choose another --out"
        ) from None
