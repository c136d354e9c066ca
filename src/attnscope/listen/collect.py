"""A call becomes a piece: bound to its scoring, its rows normalised, its certificate made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from attnscope.core.certificate import Certificate, certify_parts
from attnscope.core.engine import engine_of, normaliser_of, one_after_another
from attnscope.core.fold import Summary, summarize_parts
from attnscope.core.scoring import Bound
from attnscope.core.signs import evening_of
from attnscope.core.tile import Normaliser
from attnscope.core.verdict import NOT_CERTIFIABLE
from attnscope.core.visible import Visible
from attnscope.listen.arithmetic import Matched
from attnscope.listen.call import Call
from attnscope.listen.quiet import quiet
from attnscope.listen.scored import Read, bound_of, heads_alone, read_call
from attnscope.listen.wanted import KEEPS, Wanted
from attnscope.recording.overview import block_of
from attnscope.recording.piece import Part, Piece

if TYPE_CHECKING:
    from attnscope.listen.runs import RunLog

GUESSES = 64
"""Rows at the end of a call that may be guesses of assisted decoding, some of which are taken back."""


def collect(call: Call, *, name: str, order: int, log: RunLog, wanted: Wanted) -> Piece | None:
    """The piece that a call makes; None where it was not asked for. Raises CannotShowError or an
    AttnscopeError.
    """
    with quiet(call.q.device):
        read = read_call(call, name, log.reader)
        layer = log.layer_of(name, order, read.label)
        log.heard[name] = layer
        heads = wanted.heads_of(layer, call.q.shape[1])
        if heads == ():
            return None
        part = heads_alone(call, heads)
        bound, matched = bound_of(read, part, log.reader, heads, likely=log.arithmetics.get(name))
        if call.eager:
            log.arithmetics[name] = matched.arithmetic
        facts = _facts(read, name, order, layer) | {"kept": heads, "keep": wanted.keep}
        return _piece(read, part, bound, matched, facts, log)


def _facts(read: Read, name: str, order: int, layer: int) -> dict[str, Any]:
    """What the site says of itself, sizes that grow left out."""
    call = read.call
    return {
        "name": name, "order": order, "layer": layer, "kind": read.label.kind, "stack": read.label.stack,
        "route": call.route, "dtype": call.q.dtype, "batch": call.q.shape[0], "heads": call.q.shape[1],
        "key_heads": call.k.shape[1], "d": call.q.shape[3], "dv": call.v.shape[3],
    }  # fmt: skip


def _piece(
    read: Read, part: Call, bound: Bound, matched: Matched, facts: Mapping[str, Any], log: RunLog
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


def _doubted(certificate: Certificate, doubt: str) -> Certificate:
    """The figures of a certificate against an out that may not be the model's: no head is certifiable."""
    verdict = tuple((NOT_CERTIFIABLE,) * len(heads) for heads in certificate.verdict)
    return replace(certificate, verdict=verdict, reason=tuple((doubt,) * len(heads) for heads in verdict))
