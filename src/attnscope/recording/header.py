"""The header of a safetensors file, checked without reading what comes after it: which tensors lie where.

Form: https://github.com/huggingface/safetensors. Tensors follow each other without gaps and fill the file.
"""

from __future__ import annotations

import hashlib
import math
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from attnscope.errors import BrokenRecording
from attnscope.recording.files import broken, opened, parsed

NAMES = {
    torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
    torch.int64: "I64", torch.int32: "I32", torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8",
    torch.bool: "BOOL",
}  # fmt: skip
"""The dtypes of such files."""

SIZES = {name: dtype.itemsize for dtype, name in NAMES.items()}

LARGEST = 2**24
"""Bytes of a header: ours have a few thousand."""


@dataclass(frozen=True)
class Lying:
    """A tensor in a file: its dtype by the form's name, its shape as it lies, and its bytes begin .. end of
    the file.
    """

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


@dataclass(frozen=True)
class Header:
    """The tensors of a file by name, and the SHA-256 of what stands before the first."""

    tensors: Mapping[str, Lying]
    sha256: str
    first: int


def read_header(path: Path, size: int) -> Header:
    """The header of a file that was written with `size` bytes. Raises BrokenRecording."""
    with opened(path) as file:
        try:
            length = os.fstat(file.fileno()).st_size
            if length != size:
                raise broken(
                    path, f"it holds {length:,} bytes, and {size:,} were written: it is truncated or changed"
                )
            start = file.read(8)
            (count,) = struct.unpack("<Q", start)
            if count > min(LARGEST, length - 8):
                raise broken(path, f"its header is said to have {count:,} bytes, which it cannot have")
            text = file.read(count)
            tensors = _tensors(parsed(text), 8 + count, length)
        except BrokenRecording:
            raise
        except (OSError, struct.error, ValueError, KeyError, TypeError, AttributeError) as error:
            raise broken(path, f"its header cannot be read ({error})") from error
    return Header(tensors, hashlib.sha256(start + text).hexdigest(), 8 + count)


def _tensors(header: Any, first: int, length: int) -> dict[str, Lying]:
    """Raises ValueError, KeyError, TypeError or AttributeError for what cannot be."""
    found: dict[str, Lying] = {}
    for name, said in header.items():
        if name == "__metadata__":
            continue
        shape, (begin, end) = said["shape"], said["data_offsets"]
        if not all(type(n) is int and n >= 0 for n in (*shape, begin, end)):
            raise ValueError(f"{name} has a shape of {shape} at {begin} to {end}")
        if end - begin != math.prod(shape) * SIZES[said["dtype"]]:
            raise ValueError(f"{name} has a shape of {shape} of {said['dtype']} in {end - begin:,} bytes")
        found[name] = Lying(said["dtype"], tuple(shape), first + begin, first + end)
    at = first
    for name, one in sorted(found.items(), key=lambda named: (named[1].begin, named[1].end)):
        if one.begin != at:
            raise ValueError(
                f"{name} begins at {one.begin - first}, and the one before it ends at {at - first}"
            )
        at = one.end
    if at != length:
        raise ValueError("it does not fit the file's length")
    return found
