"""A call becomes a piece: mask read, arithmetic matched, rows normalised, certificate made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from attnscope.core.arithmetic import Arithmetic
from attnscope.core.bias import Bias, KeyBias, RelativeBias, TensorBias
from attnscope.core.certificate import Certificate, certify_parts
from attnscope.core.engine import engine_of, normaliser_of, one_after_another
from attnscope.core.fold import Summary, summarize_parts
from attnscope.core.mask import Mask
from attnscope.core.scoring import Bound, Scoring
from attnscope.core.signs import evening_of
from attnscope.core.tile import Normaliser
from attnscope.core.verdict import NOT_CERTIFIABLE
from attnscope.core.visible import Visible
from attnscope.listen.arithmetic import Matched, match
from attnscope.listen.call import Call, CannotShowError
from attnscope.listen.naming import Label, kind_of, label
from attnscope.listen.quiet import quiet
from attnscope.listen.reader import Reader
from attnscope.listen.reading import Reading, everything, of_heads
from attnscope.recording.overview import block_of
from attnscope.recording.piece import Part, Piece

if TYPE_CHECKING:
    from attnscope.listen.runs import RunLog

KEEPS: dict[str, tuple[str, ...]] = {
    "summary": (), "qk": ("q", "k"), "qkv": ("q", "k", "v"), "all": ("q", "k", "v", "out"),
}  # fmt: skip
"""What each value of keep= holds on to."""

GUESSES = 64
"""Rows at the end of a call that may be guesses of assisted decoding, some of which are taken back."""

Heads = Sequence[int] | Mapping[int, Sequence[int]] | None


@dataclass(frozen=True)
class Wanted:
    """What the user asked for. layers: None for all.   heads: None, numbers, or numbers by layer."""

    keep: str = "qkv"
    layers: frozenset[int] | None = None
    heads: Heads = None

    def heads_of(self, layer: int, count: int) -> tuple[int, ...] | None:
        """The heads to keep of a layer: None for all, () for none. Raises CannotShowError for a head that
        is not there.
        """
        if self.layers is not None and layer not in self.layers:
            return ()
        if self.heads is None:
            return None
        chosen = self.heads.get(layer, ()) if isinstance(self.heads, Mapping) else self.heads
        heads = tuple(sorted({int(head) for head in chosen}))
        if any(not 0 <= head < count for head in heads):
            raise CannotShowError(
                f"heads {', '.join(map(str, heads))} were asked for, and it has heads 0 to {count - 1}"
            )
        return heads


@dataclass(frozen=True, eq=False)
class _Read:
    """A call with its mask read. offset: position of row 0 among the keys, None where the two are not one
    sequence.
    """

    call: Call
    readings: tuple[Reading, ...]
    offset: int | None
    label: Label


def collect(call: Call, *, name: str, order: int, log: RunLog, wanted: Wanted) -> Piece | None:
    """The piece that a call makes; None where it was not asked for. Raises CannotShowError or an
    AttnscopeError.
    """
    with quiet(call.q.device):
        read = _read(call, name, log.reader)
        layer = log.layer_of(name, order, read.label)
        log.heard[name] = layer
        heads = wanted.heads_of(layer, call.q.shape[1])
        if heads == ():
            return None
        part = _of_heads(call, heads)
        bound, matched = _bound(read, part, log.reader, heads, likely=log.arithmetics.get(name))
        if call.eager:
            log.arithmetics[name] = matched.arithmetic
        facts = _facts(read, name, order, layer) | {"kept": heads, "keep": wanted.keep}
        return _piece(read, part, bound, matched, facts, log)


def head_of(call: Call, head: int, *, name: str) -> tuple[Call, Bound, Matched]:
    """One head of a call that module `name` made: its tensors, its scoring bound to them, and how its weights
    are replayed. Raises CannotShowError.
    """
    reader = Reader()
    read, part = _read(call, name, reader), _of_heads(call, (head,))
    return part, *_bound(read, part, reader, (head,))


def label_of(call: Call, *, name: str) -> Label:
    """Whether a call that module `name` made is self or cross attention, and of which stack. Raises
    CannotShowError.
    """
    return _read(call, name, Reader()).label


def _bound(
    read: _Read,
    part: Call,
    reader: Reader,
    heads: tuple[int, ...] | None,
    likely: Arithmetic | None = None,
) -> tuple[Bound, Matched]:
    """The scoring of a call's `heads` bound to their tensors, and the arithmetic that it was matched with."""
    scoring = _scoring(read, reader, heads)
    matched = match(part, scoring, likely=likely) if part.eager else Matched(_told(part), None, None)
    return replace(scoring, arithmetic=matched.arithmetic).bind(part.q, part.k), matched


def _facts(read: _Read, name: str, order: int, layer: int) -> dict[str, Any]:
    """What the site says of itself, sizes that grow left out."""
    call = read.call
    return {
        "name": name, "order": order, "layer": layer, "kind": read.label.kind, "stack": read.label.stack,
        "route": call.route, "dtype": call.q.dtype, "batch": call.q.shape[0], "heads": call.q.shape[1],
        "key_heads": call.k.shape[1], "d": call.q.shape[3], "dv": call.v.shape[3],
    }  # fmt: skip


def _piece(
    read: _Read, part: Call, bound: Bound, matched: Matched, facts: Mapping[str, Any], log: RunLog
) -> Piece:
    even = None
    if log.whole:  # all calls by the same factors, so that their figures add up
        key = facts["name"], facts["order"]
        if key not in log.evenings:
            log.evenings[key] = evening_of(part.out, bound.shape.hk)
        even = log.evenings[key]
    walked = cache(partial(_walked, part, bound, facts, log, even))
    return Piece(
        tensors={name: getattr(part, name) for name in ("q", "k", "v", "out")},
        keep=KEEPS[facts["keep"]],
        rows=bound.shape.tq,
        columns=bound.shape.tk,
        scoring=bound.scoring,
        visible=bound.visible,
        walked=walked,
        evening=None if log.guesses or part.doubt is not None else even,
        on_key=partial(_on_key, bound, walked),
        offset=read.offset,
        used=bound.shape.tk if read.offset is None or not log.whole else used(bound.visible, bound.offset),
        bit_exact=matched.bit_exact,
        reach=matched.reach,
        facts=facts,
    )


def _walked(
    call: Call, bound: Bound, facts: Mapping[str, Any], log: RunLog, even: Tensor | None
) -> tuple[Normaliser, Sequence[Part]]:
    """The normaliser of the call, and its rows in one part, or the last ones each by itself, where they may
    be guesses. Where sums are wanted, all comes from one walk.
    """
    tq, tk, keep = bound.shape.tq, bound.shape.tk, facts["keep"]
    sure = tq - min(max(tq - 1, 0), GUESSES) if log.guesses else tq
    cuts = [slice(0, sure), *(slice(i, i + 1) for i in range(sure, tq))]
    how: dict[str, Any] = {"parts": cuts, "route": call.route.rsplit("/", 1)[-1], "evening": even}
    block = block_of(tq, tk) if log.pictures and "q" in KEEPS[keep] else None
    summaries: Sequence[Summary | None] = [None] * len(cuts)
    certificates: Sequence[Certificate | None]
    if keep == "summary" or block is not None:
        walked = summarize_parts(call.q, call.k, bound.scoring, v=call.v, out=call.out, block=block, **how)
        normalisers, certificates, summaries = zip(*walked, strict=True)
        rows = one_after_another(bound, normalisers)
    else:
        rows = normaliser_of(bound)
        certificates = certify_parts(call.q, call.k, call.v, call.out, bound.scoring, rows, **how)
    if call.doubt is not None:
        certificates = [one and _doubted(one, call.doubt) for one in certificates]
    return rows, [Part(*found) for found in zip(cuts, certificates, summaries, strict=True)]


def _on_key(bound: Bound, walked: Callable[[], tuple[Normaliser, object]], key: Tensor) -> Tensor:
    """The weight of each row on key[b] of its batch, 0 where that is no key of the call: (b h tq)."""
    normaliser, engine = walked()[0], engine_of(bound)
    found = torch.zeros_like(normaliser.peak)
    for place in set(key.tolist()):
        if 0 <= place < bound.shape.tk:
            rows, cols = slice(0, bound.shape.tq), slice(place, place + 1)
            meant = key.to(found.device) == place  # (b)
            found[meant] = engine.weights(bound, rows, cols, normaliser)[meant, ..., 0]
    return found


def used(visible: Visible, offset: int) -> int:
    """Keys up to the last that is a row's own or that a row sees: after it a static cache is empty."""
    return min(max(offset + visible.tq, visible.bounds(slice(None))[1]), visible.tk)


def _read(call: Call, name: str, reader: Reader) -> _Read:
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
    return _Read(call, tuple(readings), offset, label(name, call, looks_back_only=looks_back))


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


def _scoring(read: _Read, reader: Reader, heads: tuple[int, ...] | None) -> Scoring:
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


def _one_bias(biases: Sequence[Bias], read: _Read, heads: tuple[int, ...] | None) -> Bias | None:
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


def _of_heads(call: Call, heads: tuple[int, ...] | None) -> Call:
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


def _doubted(certificate: Certificate, doubt: str) -> Certificate:
    """The figures of a certificate against an out that may not be the model's: no head is certifiable."""
    verdict = tuple((NOT_CERTIFIABLE,) * len(heads) for heads in certificate.verdict)
    return replace(certificate, verdict=verdict, reason=tuple((doubt,) * len(heads) for heads in verdict))


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
