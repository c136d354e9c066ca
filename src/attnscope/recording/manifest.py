"""The manifest of a recording on disk: what was recorded, by what, the size and checksum of every file."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnscope.errors import BrokenRecording, RecordingError
from attnscope.recording.files import CHANGED, broken, parsed, read_whole
from attnscope.recording.packing import dtype_name

if TYPE_CHECKING:
    from attnscope.recording.recording import Recording, Run
    from attnscope.recording.site import Site

NAME = "manifest.json"
FORMAT = "attnscope recording"
VERSION = 3
"""2: sites joined from several calls, with `segment`, `calls`, and the forwards of a run.   3: a checksum for
each tensor, where 1 and 2 have one for each file. Files of 3 may hold the lengths of values, or may not.
"""

LARGEST = 2**28
"""Bytes of a manifest: 131,072 places with their tokens take 30 MB."""

PLAIN = (
    "index", "name", "order", "layer", "kind", "stack", "route", "batch", "heads", "key_heads", "tq", "tk",
    "d", "dv", "offset", "keep", "bit_exact", "reach", "segment",
)  # fmt: skip
"""The fields of a site that are plain data."""


def describe(recording: Recording) -> dict[str, Any]:
    """The whole recording as plain data, without tensors."""
    return {
        "model": recording.model,
        "keep": recording.keep,
        "tokens": recording.tokens,
        "missing": [vars(one) for one in recording.missing],
        "places": {stack: places.to_dict() for stack, places in recording.places.items()},
        "runs": [
            {
                "index": run.index,
                "name": run.name,
                "forwards": run.forwards,
                "sites": [facts(site) for site in run.sites],
                **({"texts": _texts(run)} if run.places else {}),
            }
            for run in recording.runs
        ],
    }


def _texts(run: Run) -> list[dict[str, Any]]:
    """The places of each text of a run. Raises RecordingError for a picture, which has no file there."""
    if any(places.picture is not None for text in run.places for places in text.values()):
        raise RecordingError(
            f"The places of run {run.index} have a picture", wanted="A picture in recording.places"
        )
    return [{stack: places.to_dict() for stack, places in text.items()} for text in run.places]


def facts(site: Site) -> dict[str, Any]:
    """What a site says of itself, as plain data."""
    plain = {name: getattr(site, name) for name in PLAIN}
    plain["dtype"] = dtype_name(site.dtype)
    plain["kept"] = None if site.kept is None else list(site.kept)
    return plain


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder, of this format or an older one, as it was sealed. Raises BrokenRecording."""
    path = folder / NAME
    if not os.path.lexists(path):
        raise broken(path, "it is missing, so the folder is not a recording, or not a whole one")
    try:
        manifest = parsed(read_whole(path, LARGEST))
    except BrokenRecording:
        raise
    except ValueError as error:
        raise broken(path, f"it cannot be read as JSON ({error})") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise broken(path, f"it does not say {FORMAT!r}: some other program wrote it")
    number = manifest.get("version")
    if type(number) is not int or not 1 <= number <= VERSION:
        made = manifest.get("libraries")
        by = made.get("attnscope", "a newer version") if isinstance(made, dict) else "a newer version"
        raise BrokenRecording(
            f"{path}: format {number!r}, written by attnscope {by}",
            file=NAME, fault=f"it has the format {number!r}",
            wanted=f"Format {VERSION} or older", hint="Update attnscope to read it",
        )  # fmt: skip
    if manifest.get("checksum") != seal(manifest):
        raise broken(path, CHANGED.replace("its checksum", "its own checksum"))
    return manifest


def checksum_in(folder: Path) -> str | None:
    """The checksum that the manifest of a folder carries; None where it cannot be read."""
    try:
        return str(read_manifest(folder)["checksum"])
    except BrokenRecording:
        return None


def libraries() -> dict[str, str]:
    """The versions of what made the recording; transformers only where it is in use."""
    names = [
        "attnscope",
        "torch",
        "safetensors",
        *(["transformers"] if "transformers" in sys.modules else []),
    ]
    found: dict[str, str] = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    return found


def seal(manifest: dict[str, Any]) -> str:
    """The checksum of everything else in the manifest."""
    rest = {name: value for name, value in manifest.items() if name != "checksum"}
    text = json.dumps(rest, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
