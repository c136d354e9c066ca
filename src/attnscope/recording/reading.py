"""A recording read from disk: checked at once for shape and size, its tensors mapped in when they are first
asked for.

`load` checks the manifest's checksum, and every file's length, header and names; the checksum of a file's
whole content is checked when the first tensor of its site is touched, or for all files at once with
load(path, verify=True).
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from torch import Tensor

from attnscope.core.certificate import Certificate
from attnscope.core.fold import Summary
from attnscope.core.scoring import Scoring
from attnscope.core.tile import Normaliser
from attnscope.core.verdict import Thresholds
from attnscope.errors import AttnscopeError, BrokenRecording
from attnscope.recording.calls import Calls
from attnscope.recording.manifest import FORMAT, NAME, PLAIN, VERSION, seal
from attnscope.recording.packing import ALIGNED, DTYPES, unpack_calls, unpack_record, unpack_scoring
from attnscope.recording.places import STACKS, Places, file_name, places_from
from attnscope.recording.recording import NotShown, Recording, Run
from attnscope.recording.site import Site

KINDS: dict[str, type] = {
    "Certificate": Certificate,
    "Summary": Summary,
    "Thresholds": Thresholds,
    "Normaliser": Normaliser,
}
"""The only things that are ever built from a file."""


def load(path: str | Path, *, verify: bool = False) -> Recording:
    """The recording at `path`; tensors stay on disk, mapped into memory, until they are asked for.

    verify: read and check the content of every file now. Raises BrokenRecording, which names the file and
    the fault.
    """
    home = Home(_whole_folder(Path(os.path.abspath(path))))  # noqa: PTH100 - as in writing
    folder = home.path
    manifest = _manifest(folder)
    try:
        runs = [
            Run(
                int(run["index"]),
                str(run["name"]),
                [_site(home, entry) for entry in run["sites"]],
                int(run.get("forwards", 1)),
            )
            for run in manifest["runs"]
        ]
        missing = [NotShown(one["layer"], one["name"], one["reason"]) for one in manifest["missing"]]
        places = {
            stack: _places(folder, stack, plain)
            for stack, plain in manifest.get("places", {}).items()  # absent in files of older versions
        }
        recording = Recording(runs, manifest["tokens"], manifest["model"], missing, manifest["keep"], places)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, AttnscopeError):
            raise
        raise _broken(folder / NAME, f"an entry is missing or malformed ({error!r})") from error
    if verify:
        for run in runs:
            for site in run.sites:
                site.shelf.check()  # type: ignore[attr-defined]
    return recording


@dataclass(eq=False)
class Home:
    """The folder of a recording; it moves once, when a recording that was being written is whole."""

    path: Path


@dataclass(frozen=True, eq=False)
class OnDisk:
    """The shelf of one file. Safe to share between threads."""

    home: Home
    file: str
    sha256: str
    orders: Mapping[str, list[int]]
    stored: Mapping[str, Any]
    names: frozenset[str]
    _held: dict[str, Tensor] = field(default_factory=dict, init=False, repr=False)

    @property
    def path(self) -> Path:
        """Where the file is now."""
        return self.home.path / self.file

    def tensor(self, name: str) -> Tensor | None:
        """q, k, v or out; None where it was not kept."""
        return self.fetch(name) if name in self.names else None

    def fetch(self, name: str) -> Tensor:
        """A tensor of the file, in the memory order in which it was recorded. Raises BrokenRecording."""
        if name not in self._held:
            if name not in self.names:
                raise _broken(self.path, f"it holds no {name!r}")
            order = list(self.orders.get(name, range(0)))
            tensor = self._open.get_tensor(name)
            if tensor.data_ptr() % ALIGNED:
                tensor = tensor.clone()
            if order and sorted(order) != list(range(tensor.dim())):
                raise _broken(self.path, f"{name} has a memory order of {order}")
            self._held[name] = (
                tensor.permute([order.index(axis) for axis in sorted(order)]) if order else tensor
            )
        return self._held[name]

    def check(self) -> None:
        """Reads the whole file against its checksum. Raises BrokenRecording."""
        digest = hashlib.sha256()
        try:
            with self.path.open("rb") as file:
                while piece := file.read(2**20):
                    digest.update(piece)
        except OSError as error:
            raise _broken(self.path, f"it cannot be read ({error.strerror})") from error
        if digest.hexdigest() != self.sha256:
            raise _broken(
                self.path, "its content does not fit its checksum: it was changed after it was written"
            )

    @cached_property
    def _open(self) -> Any:
        self.check()
        try:
            return safe_open(str(self.path), framework="pt", device="cpu")
        except (SafetensorError, OSError) as error:
            raise _broken(self.path, str(error)) from error

    @cached_property
    def scoring(self) -> Scoring:
        """What happened between q.k and softmax."""
        scoring: Scoring = self._built("scoring", lambda plain: unpack_scoring(plain, self.fetch, self.names))
        return scoring

    @cached_property
    def normaliser(self) -> Normaliser:
        """(peak, logsum) of every row."""
        return Normaliser(self.fetch("peak"), self.fetch("logsum"))

    @cached_property
    def certificate(self) -> Certificate | None:
        """The verdict on every head, made at the call."""
        certificate: Certificate | None = self._record("certificate", "Certificate")
        return certificate

    @cached_property
    def summary(self) -> Summary | None:
        """The summary made at the call, where one was kept."""
        summary: Summary | None = self._record("summary", "Summary")
        return summary

    @cached_property
    def calls(self) -> Calls | None:
        """The calls of a joined site."""
        if "calls" not in self.stored:
            return None
        calls: Calls = self._built("calls", lambda plain: unpack_calls(plain, self.fetch))
        return calls

    def _record(self, name: str, kind: str) -> Any:
        if name not in self.stored:
            return None
        return self._built(name, lambda plain: unpack_record(KINDS, kind, plain, name, self.fetch))

    def _built(self, name: str, build: Any) -> Any:
        try:
            return build(self.stored[name])
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, BrokenRecording):
                raise
            raise _broken(
                self.path.parent / NAME, f"its {name} for {self.path.name} is malformed ({error!r})"
            ) from error


def shelf_of(home: Home, entry: Mapping[str, Any]) -> OnDisk:
    """The shelf of a file that was written just now."""
    names = frozenset(entry["names"])
    return OnDisk(home, entry["file"], entry["sha256"], entry["orders"], entry["stored"], names)


def _whole_folder(path: Path) -> Path:
    """The folder itself, or where a save was cut short in the middle of its renames, the newest whole one
    beside it.
    """
    if path.is_dir():
        return path
    if path.exists():
        raise _broken(path, "it is a file, and a recording is a folder")
    beside = [
        one
        for one in path.parent.glob(".*")
        if one.name.startswith((f".{path.name}.new-", f".{path.name}.old-"))
    ]
    whole = [one for one in beside if (one / NAME).is_file()]
    if not whole:
        raise BrokenRecording(
            f"There is no recording at {path}", hint="Check the path; save(path) writes one"
        )
    return max(whole, key=lambda one: (one / NAME).stat().st_mtime_ns)


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / NAME
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise _broken(path, "it is missing, so the folder is not a recording, or not a whole one") from error
    except (OSError, ValueError, RecursionError) as error:
        raise _broken(path, f"it cannot be read as JSON ({error})") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise _broken(path, f"it does not say {FORMAT!r}: some other program wrote it")
    if not isinstance(manifest.get("version"), int) or manifest["version"] > VERSION:
        made = manifest.get("libraries")
        by = made.get("attnscope", "a newer version") if isinstance(made, dict) else "a newer version"
        raise BrokenRecording(
            f"{path}: format {manifest.get('version')!r}, written by attnscope {by}",
            wanted=f"Format {VERSION} or older", hint="Update attnscope to read it",
        )  # fmt: skip
    if manifest.get("checksum") != seal(manifest):
        raise _broken(path, "its content does not fit its own checksum: it was changed after it was written")
    return manifest


def _site(home: Home, entry: Mapping[str, Any]) -> Site:
    folder, name = home.path, str(entry["file"])
    if Path(name).name != name or name in ("", ".", ".."):
        raise _broken(folder / NAME, f"it names the file {name!r}, which does not lie in the folder")
    names = _header(folder / name, int(entry["bytes"]))
    shelf = OnDisk(home, name, str(entry["sha256"]), entry["orders"], entry["stored"], names)
    kept = entry["kept"]
    plain = {field: entry[field] for field in PLAIN if field != "segment"}
    return Site(
        **plain,
        dtype=DTYPES[entry["dtype"]],
        kept=None if kept is None else tuple(map(int, kept)),
        shelf=shelf,
        segment=int(entry.get("segment", 0)),
    )


def _places(folder: Path, stack: str, plain: Mapping[str, Any]) -> Places:
    if stack not in STACKS:
        raise _broken(folder / NAME, f"it names places of the stack {stack!r}")
    picture = None
    if plain["picture"] is not None:
        path = folder / file_name(stack)
        try:
            picture = path.read_bytes()
        except OSError as error:
            raise _broken(path, f"it cannot be read ({error.strerror})") from error
        if hashlib.sha256(picture).hexdigest() != plain["picture"]["sha256"]:
            raise _broken(path, "its content does not fit its checksum: it was changed after it was written")
    return places_from(plain, picture)


def _header(path: Path, size: int) -> frozenset[str]:
    """The names of the tensors in a file, its length and header checked without reading the rest."""
    try:
        length = path.stat().st_size
        if length != size:
            raise _broken(
                path, f"it holds {length:,} bytes, and {size:,} were written: it is truncated or changed"
            )
        with path.open("rb") as file:
            (header_bytes,) = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(min(header_bytes, length)))
        ends = [tensor["data_offsets"][1] for name, tensor in header.items() if name != "__metadata__"]
        if 8 + header_bytes + max(ends, default=0) != length:
            raise _broken(path, "its header does not fit its length")
        return frozenset(header) - {"__metadata__"}
    except FileNotFoundError as error:
        raise _broken(path, "it is missing") from error
    except (OSError, struct.error, ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, BrokenRecording):
            raise
        raise _broken(path, f"its header cannot be read ({error})") from error


def _broken(path: Path, fault: str) -> BrokenRecording:
    return BrokenRecording(
        f"{path}: {fault}",
        wanted="A whole recording, as save(path) writes it",
        hint="Record it again, or take a backup",
    )
