"""What the manifest says, as runs, sites and places: each field is held against what it may be, and each
tensor's shape against the sizes of its site.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attnscope.errors import BrokenRecording
from attnscope.recording.calls import REACHES
from attnscope.recording.files import CHANGED, broken, read_whole
from attnscope.recording.header import Header, read_header
from attnscope.recording.manifest import NAME, PLAIN
from attnscope.recording.ondisk import MALFORMED, Home, OnDisk
from attnscope.recording.packing import DTYPES
from attnscope.recording.places import LARGEST_PICTURE, STACKS, Places, file_name, places_from
from attnscope.recording.recording import NotShown, Recording, Run
from attnscope.recording.site import Site

MOST = 2**48
"""No size of a site, and no place in it, is larger."""

HEX = re.compile(r"[0-9a-f]{64}")

Says = Callable[[Any], bool]


def _whole(value: Any) -> bool:
    return type(value) is int and 0 <= value < MOST


def _word(value: Any) -> bool:
    return isinstance(value, str)


def _or_none(says: Says) -> Says:
    return lambda value: value is None or says(value)


def _list_of(says: Says) -> Says:
    return lambda value: isinstance(value, list) and all(map(says, value))


SITE: dict[str, Says] = {
    **dict.fromkeys(("index", "order", "layer", "batch", "heads", "key_heads", "tq", "tk", "dv"), _whole),
    **dict.fromkeys(("name", "route", "keep"), _word),
    "kind": lambda value: value in ("self", "cross"),
    "stack": lambda value: value in STACKS,
    "d": _or_none(_whole),
    "offset": _or_none(lambda value: type(value) is int and abs(value) < MOST),
    "bit_exact": _or_none(lambda value: isinstance(value, bool)),
    "reach": lambda value: value in REACHES,
    "segment": _whole,
    "dtype": lambda value: value in DTYPES,
    "kept": _or_none(_list_of(_whole)),
    "stored": lambda value: isinstance(value, dict) and isinstance(value.get("scoring"), dict),
    "orders": lambda value: isinstance(value, dict) and all(map(_list_of(_whole), value.values())),
    "bytes": _whole,
}  # fmt: skip
"""What each field of a site may be."""

RECORDING: dict[str, Says] = {
    "tokens": _or_none(lambda value: _list_of(_word)(value) or _list_of(_list_of(_whole))(value)),
    "model": lambda value: isinstance(value, dict),
    "keep": _word,
    "missing": _list_of(lambda value: isinstance(value, dict)),
    "runs": _list_of(lambda value: isinstance(value, dict) and isinstance(value.get("sites"), list)),
    "places": lambda value: isinstance(value, dict),
}
MISSING: dict[str, Says] = {"layer": _or_none(_whole), "name": _word, "reason": _word}
RUN: dict[str, Says] = {
    "index": _whole,
    "name": _word,
    "forwards": _whole,
    "texts": _list_of(lambda value: isinstance(value, dict)),
}

LATER = {"segment": 0, "forwards": 1, "places": {}, "texts": []}
"""What manifests of older versions leave out."""


def recording_from(
    home: Home, manifest: Mapping[str, Any], found: Callable[[BrokenRecording], None]
) -> Recording:
    """The recording that a manifest describes. Files that are not as they were written are handed to `found`,
    which may raise; without its site the run goes on.

    Raises BrokenRecording for a manifest that is malformed.
    """
    path, home.checksum = home.path / NAME, manifest["checksum"]
    try:
        said = _checked(manifest, RECORDING, "it")
        runs = []
        for run in said["runs"]:
            own = _checked(run, RUN, "a run")
            sites = []
            for entry in run["sites"]:
                try:
                    sites.append(_site(home, entry))
                except BrokenRecording as fault:
                    if fault.file == NAME:
                        raise
                    found(fault)
            texts = [
                {stack: _places(home.path, stack, plain) for stack, plain in text.items()}
                for text in own["texts"]
            ]
            runs.append(Run(own["index"], own["name"], sites, own["forwards"], texts))
        missing = [NotShown(**_checked(one, MISSING, "a layer")) for one in said["missing"]]
        places = {}
        for stack, plain in said["places"].items():
            try:
                places[stack] = _places(home.path, stack, plain)
            except BrokenRecording as fault:
                if fault.file == NAME:
                    raise
                found(fault)
    except MALFORMED as error:
        if isinstance(error, BrokenRecording):
            raise
        said_so = str(error) if isinstance(error, ValueError) else repr(error)
        raise broken(path, f"an entry is missing or malformed ({said_so})") from error
    return Recording(runs, said["tokens"], said["model"], missing, said["keep"], places)


def shelf_of(home: Home, entry: Mapping[str, Any]) -> OnDisk:
    """The shelf of a file that an entry describes, its header read. Raises BrokenRecording."""
    name = entry["file"]
    if not isinstance(name, str) or Path(name).name != name or name in ("", ".", "..") or "\0" in name:
        raise broken(home.path / NAME, f"it names the file {name!r}, which does not lie in the folder")
    header = read_header(home.path / name, entry["bytes"])
    sha256, sums = entry.get("sha256"), entry.get("sums", {})
    if "sums" in entry:
        if set(sums) != set(header.tensors) or header.sha256 != entry["header"]:
            raise broken(home.path / name, f"in its header, {CHANGED}")
        sha256 = None
    if not all(isinstance(one, str) and HEX.fullmatch(one) for one in sums.values() or [sha256]):
        raise ValueError(f"the checksums of {name} are none")
    return OnDisk(home, name, header, sha256, sums, entry["orders"], entry["stored"])


def _checked(given: Mapping[str, Any], says: Mapping[str, Says], what: str) -> dict[str, Any]:
    """The fields that `says` names. Raises ValueError for one that cannot be, KeyError for one that is not
    there.
    """
    found = {name: given[name] if name in given else LATER[name] for name in says}
    for name, value in found.items():
        if not says[name](value):
            raise ValueError(f"{what} says {name} is {_short(value)}")
    return found


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _site(home: Home, entry: Mapping[str, Any]) -> Site:
    plain = _checked(entry, SITE, f"the site of {_short(entry.get('file'))}")
    shelf = shelf_of(home, entry)
    kept = None if plain["kept"] is None else tuple(plain["kept"])
    site = Site(**{name: plain[name] for name in PLAIN}, dtype=DTYPES[plain["dtype"]], kept=kept, shelf=shelf)
    if kept is not None and (list(kept) != sorted(set(kept)) or (kept and kept[-1] >= site.heads)):
        raise ValueError(f"it says kept is {_short(kept)}, of {site.heads} heads")
    _check_shapes(site, shelf.header, entry["orders"], home.path / shelf.file)
    return site


def _check_shapes(site: Site, header: Header, orders: Mapping[str, list[int]], path: Path) -> None:
    """Raises BrokenRecording for a tensor that does not fit the sizes of its site."""
    b, tq, tk = site.batch, site.tq, site.tk
    h = site.heads if site.kept is None else len(site.kept)
    hk = site.key_heads if site.kept is None else len(site.kept)
    fits = {
        "q": (b, h, tq, site.d), "k": (b, hk, tk, site.d), "v": (b, hk, tk, site.dv),
        "out": (b, h, tq, site.dv), "peak": (b, h, tq), "logsum": (b, h, tq), "sinks": (h,),
        "mask.valid": (b, tk), "lengths.values": (b, h, tk),
        **dict.fromkeys((f"summary.{name}" for name in ("entropy", "largest", "largest_key")), (b, h, tq)),
        **dict.fromkeys((f"summary.{name}" for name in ("received", "received_mean")), (b, h, tk)),
        **dict.fromkeys((f"certificate.{name}" for name in ("z", "row", "rms", "rows", "t")), (b, h)),
    }  # fmt: skip
    for name in (*{"q": "qk", "qk": "qk", "qkv": "qkv", "all": "qkv"}.get(site.keep, ""), "peak", "logsum"):
        if name not in header.tensors:
            raise broken(path, f"it holds no {name!r}")
    for name, one in header.tensors.items():
        order = orders.get(name, list(range(len(one.shape))))
        if sorted(order) != list(range(len(one.shape))):
            raise broken(path, f"{name} has a memory order of {order}")
        shape = tuple(one.shape[order.index(axis)] for axis in range(len(one.shape)))
        if name in fits and shape != fits[name]:
            raise broken(path, f"{name} is {shape}, and {fits[name]} fits its site")


def _places(folder: Path, stack: str, plain: Mapping[str, Any]) -> Places:
    if stack not in STACKS:
        raise broken(folder / NAME, f"it names places of the stack {stack!r}")
    picture = None
    if plain["picture"] is not None:
        path = folder / file_name(stack)
        picture = read_whole(path, LARGEST_PICTURE)
        if hashlib.sha256(picture).hexdigest() != plain["picture"]["sha256"]:
            raise broken(path, CHANGED)
    return places_from(plain, picture)
