"""A recording written to disk: one safetensors file a site, the manifest last, the folder whole or not at
all.

The folder is built as `.NAME.new-…` beside its place. An older recording is moved aside to `.NAME.old-…`,
the new one moved in, the old one removed; `load` understands every state in between.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
import uuid
from pathlib import Path
from typing import Any

from safetensors.torch import save as to_bytes
from torch import Tensor

from attnscope.errors import RecordingError
from attnscope.recording.manifest import FORMAT, NAME, VERSION, describe, libraries, seal
from attnscope.recording.packing import Tensors, pack_calls, pack_record, pack_scoring
from attnscope.recording.places import PICTURE, file_name
from attnscope.recording.recording import Recording
from attnscope.recording.site import Site

OWN = re.compile(r"run\d{4,}-site\d{4,}\.safetensors")
"""The names that files of sites have."""

ABANDONED = 3600.0
"""Seconds without a new file, after which a half-written folder is taken for abandoned."""


def write(recording: Recording, path: Path) -> Path:
    """The recording as a folder at `path`. Raises RecordingError where something else is in its place, or
    where the system refuses.
    """
    path = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow a link and replace what it points at
    try:
        return _write(recording, path)
    except OSError as error:
        raise RecordingError(
            f"{error.filename or path} cannot be written: {error.strerror or error}",
            wanted="A place with room, in which files may be made",
            hint="Choose another path; an older recording in this place is as it was",
        ) from error


def check_place(path: Path) -> None:
    """Refuse a path at which no recording can be written, before anything runs. Raises RecordingError."""
    try:
        _refuse_foreign(Path(os.path.abspath(path)))  # noqa: PTH100 - as in write
    except OSError as error:
        raise RecordingError(
            f"{error.filename or path} cannot be used: {error.strerror or error}",
            wanted="A place in which files may be made",
        ) from error


def _write(recording: Recording, path: Path) -> Path:
    _refuse_foreign(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    mark = uuid.uuid4().hex[:12]
    fresh, old = path.parent / f".{path.name}.new-{mark}", path.parent / f".{path.name}.old-{mark}"
    fresh.mkdir()
    try:
        _fill(recording, fresh)
        if path.exists():
            path.rename(old)
        fresh.rename(path)
    except BaseException:
        if old.exists() and not path.exists():
            old.rename(path)
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    _sync(path.parent)
    _clear_leftovers(path)
    return path


def _clear_leftovers(path: Path) -> None:
    """Removes what killed saves left beside `path`, which is whole now; not what may still be written."""
    name = _literal(path.name)
    for left in path.parent.glob(f".{name}.old-*"):
        shutil.rmtree(left, ignore_errors=True)
    for left in path.parent.glob(f".{name}.new-*"):
        if time.time() - left.stat().st_mtime > ABANDONED:
            shutil.rmtree(left, ignore_errors=True)


def _fill(recording: Recording, folder: Path) -> None:
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "libraries": libraries(),
        **describe(recording),
    }
    for run, described in zip(recording.runs, manifest["runs"], strict=True):
        for site, entry in zip(run.sites, described["sites"], strict=True):
            tensors, entry["stored"] = _pack(site)
            orders = {name: _order(tensor) for name, tensor in tensors.items()}
            data = to_bytes(
                {name: x.detach().permute(orders[name]).contiguous().cpu() for name, x in tensors.items()}
            )
            entry["orders"] = {name: order for name, order in orders.items() if order != sorted(order)}
            entry["file"] = f"run{run.index:04d}-site{site.index:04d}.safetensors"
            entry["bytes"], entry["sha256"] = len(data), hashlib.sha256(data).hexdigest()
            _write_bytes(folder / entry["file"], data)
    for stack, places in recording.places.items():
        if places.picture is not None:
            _write_bytes(folder / file_name(stack), places.picture)
    try:
        text = json.dumps(manifest | {"checksum": seal(manifest)}, indent=1, ensure_ascii=False)
    except TypeError as error:
        raise RecordingError(f"The recording's tokens or model cannot be written as JSON: {error}") from error
    _write_bytes(folder / NAME, text.encode())
    _sync(folder)


def _pack(site: Site) -> tuple[Tensors, dict[str, Any]]:
    """Everything a site holds, as tensors and plain data."""
    kept = site.heads if site.kept is None else len(site.kept)
    tensors = {name: x for name in ("q", "k", "v", "out") if (x := site.shelf.tensor(name)) is not None}
    tensors["peak"], tensors["logsum"] = site.normaliser.peak, site.normaliser.logsum
    sizes = (site.batch, kept, site.tq, site.tk)
    scored, scoring = pack_scoring(site.scoring, sizes, site.normaliser.peak.device)
    stored: dict[str, Any] = {"scoring": scoring}
    for name, record in (("certificate", site.certificate), ("summary", site.shelf.summary)):
        if record is not None:
            more, stored[name] = pack_record(record, name)
            tensors.update(more)
    if site.calls is not None:
        table, stored["calls"] = pack_calls(site.calls)
        tensors.update(table)
    return tensors | scored, stored


def _order(tensor: Tensor) -> list[int]:
    """The order of axes in which the tensor lies in memory: a replay needs it to get the same bits."""
    strides = tensor.stride()
    if any(size > 1 and stride == 0 for size, stride in zip(tensor.shape, strides, strict=True)):
        return list(range(tensor.dim()))
    return sorted(range(tensor.dim()), key=lambda axis: -strides[axis])


def _refuse_foreign(path: Path) -> None:
    """Only a recording is replaced, and only where nothing else lies in its folder or points at it."""
    if path.is_symlink():
        what = f"{path} is a link"
    elif not path.exists():
        return
    elif not path.is_dir() or (any(path.iterdir()) and not _is_ours(path / NAME)):
        what = f"{path} exists and is not a recording"
    else:
        others = sorted(
            one.name
            for one in path.iterdir()
            if one.name != NAME and not OWN.fullmatch(one.name) and not PICTURE.fullmatch(one.name)
        )
        if not others:
            return
        what = f"{path} is a recording that also holds {', '.join(others[:3])}, which would be lost"
    raise RecordingError(
        what,
        wanted="A free name, or a recording to replace",
        hint="Nothing was written; choose another path",
    )


def _is_ours(manifest: Path) -> bool:
    try:
        return FORMAT in manifest.read_bytes()[:4096].decode("utf-8", "replace")
    except OSError:
        return False


def _write_bytes(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """Makes the names in a folder lasting, where the system can."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _literal(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)
