"""One cell of one head as arithmetic: every term from q.k to the weight and the mixed value, in float64.

    product = sum_d q_d k_d      scaled = scale * product      score = softcap(scaled) + bias
    recomputed = exp((score - peak) - logsum)

The terms re-add: `recomputed` (float64, nothing rounded) and `shown` (what the recording shows) differ by
no more than the roundings of the model's own dtype allow, and `allowed` is that bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from attnscope.core.arithmetic import compute_dtype
from attnscope.core.scoring import Bound
from attnscope.recording.words import why_visible

UNIT = {torch.float64: 2.0**-53, torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}
"""Half the distance from 1 to the next number: the largest relative error of one rounding."""

SMALLEST = {torch.float16: 2.0**-24, torch.bfloat16: 2.0**-133, torch.float32: 2.0**-149, torch.float64: 0.0}
"""The spacing near 0: the largest absolute error of one rounding there."""


@dataclass(frozen=True)
class Mixed:
    """What the cell adds to the row's output. norm: |v_j|.   mix: weight * |v_j|.   part: weight * v_j."""

    norm: float
    mix: float
    v: list[float] = field(repr=False)
    part: list[float] = field(repr=False)


@dataclass(frozen=True)
class Cell:
    """The arithmetic of row i, column j of one head; numbers without a word beside them are float64.

    q, k, terms: (d) and their product term by term.   products, scaled, capped, bias, score: step by step;
    None where the model has no such step.   visible, why: whether row i may see key j, and by which rule.
    peak, logsum, lse: the row's normaliser.   recomputed: the float64 weight.   shown: the weight that the
    recording shows.   difference: |shown - recomputed|.   allowed: what the roundings of the model's dtype
    account for.   readds: difference <= allowed. rank: 1 for the largest weight of the row, None where not
    visible.   row_keys: how many keys the row sees. sink: the weight that goes to a learned sink, None
    where there is none.   value: None where v was not kept.   length: |v_j W_O^h|, float32, None where that
    is not known; shown * length is what the picture of weight times value shows.
    """

    layer: int
    head: int
    i: int
    j: int
    batch: int
    d: int
    q: list[float] = field(repr=False)
    k: list[float] = field(repr=False)
    terms: list[float] = field(repr=False)
    products: float
    scale: float
    scaled: float
    softcap: float | None
    capped: float | None
    bias: float | None
    visible: bool
    why: str
    score: float
    peak: float
    logsum: float
    lse: float
    recomputed: float
    shown: float
    difference: float
    allowed: float
    readds: bool
    rank: int | None
    row_keys: int
    sink: float | None
    value: Mixed | None
    length: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data for JSON: lists and numbers, infinities as "-inf" and "inf"."""
        plain: dict[str, Any] = {name: _plain(value) for name, value in vars(self).items() if name != "value"}
        plain["value"] = None if self.value is None else {n: _plain(x) for n, x in vars(self.value).items()}
        return plain


@dataclass(frozen=True, eq=False)
class _Row:
    """One row in float64, nothing rounded: (tk) each."""

    products: Tensor
    scaled: Tensor
    capped: Tensor
    bias: Tensor | None
    scores: Tensor
    visible: Tensor
    peak: float
    total: float
    sink: float | None

    @property
    def logsum(self) -> float:
        return math.log(self.total) if self.total > 0 else 0.0


def cell_of(bound: Bound, v: Tensor | None, head: int, i: int, j: int, *, batch: int, shown: float) -> Cell:
    """The cell at row i, column j; `head` is the index among the kept heads, and layer is left at 0."""
    row = _row(bound, head, i, batch)
    q = bound.q[batch, head, i].to(torch.float64)
    k = bound.k[batch, _key_head(bound, head), j].to(torch.float64)
    visible, score = bool(row.visible[j]), float(row.scores[j])
    recomputed = math.exp((score - row.peak) - row.logsum) if visible and row.peak > -math.inf else 0.0
    errors = _errors(bound, row, head, i, batch)
    allowed = _allowed(bound, row, errors, j, recomputed) if visible else 0.0
    seen = row.scores[row.visible]
    softcap, bias = bound.scoring.softcap, row.bias
    return Cell(
        layer=0, head=head, i=i, j=j, batch=batch, d=bound.shape.d,
        q=q.tolist(), k=k.tolist(), terms=(q * k).tolist(),
        products=float(row.products[j]), scale=bound.scale, scaled=float(row.scaled[j]),
        softcap=softcap, capped=None if softcap is None else float(row.capped[j]),
        bias=None if bias is None else float(bias[j]),
        visible=visible, why=why_visible(bound, head, i, j, batch),
        score=score, peak=row.peak, logsum=row.logsum, lse=row.peak + row.logsum,
        recomputed=recomputed, shown=shown, difference=abs(shown - recomputed), allowed=allowed,
        readds=abs(shown - recomputed) <= allowed,
        rank=int((seen > score).sum()) + 1 if visible else None, row_keys=int(row.visible.sum()),
        sink=None if row.sink is None else math.exp((row.sink - row.peak) - row.logsum),
        value=None if v is None else _mixed(v[batch, _key_head(bound, head), j], recomputed),
    )  # fmt: skip


def _row(bound: Bound, head: int, i: int, batch: int) -> _Row:
    """Row i in float64, from q and k as they were handed to the kernel."""
    scoring = bound.scoring
    q = bound.q[batch, head, i].to(torch.float64)
    k = bound.k[batch, _key_head(bound, head)].to(torch.float64)
    heads, batches, rows = slice(head, head + 1), slice(batch, batch + 1), slice(i, i + 1)
    columns = slice(0, bound.shape.tk)
    products = k @ q  # (tk)
    scaled = products * bound.scale
    added = None
    if scoring.bias is not None:
        block = scoring.bias.block(rows, columns, heads=heads, batch=batches, offset=bound.offset)
        added = block.to(q.device, torch.float64).expand(1, 1, 1, bound.shape.tk)[0, 0, 0]
    inner = scaled if added is None or not scoring.bias_inside_cap else scaled + added
    capped = inner if scoring.softcap is None else (inner / scoring.softcap).tanh() * scoring.softcap
    scores = capped if added is None or scoring.bias_inside_cap else capped + added
    visible = bound.visible.tile(rows, columns, heads=heads, batch=batches).expand(1, 1, 1, -1)[0, 0, 0]
    scores = scores.masked_fill(~visible, -torch.inf)
    sink = None if scoring.sinks is None else float(scoring.sinks[head])
    peak = max(float(scores.max()) if len(scores) else -math.inf, -math.inf if sink is None else sink)
    total = 1.0 if peak == -math.inf else float((scores - peak).exp().sum())
    if sink is not None and peak > -math.inf:
        total += math.exp(sink - peak)
    return _Row(products, scaled, capped, added, scores, visible, peak, total, sink)


def _allowed(bound: Bound, row: _Row, errors: Tensor, j: int, weight: float) -> float:
    """How far the shown weight may be from the float64 one, each score of the row erring by its `errors`."""
    how, compute = bound.arithmetic, compute_dtype(bound.q.dtype)
    soft, cast = how.softmax or compute, how.weights or compute
    seen = row.visible
    smallest = ((row.scores - row.peak - row.logsum).exp() * (-errors).exp())[
        seen
    ].sum()  # of the row's weights
    if row.sink is not None:
        smallest += math.exp(row.sink - row.peak - row.logsum - UNIT[how.scores or compute] * abs(row.sink))
    factor = math.exp(min(float(errors[j]), 500.0)) / max(float(smallest), 1e-200)
    relative = factor - 1 + 4 * UNIT[soft] + UNIT[cast] + int(seen.sum()) * UNIT[compute]
    return weight * relative + SMALLEST[soft] + SMALLEST[cast] + 2.0**-126


def _errors(bound: Bound, row: _Row, head: int, i: int, batch: int) -> Tensor:
    """A bound on the rounding error of each score of a row, (tk), after Higham's gamma_n.

    A product of d terms errs by (d + 2) u |q|.|k| at most, in any order; each later step by u times its
    result.
    """
    how, softcap, compute = bound.arithmetic, bound.scoring.softcap, compute_dtype(bound.q.dtype)
    ours, product, score = UNIT[compute], UNIT[how.products or compute], UNIT[how.scores or compute]
    q = bound.q[batch, head, i].to(torch.float64)
    k = bound.k[batch, _key_head(bound, head)].to(torch.float64)
    reach = k.abs() @ q.abs()  # (tk)
    error = (bound.shape.d + 2) * ours * reach + product * row.products.abs()
    error = abs(bound.scale) * (error + (product * reach if how.scale_q else 0.0))
    error = error + score * (row.scaled.abs() + (3 * softcap if softcap is not None else 0.0))
    if row.bias is not None:
        error = error + score * (2 * row.bias.abs() + row.scores.abs())
    if row.peak == -math.inf:
        return error
    error = error + 4 * ours * (row.scores.abs() + abs(row.peak) + 1)
    return error + (score * (row.scores - row.peak).abs() if how.subtract_max else 0.0)


def _mixed(v: Tensor, weight: float) -> Mixed:
    wide = v.to(torch.float64)
    norm = float(wide.norm())
    return Mixed(norm=norm, mix=weight * norm, v=wide.tolist(), part=(wide * weight).tolist())


def _key_head(bound: Bound, head: int) -> int:
    return head // (bound.shape.h // bound.shape.hk)


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value
