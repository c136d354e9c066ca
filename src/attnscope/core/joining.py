"""The certificates of several calls as one: a site whose rows came from many steps of a generation."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from attnscope.core.certificate import Certificate, assembled
from attnscope.core.probe import ROUNDING
from attnscope.core.verdict import THRESHOLDS, Measured, judge
from attnscope.errors import ShapeError


def joined(parts: Sequence[Certificate], starts: Sequence[int]) -> Certificate:
    """One certificate of several calls that gave rows of one site, as the steps of a generation do.

    starts: the row of the site that is row 0 of each call. Raises ShapeError when there is no call.
    """
    if not parts:
        raise ShapeError("No certificate came", wanted="At least one")
    z, rms, error, t = (
        _stacked(parts, name).nan_to_num(nan=0.0) for name in ("z", "rms", "scale_error", "t")
    )
    rows, missing, broken = (_stacked(parts, name) for name in ("rows", "missing", "broken"))
    z, part = z.max(dim=0)
    row = torch.stack([one.row + start for one, start in zip(parts, starts, strict=True)])
    leverage = (t / error).square().nan_to_num(0.0)  # t = error * sqrt(leverage)
    count, weight = rows.sum(dim=0), leverage.sum(dim=0)
    error = (error * leverage).sum(dim=0) / weight
    found = Measured(
        z=z,
        row=row.gather(0, part[None])[0],
        rms=((rms.square() * rows).sum(dim=0) / count.clamp(min=1)).sqrt(),
        rows=count,
        scale_error=error,
        t=(error * weight.sqrt()).where(weight > 0, 0.0),
        missing=missing.sum(dim=0),
        broken=broken.sum(dim=0),
    )
    dtype = max((one.dtype for one in parts), key=ROUNDING.__getitem__)
    verdicts = judge(found, THRESHOLDS[dtype])
    last = parts[-1]
    for place, head in count.eq(0).nonzero().tolist():
        verdicts[place][head] = last.verdict[place][head], last.reason[place][head]
    return assembled(found, verdicts, dtype, last.route)


def _stacked(parts: Sequence[Certificate], name: str) -> Tensor:
    """A field of every part, (parts b h)."""
    return torch.stack([getattr(one, name) for one in parts])
