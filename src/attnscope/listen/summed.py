"""A grid that a model made in its own code, reduced on the spot to what is kept of it: which cells count, the
normaliser, the summary, the certificate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor, nn

from attnscope.core.arithmetic import ROUNDING, Arithmetic
from attnscope.core.certificate import Certificate
from attnscope.core.fold import Walked
from attnscope.core.grids import summarize_scores
from attnscope.core.rowstats import first_keys
from attnscope.core.scoring import Scoring
from attnscope.core.spans import Spans, from_bool
from attnscope.core.summary import Summary
from attnscope.core.tile import Normaliser
from attnscope.core.visible import MAX_SPANS, Visible
from attnscope.listen.call import NAMED, Place
from attnscope.listen.collect import used
from attnscope.listen.naming import is_cross, label
from attnscope.listen.products import Mixed
from attnscope.listen.reading import BLOCK_CELLS, Reading, rows_joined
from attnscope.listen.scored import looks_back_only, offset_of
from attnscope.listen.wanted import Wanted
from attnscope.recording.bits import pack
from attnscope.recording.piece import Part, Piece
from attnscope.recording.site import SIDE

if TYPE_CHECKING:
    from attnscope.listen.projecting import Output
    from attnscope.listen.runs import RunLog

Record = TypeVar("Record", Summary, Normaliser, Certificate)

FAR = 5000.0
"""How far below the largest score of its row a score is a fill: exp(-5000) is 0 in every dtype."""


@dataclass(frozen=True, eq=False)
class Summed:
    """One call of which the model's own code made the grid, (b h tq tk); nothing T x T is held.

    v: the values (b hk tk dv) as they were mixed; they are not kept.   offset: position of row 0 among the
    keys, None where the two are not one sequence.   output: what was mixed, on its way to W_O.
    """

    module: nn.Module
    name: str
    dtype: torch.dtype
    sizes: tuple[int, int, int, int]
    v: Tensor = field(repr=False)
    offset: int | None
    reading: Reading = field(repr=False)
    scoring: Scoring
    found: Walked = field(repr=False)
    route: str = "softmax"
    output: Output | None = None
    causal: bool = False
    place: Place = NAMED


def reduced(
    module: nn.Module,
    name: str,
    scores: Tensor,
    mixed: Mixed,
    *,
    softmax: torch.dtype,
    dropout: float,
    sinks: Tensor | None = None,
    cached: bool = False,
    output: Output | None = None,
) -> Summed:
    """What is kept of scores (b h tq tk) that softmax was given, and of the product that took what it gave.

    softmax: the dtype of what it gave, to which it casts its scores first.   sinks: (h) logits of a column
    beside the scores.   cached: there are more keys than queries because a cache held some.

    A cell is masked where its score is `least_of` or below, or more than FAR below the largest of its row:
    its weight is then exactly 0.
    """
    tq, tk = scores.shape[2:]
    reading = visible_in(scores, least_of(scores.dtype, mixed.v.dtype))
    apart = is_cross(name, module) or (tq != tk and not cached)  # pooled queries, other sequences
    offset = None if apart else offset_of([reading], tq, tk)
    arithmetic = Arithmetic(softmax=softmax, weights=mixed.dtype, dropout=dropout)
    mask = reading.mask(offset or 0)
    if ROUNDING[softmax] > ROUNDING[scores.dtype]:
        scores = scores.to(softmax)
    found = summarize_scores(
        scores, mask, v=mixed.v, out=mixed.out, sinks=sinks, offset=offset or 0, arithmetic=arithmetic,
        block=max(1, math.ceil(max(tq, tk) / SIDE)),
    )  # fmt: skip
    b, h = scores.shape[:2]
    return Summed(
        module, name, mixed.v.dtype, (b, h, tq, tk), mixed.v.detach(), offset, reading,
        Scoring(mask=mask, sinks=sinks, offset=offset or 0, arithmetic=arithmetic), found, output=output,
    )  # fmt: skip


def collect(call: Summed, *, name: str, order: int, log: RunLog, wanted: Wanted) -> Piece | None:
    """The piece that such a call makes; None where it was not asked for. Raises CannotShowError."""
    back = call.offset is not None and looks_back_only([call.reading], call.sizes[2], call.offset)
    named = label(name, call, looks_back_only=back)
    layer = log.layer_of(name, order, named)
    log.heard[name] = layer
    b, h, tq, tk = call.sizes
    heads = wanted.heads_of(layer, h)
    if heads == ():
        return None
    made, whole = call.found.certificate, call.found.summary
    summary, certificate = _of_heads(whole, heads), None if made is None else _of_heads(made, heads)
    normaliser, sinks, offset = _of_heads(call.found.normaliser, heads), call.scoring.sinks, call.offset or 0
    mask = call.reading.of_heads(heads).mask(offset)
    visible = mask.bind(b, h if heads is None else len(heads), tq, tk, offset, call.v.device)
    key_heads = call.v.shape[1]
    own = slice(None) if heads is None else [head * key_heads // h for head in heads]
    return Piece(
        tensors={"v": call.v[:, own]},
        keep=(),
        rows=tq,
        columns=tk,
        scoring=replace(
            call.scoring,
            mask=mask,
            sinks=sinks if sinks is None or heads is None else sinks[list(heads)],
        ),
        visible=visible,
        walked=lambda: (normaliser, [Part(slice(0, tq), certificate, summary)]),
        on_key=partial(_on_key, visible, summary),
        offset=call.offset,
        used=tk if call.offset is None or not log.whole else used(visible, call.offset),
        bit_exact=None,
        reach=None,
        facts={
            "name": name, "order": order, "layer": layer, "kind": named.kind, "stack": named.stack,
            "route": call.route, "dtype": call.dtype, "batch": b, "heads": h, "key_heads": key_heads,
            "d": None, "dv": call.v.shape[3], "kept": heads, "keep": "summary",
        },
    )  # fmt: skip


def _on_key(visible: Visible, summary: Summary, key: Tensor) -> Tensor:
    """The weight of each row on key[b] of its batch, 0 where the call does not see it, (b h tq). It is known
    of the first key that the call sees; of a later one it is NaN.
    """
    first = first_keys(visible)
    known = torch.where((key == first)[:, None, None], summary.first, torch.nan)
    return torch.where((key < first)[:, None, None], 0.0, known).to(summary.first.dtype)


def least_of(scores: torch.dtype, values: torch.dtype) -> float:
    """The score at or below which a cell is masked: the most negative number of the scores' dtype; where the
    model works in a narrower one, that one's and up to FAR above it, since a mask in it was added to scores.
    """
    least, narrow = torch.finfo(scores).min, torch.finfo(values).min
    return max(least, narrow + FAR) if narrow > least else least


def visible_in(scores: Tensor, least: float) -> Reading:
    """Which cells of a grid of scores count, as spans, or bits where rows need too many; axes along which
    all is the same are 1.
    """
    held = [from_bool(seen, MAX_SPANS) for seen in _seen_blocks(scores, least)]
    if any(one is None for one in held):
        return _as_bits(scores, least)
    some = [one for one in held if one is not None]
    lo, hi = (_joined([getattr(one, edge) for one in some], some) for edge in ("lo", "hi"))
    return Reading(lo, hi)


def _seen_blocks(scores: Tensor, least: float) -> Iterator[Tensor]:
    """Booleans (b|1 h|1 r tk) of blocks of rows; NaN counts, so that it shows."""
    step = max(1, BLOCK_CELLS // max(1, scores.shape[0] * scores.shape[1] * scores.shape[3]))
    for i in range(0, scores.shape[2], step):
        block = scores[:, :, i : i + step]
        peak = block.amax(dim=-1, keepdim=True).float()
        seen = ~((block <= least) | (block.float() < peak - FAR))
        for axis in (0, 1):
            first = seen.narrow(axis, 0, 1)
            seen = first if bool((seen == first).all()) else seen
        yield seen


def _joined(edges: list[Tensor], of: list[Spans]) -> Tensor:
    """Edges of blocks of rows, in order, as one (b|1 h|1 tq s)."""
    size = max(edge.shape[-1] for edge in edges)
    wide = [
        nn.functional.pad(edge, (0, size - edge.shape[-1]), value=one.tk)
        for edge, one in zip(edges, of, strict=True)
    ]
    return rows_joined(wide)


def _as_bits(scores: Tensor, least: float) -> Reading:
    tk = scores.shape[3]
    places = torch.arange(tk, device=scores.device)
    lo, hi, bits = [], [], []
    for seen in _seen_blocks(scores, least):
        whole = seen.expand(*scores.shape[:2], -1, -1)
        lo.append(torch.where(whole, places, tk).amin(dim=-1, keepdim=True))
        hi.append(torch.where(whole, places + 1, 0).amax(dim=-1, keepdim=True))
        bits.append(pack(whole))
    low, high = torch.cat(lo, dim=2), torch.cat(hi, dim=2)
    return Reading(torch.minimum(low, high), high, bits=torch.cat(bits, dim=2))


def _of_heads(record: Record, heads: tuple[int, ...] | None) -> Record:
    """The same for some heads alone: tensors and words have them on their second axis, or 1 there."""
    if heads is None:
        return record
    cut: dict[str, Any] = {}
    for one in fields(record):
        value = getattr(record, one.name)
        if isinstance(value, Tensor):
            cut[one.name] = value if value.shape[1] == 1 else value[:, list(heads)]
        elif isinstance(value, tuple):
            cut[one.name] = tuple(tuple(row[head] for head in heads) for row in value)
    return replace(record, **cut)
