"""The certificates of several calls over the same heads as one: the steps of a generation, row after row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import torch
from torch import Tensor

from attnscope.core.arithmetic import ROUNDING
from attnscope.core.certificate import Certificate, assembled
from attnscope.core.verdict import NOT_CERTIFIABLE, REFUSED, Measured, judge, thresholds_of
from attnscope.errors import ShapeError


def merge_certificates(parts: Sequence[Certificate], starts: Sequence[int]) -> Certificate:
    """One certificate of all rows of several calls, judged anew; (b h) each as in the parts.

    starts: for each part, which row of the whole its row 0 is. Calls that were made with one `evening` give
    the certificate of the whole; with factors of their own they give figures near it. A part that could
    not be measured keeps the whole from passing, and says why.

    Raises ShapeError where there is no part, not one start a part, or parts are of different heads.
    """
    _check(parts, starts)
    silent = torch.stack([_silent(one) for one in parts])  # (parts b h)
    z, rms, error = (_stacked(parts, name).nan_to_num(nan=0.0) for name in ("z", "rms", "scale_error"))
    rows, missing, broken, leverage = (
        _stacked(parts, name) for name in ("rows", "missing", "broken", "leverage")
    )
    row = torch.stack([one.row + start for one, start in zip(parts, starts, strict=True)])
    largest, part = z.max(dim=0)
    count = rows.sum(dim=0)
    dtype = max((one.dtype for one in parts), key=ROUNDING.__getitem__)
    found = Measured.of_sums(
        dtype,
        z=largest.masked_fill(silent.any(dim=0) & (count == 0), torch.nan),
        row=row.gather(0, part[None])[0],
        squares=(rms.square() * rows).sum(dim=0),
        rows=count,
        pull=(error * leverage).sum(dim=0),
        leverage=leverage.sum(dim=0),
        missing=missing.sum(dim=0),
        broken=broken.sum(dim=0),
    )
    verdicts = judge(found, thresholds_of(parts[-1].route, dtype))
    for at, b, h in silent.nonzero().tolist():
        if verdicts[b][h][0] != REFUSED:
            verdicts[b][h] = NOT_CERTIFIABLE, parts[at].reason[b][h]
    return assembled(found, verdicts, dtype, parts[-1].route)


def reordered(certificate: Certificate, parents: Sequence[int]) -> Certificate:
    """The same figures with batch entry parents[b] in the place of b."""
    order = list(parents)
    moved: dict[str, Any] = {}
    for one in fields(certificate):
        value = getattr(certificate, one.name)
        if isinstance(value, Tensor):
            moved[one.name] = value[order]
        elif isinstance(value, tuple):
            moved[one.name] = tuple(value[batch] for batch in order)
    return replace(certificate, **moved)


def _check(parts: Sequence[Certificate], starts: Sequence[int]) -> None:
    if not parts or len(parts) != len(starts):
        raise ShapeError(
            f"{len(parts)} certificates came with {len(starts)} starts",
            wanted="At least one certificate, and for each the row at which it starts",
        )
    sizes = sorted({tuple(one.z.shape) for one in parts})
    if len(sizes) > 1:
        raise ShapeError(
            f"certificates are of (batch, heads) = {', '.join(map(str, sizes))}",
            wanted="Calls over the same batch and heads",
        )


def _silent(part: Certificate) -> Tensor:
    """Heads (b h) without a certificate for a reason that no figure tells, such as dropout."""
    unjudged = torch.tensor([[word == NOT_CERTIFIABLE for word in batch] for batch in part.verdict])
    unjudged = unjudged.reshape(part.z.shape).to(part.z.device)
    return unjudged & (part.missing == 0) & (part.z.isnan() | (part.rows > 0))


def _stacked(parts: Sequence[Certificate], name: str) -> Tensor:
    """A field of every part, (parts b h)."""
    return torch.stack([getattr(one, name) for one in parts])
