"""Whether the weights of a model are whole: the files before they are read, the numbers after."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from typing import Any

import torch
from torch import nn

from attnscope.errors import BrokenModel


def check_safetensors(folder: Path) -> None:
    """Refuse a folder in which a safetensors file is cut short or is none, naming the file."""
    for path in sorted(folder.glob("*.safetensors")):
        held = path.stat().st_size
        wanted = _declared_size(path, held)
        if held < wanted:
            raise BrokenModel(
                f"{path} is cut short: it has {held:,} bytes",
                wanted=f"Its own header says {wanted:,} bytes",
                hint="Copy or download it again",
            )


def _declared_size(path: Path, held: int) -> int:
    """Return the size that a safetensors file states: 8 bytes, a JSON header, and the tensors it places."""
    with path.open("rb") as file:
        head = file.read(8)
        length = struct.unpack("<Q", head)[0] if len(head) == 8 else held
        if length + 8 > held:
            raise BrokenModel(
                f"{path} is not a whole safetensors file: its {held:,} bytes end inside its header",
                hint="Copy or download it again",
            )
        raw = file.read(length)
    try:
        places = json.loads(raw)
        ends = [int(entry["data_offsets"][1]) for name, entry in places.items() if name != "__metadata__"]
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise BrokenModel(
            f"{path} is not a safetensors file: its header does not parse",
            hint="Copy or download it again",
        ) from error
    return 8 + length + max(ends, default=0)


def check_finite(module: nn.Module, source: Path | str) -> None:
    """Refuse a model of which a weight is NaN or infinite; `source` is the file or folder named."""
    for name, weight in module.named_parameters():
        if not weight.is_floating_point() or weight.is_meta:
            continue
        total = weight.detach().sum(dtype=torch.float64)
        if torch.isfinite(total):
            continue
        bad = int((~torch.isfinite(weight)).sum())
        if bad:
            raise BrokenModel(
                f"{source} holds {bad:,} of {weight.numel():,} numbers in {name} that are NaN or infinite",
                wanted="Finite weights are wanted",
                hint="The training run that wrote them may have diverged; take an earlier checkpoint",
            )


def check_match(module: nn.Module, folder: Path, info: dict[str, Any]) -> None:
    """Refuse weights that are not those of the config beside them; `info` is transformers' report.

    A head that the class has no use for may be left over, and so may a pooler be missing: no attention passes
    through them. Left-over layers of the kind that the model has are another model's.
    """
    faults = {
        "lacks": [key for key in info.get("missing_keys", ()) if "pooler" not in key],
        "has other sizes than config.json in": [str(key[0]) for key in info.get("mismatched_keys", ())],
    }
    kinds = {_numberless(name) for name in module.state_dict()}
    faults["holds more layers than config.json, with"] = [
        key
        for key in info.get("unexpected_keys", ())
        if re.search(r"\.\d+\.", key) and _numberless(key) in kinds
    ]
    for fault, found in faults.items():
        if found:
            keys = sorted(found)
            others = f" and {len(keys) - 1} more" if len(keys) > 1 else ""
            raise BrokenModel(
                f"{weight_file(folder, keys[0])} {fault} {keys[0]}{others}",
                wanted="Weights and config of one model are wanted",
            )


def _numberless(name: str) -> str:
    return re.sub(r"\d+", "#", name)


def weight_file(folder: Path, tensor: str) -> Path:
    """Return the file of `folder` that holds `tensor`, as its index says; the folder where none does."""
    single = folder / "model.safetensors"
    if single.is_file():
        return single
    for index in sorted(folder.glob("*.index.json")):
        try:
            file = json.loads(index.read_text("utf-8"))["weight_map"].get(tensor)
        except (ValueError, KeyError, AttributeError):
            continue
        if file is not None:
            return folder / str(file)
    files = [*sorted(folder.glob("*.safetensors")), *sorted(folder.glob("*.bin"))]
    return files[0] if len(files) == 1 else folder
