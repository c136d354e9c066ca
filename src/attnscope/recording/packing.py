"""A site's scoring, verdicts and sums as named tensors and plain data, and back. Nothing else is ever built
from files.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from typing import Any

import torch
from torch import Tensor

from attnscope.core.arithmetic import Arithmetic
from attnscope.core.bias import KeyBias, RelativeBias, TensorBias
from attnscope.core.mask import Mask
from attnscope.core.masks import padding, spans
from attnscope.core.scoring import Scoring
from attnscope.errors import RecordingError
from attnscope.recording.bits import Bits, bits_of
from attnscope.recording.calls import COLUMNS, Calls

Tensors = dict[str, Tensor]
Fetch = Callable[[str], Tensor]

LARGEST_MASK = 2**31
"""Cells: past this a mask that is a rule is not written (256 MB of bits)."""

ALIGNED = 64
"""Bytes: where torch's own memory begins. Products of numbers that lie elsewhere may round otherwise."""

DTYPES = {
    str(d).removeprefix("torch."): d for d in (torch.float16, torch.bfloat16, torch.float32, torch.float64)
}


def dtype_name(dtype: torch.dtype | None) -> str | None:
    """ "bfloat16" for torch.bfloat16; None stays None."""
    return None if dtype is None else str(dtype).removeprefix("torch.")


def pack_scoring(
    scoring: Scoring, sizes: tuple[int, int, int, int], device: torch.device
) -> tuple[Tensors, dict[str, Any]]:
    """Tensors and plain data of a scoring; sizes is (b, h, tq, tk). Raises RecordingError for a rule too
    large.
    """
    tensors: Tensors = {}
    plain: dict[str, Any] = {
        "scale": scoring.scale, "softcap": scoring.softcap, "offset": scoring.offset,
        "bias_inside_cap": scoring.bias_inside_cap, "mask": None, "bias": None, "arithmetic": None,
    }  # fmt: skip
    if scoring.mask is not None:
        plain["mask"] = _pack_mask(scoring.mask, scoring.offset or 0, sizes, device, tensors)
    if scoring.sinks is not None:
        tensors["sinks"] = scoring.sinks
    if scoring.bias is not None:
        plain["bias"] = _pack_bias(scoring.bias, tensors)
    if scoring.arithmetic is not None:
        plain["arithmetic"] = _pack_arithmetic(scoring.arithmetic)
    return tensors, plain


def unpack_scoring(plain: Mapping[str, Any], fetch: Fetch, names: frozenset[str]) -> Scoring:
    """The scoring again. Raises KeyError, TypeError or ValueError where the data is not what was written."""
    offset = plain["offset"]
    return Scoring(
        mask=None if plain["mask"] is None else _unpack_mask(plain["mask"], fetch, offset or 0),
        scale=plain["scale"],
        bias=None if plain["bias"] is None else _unpack_bias(plain["bias"], fetch),
        softcap=plain["softcap"],
        sinks=fetch("sinks") if "sinks" in names else None,
        offset=offset,
        arithmetic=None if plain["arithmetic"] is None else _unpack_arithmetic(plain["arithmetic"]),
        bias_inside_cap=bool(plain["bias_inside_cap"]),
    )


def _pack_mask(
    mask: Mask, offset: int, sizes: tuple[int, int, int, int], device: torch.device, tensors: Tensors
) -> dict[str, Any]:
    visible = mask.bind(*sizes, offset, device)
    if visible.rule is None:
        tensors["mask.lo"], tensors["mask.hi"] = visible.lo.to(torch.int32), visible.hi.to(torch.int32)
        if visible.valid is not None:
            tensors["mask.valid"] = visible.valid
        return {"form": "spans", "valid": visible.valid is not None}
    cells = sizes[0] * sizes[1] * sizes[2] * sizes[3]
    if cells > LARGEST_MASK:
        raise RecordingError(
            f"A mask of {sizes[2]:,} x {sizes[3]:,} cells for {sizes[0]} x {sizes[1]} batches and heads "
            "follows a rule that no spans can say",
            wanted=f"At most {LARGEST_MASK:,} cells to write as bits",
            hint="Record fewer heads or a shorter text, or keep the recording in memory",
        )
    bits = bits_of(visible)
    tensors["mask.bits"] = bits.packed
    tensors["mask.lo"], tensors["mask.hi"] = bits.lo.to(torch.int32), bits.hi.to(torch.int32)
    return {"form": "bits", "valid": False}


def _unpack_mask(plain: Mapping[str, Any], fetch: Fetch, offset: int) -> Mask:
    lo, hi = fetch("mask.lo").long(), fetch("mask.hi").long()
    if plain["form"] == "bits":
        return Bits(fetch("mask.bits"), lo, hi).mask(offset)
    if plain["form"] != "spans":
        raise ValueError(f"unknown form of mask {plain['form']!r}")
    mask = spans(lo, hi)
    return mask & padding(fetch("mask.valid")) if plain["valid"] else mask


def _pack_bias(bias: RelativeBias | KeyBias | TensorBias, tensors: Tensors) -> dict[str, Any]:
    if isinstance(bias, RelativeBias):
        tensors["bias"] = bias.table
        return {"form": "relative", "first": bias.first}
    tensors["bias"] = bias.values
    return {"form": "key" if isinstance(bias, KeyBias) else "tensor"}


def _unpack_bias(plain: Mapping[str, Any], fetch: Fetch) -> RelativeBias | KeyBias | TensorBias:
    values = fetch("bias")
    if plain["form"] == "relative":
        return RelativeBias(values, first=int(plain["first"]))
    if plain["form"] == "key":
        return KeyBias(values)
    if plain["form"] == "tensor":
        return TensorBias(values)
    raise ValueError(f"unknown form of bias {plain['form']!r}")


def pack_calls(calls: Calls) -> tuple[Tensors, list[dict[str, Any]]]:
    """The calls of a joined site as a table of whole numbers and plain data."""
    return {"calls": calls.table}, [_pack_arithmetic(one) for one in calls.arithmetics]


def unpack_calls(plain: Sequence[Mapping[str, Any]], fetch: Fetch) -> Calls:
    """The calls again. Raises KeyError, TypeError or ValueError where the data is not what was written."""
    table = fetch("calls")
    if table.dim() != 2 or table.shape[1] != COLUMNS or table.dtype != torch.int64:
        raise ValueError(f"calls is {tuple(table.shape)} of {table.dtype}")
    return Calls(table, tuple(map(_unpack_arithmetic, plain)))


def _pack_arithmetic(arithmetic: Arithmetic) -> dict[str, Any]:
    return {n: dtype_name(x) if isinstance(x, torch.dtype) else x for n, x in asdict(arithmetic).items()}


def _unpack_arithmetic(plain: Mapping[str, Any]) -> Arithmetic:
    steps = {name: None if plain[name] is None else DTYPES[plain[name]]
             for name in ("products", "scores", "softmax", "weights")}  # fmt: skip
    return Arithmetic(
        **steps,
        subtract_max=bool(plain["subtract_max"]),
        scale_q=bool(plain["scale_q"]),
        fused_bias=bool(plain.get("fused_bias", False)),
        dropout=float(plain["dropout"]),
    )


def pack_record(record: Any, prefix: str) -> tuple[Tensors, dict[str, Any]]:
    """A frozen dataclass of tensors, numbers, strings and lists, as tensors named prefix.field and plain
    data.
    """
    tensors: Tensors = {}
    plain: dict[str, Any] = {}
    for one in fields(record):
        value = getattr(record, one.name)
        if isinstance(value, Tensor):
            tensors[f"{prefix}.{one.name}"] = value
        elif isinstance(value, torch.dtype):
            plain[one.name] = {"dtype": dtype_name(value)}
        elif is_dataclass(value):
            inner, plain[one.name] = pack_record(value, f"{prefix}.{one.name}")
            plain[one.name] = {"record": type(value).__name__, "fields": plain[one.name]}
            tensors.update(inner)
        else:
            plain[one.name] = value
    return tensors, plain


@dataclass(frozen=True)
class Records:
    """What such dataclasses are made of again. kinds: the only ones that may be built.   fetch: gives a
    tensor by its name.   names: the tensors at hand.
    """

    kinds: Mapping[str, type]
    fetch: Fetch
    names: Container[str]

    def unpack(self, kind: str, plain: Mapping[str, Any], prefix: str) -> Any:
        """One of them. A field that has a default may be missing, as it is in files from before there was
        such a field. Raises KeyError, TypeError or ValueError.
        """
        return self.kinds[kind](**self.fields(kind, plain, prefix))

    def fields(
        self, kind: str, plain: Mapping[str, Any], prefix: str, *, wanted: Container[str] | None = None
    ) -> dict[str, Any]:
        """The fields of one, those that are `wanted` alone where that is told: no tensor of another is
        fetched. Raises what unpack() raises.
        """
        given: dict[str, Any] = {}
        for one in fields(self.kinds[kind]):
            if wanted is not None and one.name not in wanted:
                continue
            value, name = plain.get(one.name, _TENSOR), f"{prefix}.{one.name}"
            if value is _TENSOR and name not in self.names and one.default is not MISSING:
                given[one.name] = one.default
            elif value is _TENSOR:
                given[one.name] = self.fetch(name)
            elif isinstance(value, dict) and "dtype" in value:
                given[one.name] = DTYPES[value["dtype"]]
            elif isinstance(value, dict) and "record" in value:
                given[one.name] = self.unpack(value["record"], value["fields"], name)
            else:
                given[one.name] = _frozen(value)
        return given


def _frozen(value: Any) -> Any:
    return tuple(_frozen(one) for one in value) if isinstance(value, list) else value


_TENSOR = object()
