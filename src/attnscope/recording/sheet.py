"""One site as one safetensors file, written tensor after tensor: no second copy of it is made in memory.

The form is that of https://github.com/huggingface/safetensors: the length of the header, the header as JSON,
and the bytes of the tensors in its order. The library writes only what is in memory as a whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from attnscope.recording.calls import order_of
from attnscope.recording.footprint import Extent, bytes_of_summary
from attnscope.recording.header import NAMES
from attnscope.recording.ondisk import OnDisk
from attnscope.recording.overview import lacking
from attnscope.recording.packing import ALIGNED, Tensors, pack_calls, pack_record, pack_scoring
from attnscope.recording.site import Site
from attnscope.recording.strips import bytes_of

PIECE = 2**22
"""Bytes that are written together."""


def write_site(site: Site, path: Path) -> dict[str, Any]:
    """Writes everything that a site holds; what the manifest says of the file: its name, length and header,
    the checksums and memory orders of its tensors, and what is plain data.

    Raises RecordingError for a mask too large to store, OSError where the system refuses.
    """
    tensors, stored = _pack(site)
    orders = {name: list(order_of(tensor)) for name, tensor in tensors.items()}
    lying = {name: x.detach().permute(orders[name]) for name, x in tensors.items()}
    sums, size = dict[str, Any](), 0
    with path.open("xb") as file:
        for name, pieces in _parts(lying):
            found = hashlib.sha256()
            for piece in pieces:
                file.write(piece)
                found.update(piece)
                size += len(piece)
            sums[name] = found.hexdigest()
        file.flush()
        os.fsync(file.fileno())
    return {
        "file": path.name, "bytes": size, "header": sums.pop(""), "sums": sums, "stored": stored,
        "orders": {name: order for name, order in orders.items() if order != sorted(order)},
    }  # fmt: skip


def size_of(site: Site) -> int:
    """About how many bytes a site's file takes: its tensors, the overview it is yet to get included, the mask
    left out.
    """
    if isinstance(site.shelf, OnDisk):
        return site.shelf.size
    held = [site.shelf.tensor(name) for name in ("q", "k", "v", "out")]
    rows = [site.normaliser.peak, site.normaliser.logsum]
    sums = [] if site.shelf.summary is None else pack_record(site.shelf.summary, "")[0].values()
    every = [x for x in (*held, *rows, *sums, site.lengths.values) if x is not None]
    count, block = sum(x.numel() * x.dtype.itemsize for x in every), lacking(site)
    if block is None:
        return count
    kept, item = site.normaliser.peak.shape[1], site.normaliser.peak.dtype.itemsize
    extent = Extent(site.batch, kept, kept, site.tq, site.tk, site.d or 0, site.dv, item)
    return count + bytes_of_summary(extent, block)


def _parts(tensors: Mapping[str, Tensor]) -> Iterator[tuple[str, Iterator[bytes | memoryview]]]:
    """The file, part by part, each in pieces: the header, named "", then each tensor. Those that fill whole
    blocks of 64 bytes come first, and so begin at one; then wide numbers before narrow ones, so that each is
    where its dtype may be.
    """

    def place(name: str) -> tuple[bool, int, str]:
        x = tensors[name]
        return x.numel() * x.dtype.itemsize % ALIGNED > 0, -x.dtype.itemsize, name

    names = sorted(tensors, key=place)
    header, end = {}, 0
    for name in names:
        tensor, begin = tensors[name], end
        end += tensor.numel() * tensor.dtype.itemsize
        header[name] = {
            "dtype": NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [begin, end]
        }  # fmt: skip
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 8) % ALIGNED)
    yield "", iter([struct.pack("<Q", len(text)) + text])
    for name in names:
        yield name, _pieces(tensors[name])


def _pieces(x: Tensor) -> Iterator[memoryview]:
    data = bytes_of(x)
    for i in range(0, len(data), PIECE):
        yield data[i : i + PIECE]


def _pack(site: Site) -> tuple[Tensors, dict[str, Any]]:
    """Everything a site holds, as tensors and plain data."""
    kept = site.heads if site.kept is None else len(site.kept)
    tensors = {name: x for name in ("q", "k", "v", "out") if (x := site.shelf.tensor(name)) is not None}
    tensors["peak"], tensors["logsum"] = site.normaliser.peak, site.normaliser.logsum
    sizes = (site.batch, kept, site.tq, site.tk)
    scored, scoring = pack_scoring(site.scoring, sizes, site.normaliser.peak.device)
    stored: dict[str, Any] = {"scoring": scoring}
    records = ("certificate", site.certificate), ("summary", site.shelf.summary), ("lengths", site.lengths)
    for name, record in records:
        if record is not None:
            more, stored[name] = pack_record(record, name)
            tensors.update(more)
    if site.calls is not None:
        table, stored["calls"] = pack_calls(site.calls)
        tensors.update(table)
    return tensors | scored, stored
