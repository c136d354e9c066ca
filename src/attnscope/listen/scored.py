"""A call as a scoring bound to its tensors: its masks read, its rows placed, its arithmetic matched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from attnscope.core.arithmetic import Arithmetic
from attnscope.core.bias import Bias, KeyBias, RelativeBias, TensorBias
from attnscope.core.mask import Mask
from attnscope.core.scoring import Bound, Scoring
from attnscope.listen.arithmetic import Matched, match
from attnscope.listen.call import Call
from attnscope.listen.naming import Label, kind_of, label
from attnscope.listen.reader import Reader
from attnscope.listen.reading import Reading, everything, of_heads


@dataclass(frozen=True, eq=False)
class Read:
    """A call with its mask read. offset: position of row 0 among the keys, None where the two are not one
    sequence.
    """

    call: Call
    readings: tuple[Reading, ...]
    offset: int | None
    label: Label


def head_of(call: Call, head: int, *, name: str) -> tuple[Call, Bound, Matched]:
    """One head of a call that module `name` made: its tensors, its scoring bound to them, and how its weights
    are replayed. Raises CannotShowError.
    """
    reader = Reader()
    read, part = read_call(call, name, reader), heads_alone(call, (head,))
    return part, *bound_of(read, part, reader, (head,))


def label_of(call: Call, *, name: str) -> Label:
    """Whether a call that module `name` made is self or cross attention, and of which stack. Raises
    CannotShowError.
    """
    return read_call(call, name, Reader()).label


def read_call(call: Call, name: str, reader: Reader) -> Read:
    """The masks of a call, and where its rows stand among the keys."""
    tq, tk = call.q.shape[2], call.k.shape[2]
    masks = [reader.read(mask, tq, tk) for mask in (call.added, call.mask) if mask is not None]
    readings = [*call.readings, *masks]
    if call.causal or not readings:
        readings.append(everything(tq, tk, call.q.device, causal=call.causal))
    cross = kind_of(name, call) == "cross"
    offset = call.first
    if cross or (offset is not None and offset < 0):
        offset = None
    elif offset is None and tq <= tk:  # else keys were pooled, or are those of another sequence
        offset = offset_of(readings, tq, tk)
    looks_back = not cross and looks_back_only(readings, tq, offset or 0)
    return Read(call, tuple(readings), offset, label(name, call, looks_back_only=looks_back))


def bound_of(
    read: Read,
    part: Call,
    reader: Reader,
    heads: tuple[int, ...] | None,
    likely: Arithmetic | None = None,
) -> tuple[Bound, Matched]:
    """The scoring of a call's `heads` bound to their tensors, and the arithmetic that it was matched with."""
    scoring = _scoring(read, reader, heads)
    matched = match(part, scoring, likely=likely) if part.eager else Matched(_told(part), None, None)
    return replace(scoring, arithmetic=matched.arithmetic).bind(part.q, part.k), matched


def offset_of(readings: Sequence[Reading], tq: int, tk: int) -> int:
    """Where row 0 stands: where the last visible keys of all rows lie on one diagonal, on that; else rows
    are the last of the keys that any of them sees (a static cache has room for more).
    """
    end = tk
    for reading in readings:
        last = reading.last_key()
        farthest = int(last.max()) if last.numel() else 0
        if farthest <= 0:
            continue
        end = min(end, farthest)
        if tq == 1 and farthest == tk:  # one row that sees every key may stand anywhere after them
            continue
        places = last - 1 - torch.arange(tq, device=last.device)
        some = places[last > 0]
        if bool((some == some[0]).all()) and int(some[0]) >= 0:
            return int(some[0])
    return max(end - tq, 0)


def looks_back_only(readings: Sequence[Reading], tq: int, offset: int) -> bool:
    """Whether no row sees a key after its own; a single row that stands last says nothing else."""
    own = torch.arange(tq, device=readings[0].lo.device) + offset + 1
    return any(bool((reading.last_key() <= own).all()) for reading in readings)


def _scoring(read: Read, reader: Reader, heads: tuple[int, ...] | None) -> Scoring:
    call, offset = read.call, read.offset or 0
    mask = read.readings[0].of_heads(heads).mask(offset)
    for reading in read.readings[1:]:
        mask = mask & reading.of_heads(heads).mask(offset)
    if call.scoring is not None:
        return _handed(call.scoring, mask, offset, heads)
    biases = [bias for reading in read.readings if (bias := reader.bias(reading, offset)) is not None]
    return Scoring(
        mask=mask, scale=call.scale, bias=_one_bias(biases, read, heads), softcap=call.softcap,
        sinks=_sinks_of(call.sinks, heads), offset=offset,
    )  # fmt: skip


def _handed(scoring: Scoring, mask: Mask, offset: int, heads: tuple[int, ...] | None) -> Scoring:
    """A scoring that a call was handed, for some heads alone, with row 0 at `offset`."""
    bias = scoring.bias
    if isinstance(bias, RelativeBias):
        bias = replace(bias, first=bias.first + (scoring.offset or 0) - offset)
    return replace(
        scoring, mask=mask, bias=None if bias is None else _bias_of(bias, heads),
        sinks=_sinks_of(scoring.sinks, heads), offset=offset,
    )  # fmt: skip


def _one_bias(biases: Sequence[Bias], read: Read, heads: tuple[int, ...] | None) -> Bias | None:
    if len(biases) > 1:
        given = [reading.bias for reading in read.readings if reading.bias is not None]
        wide = torch.promote_types(read.call.q.dtype, torch.float32)
        return TensorBias(of_heads(torch.as_tensor(sum(one.to(wide) for one in given)), heads))
    return _bias_of(biases[0], heads) if biases else None


def _bias_of(bias: Bias, heads: tuple[int, ...] | None) -> Bias:
    if heads is None:
        return bias
    if isinstance(bias, RelativeBias):
        return RelativeBias(of_heads(bias.table[None], heads)[0], first=bias.first)
    values = of_heads(bias.values, heads)
    return KeyBias(values) if isinstance(bias, KeyBias) else TensorBias(values)


def _sinks_of(sinks: Tensor | None, heads: tuple[int, ...] | None) -> Tensor | None:
    return None if sinks is None else _own(sinks if heads is None else sinks[list(heads)])


def heads_alone(call: Call, heads: tuple[int, ...] | None) -> Call:
    """The call with some heads alone; their key heads are repeated, so that each stands beside its own."""
    if heads is None:
        return call
    group = call.q.shape[1] // call.k.shape[1]
    key_heads = tuple(head // group for head in heads)
    k, v = call.k[:, list(key_heads)], call.v[:, list(key_heads)]
    grid = None if call.grid is None else call.grid[:, list(heads)]
    sinks = None if call.sinks is None else call.sinks[list(heads)]
    return replace(
        call, q=call.q[:, list(heads)], k=k, v=v, out=call.out[:, list(heads)], grid=grid, sinks=sinks
    )


def _told(call: Call) -> Arithmetic | None:
    """The arithmetic that the call was handed. A fused kernel has none of ours to replay, but what it dropped
    is said.
    """
    if call.scoring is not None:
        return call.scoring.arithmetic
    return Arithmetic(dropout=call.dropout) if call.dropout > 0 else None


def _own(tensor: Tensor) -> Tensor:
    """A copy of our own, in the same memory order, that no later step of the model can change."""
    return tensor.detach().clone()
