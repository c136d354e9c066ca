"""The manifest of a recording on disk: what was recorded, by what, the size and checksum of every file."""

from __future__ import annotations

import hashlib
import json
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from attnscope.recording.packing import dtype_name

if TYPE_CHECKING:
    from attnscope.recording.recording import Recording
    from attnscope.recording.site import Site

NAME = "manifest.json"
FORMAT = "attnscope recording"
VERSION = 2
"""2: sites joined from several calls, with `segment`, `calls`, and the forwards of a run."""

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
            }
            for run in recording.runs
        ],
    }


def facts(site: Site) -> dict[str, Any]:
    """What a site says of itself, as plain data."""
    plain = {name: getattr(site, name) for name in PLAIN}
    plain["dtype"] = dtype_name(site.dtype)
    plain["kept"] = None if site.kept is None else list(site.kept)
    return plain


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
    text = json.dumps(rest, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
