"""The texts of a survey that are finished, each in a file of its own with its checksum.

A file is written beside its place and renamed, so that a survey that was killed at any moment goes on from
the texts that are there; a file that does not agree with its checksum is measured again.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attnscope.errors import AttnscopeError
from attnscope.files import make_folder, reading, write_whole
from attnscope.measure.found import OfText, of_json

MANIFEST = "survey.json"
FORMAT = "attnscope-survey"
VERSION = 1


@dataclass(frozen=True)
class Finished:
    """The finished texts of one survey in a folder."""

    path: Path

    def text(self, index: int) -> OfText | None:
        """What was kept of a text; None where it is not there, or not whole."""
        with reading(self._file(index), AttnscopeError):
            if not self._file(index).exists():
                return None
            given = self._file(index).read_bytes()
        checksum, _, body = given.partition(b"\n")
        if hashlib.sha256(body).hexdigest().encode() != checksum:
            return None
        try:
            return of_json(body.decode())
        except (KeyError, TypeError, ValueError):
            return None

    def keep(self, text: OfText) -> None:
        """Write what a text gave. Raises AttnscopeError where that cannot be."""
        body = text.to_json().encode()
        checksum = hashlib.sha256(body).hexdigest().encode()
        write_whole(self._file(text.index), checksum + b"\n" + body, AttnscopeError)

    def _file(self, index: int) -> Path:
        return self.path / f"text-{index:05d}.json"


def open_folder(path: Path, identity: dict[str, Any]) -> Finished:
    """The folder of the survey that `identity` describes, made where there is none.

    Raises AttnscopeError where the folder holds anything but this survey.
    """
    wanted = {"format": FORMAT, "version": VERSION, **identity}
    make_folder(path, AttnscopeError, hint="Choose another --folder")
    with reading(path, AttnscopeError):
        names = sorted(one.name for one in path.iterdir() if not one.name.startswith("."))
        known = (path / MANIFEST).read_bytes() if MANIFEST in names else None
    if known is None and names:
        raise AttnscopeError(
            f"{path} holds {names[0]}, and no survey to go on with",
            wanted="A folder that is new, empty, or of this survey",
        )
    if known is None:
        write_whole(path / MANIFEST, json.dumps(wanted, indent=1).encode(), AttnscopeError)
        return Finished(path)
    different = _differences(wanted, known)
    if different:
        raise AttnscopeError(
            f"{path} holds another survey: {', '.join(different)} differ",
            wanted="The folder of this very survey",
            hint="Choose another --folder, or repeat the settings of that survey to go on with it",
        )
    return Finished(path)


def _differences(wanted: dict[str, Any], known: bytes) -> list[str]:
    try:
        found = json.loads(known)
    except ValueError:
        return ["its survey.json is not whole, and all settings"]
    return [name for name in wanted if not isinstance(found, dict) or found.get(name) != wanted[name]]
