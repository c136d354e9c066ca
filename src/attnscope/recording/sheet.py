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

import torch
from torch import Tensor

from attnscope.recording.calls import order_of
from attnscope.recording.packing import ALIGNED, Tensors, pack_calls, pack_record, pack_scoring
from attnscope.recording.site import Site
from attnscope.recording.strips import bytes_of

NAMES = {
    torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
    torch.int64: "I64", torch.int32: "I32", torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8",
    torch.bool: "BOOL",
}  # fmt: skip

PIECE = 2**22
"""Bytes that are written together."""


def write_site(site: Site, path: Path) -> dict[str, Any]:
    """Writes everything that a site holds; what the manifest says of the file: its name, length, checksum,
    the memory orders of its tensors, and what is plain data.

    Raises RecordingError for a mask too large to store, OSError where the system refuses.
    """
    tensors, stored = _pack(site)
    orders = {name: list(order_of(tensor)) for name, tensor in tensors.items()}
    lying = {name: x.detach().permute(orders[name]) for name, x in tensors.items()}
    size, digest = 0, hashlib.sha256()
    with path.open("xb") as file:
        for piece in _bytes(lying):
            file.write(piece)
            digest.update(piece)
            size += len(piece)
        file.flush()
        os.fsync(file.fileno())
    return {
        "file": path.name, "bytes": size, "sha256": digest.hexdigest(), "stored": stored,
        "orders": {name: order for name, order in orders.items() if order != sorted(order)},
        "names": sorted(tensors),
    }  # fmt: skip


def _bytes(tensors: Mapping[str, Tensor]) -> Iterator[bytes | memoryview]:
    """The file, piece by piece. Tensors that fill whole blocks of 64 bytes come first, and so begin at one;
    then wide numbers before narrow ones, so that each is where its dtype may be.
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
    yield struct.pack("<Q", len(text)) + text
    for name in names:
        data = bytes_of(tensors[name])
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
    for name, record in (("certificate", site.certificate), ("summary", site.shelf.summary)):
        if record is not None:
            more, stored[name] = pack_record(record, name)
            tensors.update(more)
    if site.calls is not None:
        table, stored["calls"] = pack_calls(site.calls)
        tensors.update(table)
    return tensors | scored, stored
