"""From the figures of a certificate to its verdict: the limits in one table, and the sentence beside each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from attnscope.core.arithmetic import ROUNDING, compute_dtype

PASSED, REFUSED, NOT_CERTIFIABLE = "passed", "refused", "not certifiable"


@dataclass(frozen=True)
class Thresholds:
    """A head is refused when a row's |z|, the rms of z over many rows, or |t| of its scale error is
    past these."""

    z: float
    rms: float
    t: float

    def rms_over(self, rows: int) -> float:
        """The limit of rms over so many rows: one of them may reach z, the others together rms."""
        return math.sqrt(self.rms**2 + (self.z**2 - self.rms**2) / max(rows, 1))


COMMON = 16
"""Roundings of ours that may tilt all rows alike, as a scale would: no number of rows averages them out."""

DEFAULT = {
    torch.float64: Thresholds(z=20.0, rms=5.0, t=20.0),
    torch.float32: Thresholds(z=8.0, rms=2.0, t=8.0),
    torch.bfloat16: Thresholds(z=4.0, rms=1.2, t=6.0),
    torch.float16: Thresholds(z=4.0, rms=1.2, t=6.0),
}
"""By the coarsest dtype of the model's steps. Kernels differ in order, not in how often they round."""

THRESHOLDS: dict[tuple[str, torch.dtype], Thresholds] = {
    ("fused", torch.bfloat16): Thresholds(z=6.0, rms=1.9, t=8.0),
    ("fused", torch.float16): Thresholds(z=6.0, rms=1.9, t=8.0),
}
"""By route and dtype, where it is not the default: torch's fused step, where it has a mask, rounds each
weight three times in 16 bits (exp, the sum it is divided by, the quotient), and others once.

`python -m benchmarks calibrate` measures what clean heads reach; docs/certificate.md keeps the table.
"""


def thresholds_of(route: str, dtype: torch.dtype) -> Thresholds:
    """The limits of a route, by the last part of its name ("eager" of "huggingface/eager")."""
    return THRESHOLDS.get((route.rsplit("/", 1)[-1], dtype), DEFAULT[dtype])


@dataclass(frozen=True, eq=False)
class Measured:
    """The figures of one call, (b h) each: z is the largest |z| of a row, and row where it was found.

    rows: rows that were compared.   missing: rows whose out is not finite.   broken: rows where out is
    finite and our own sum is not.   leverage: what a relative error of the scale would show, squared and
    summed over rows.
    """

    z: Tensor
    row: Tensor
    rms: Tensor
    rows: Tensor
    scale_error: Tensor
    t: Tensor
    leverage: Tensor
    missing: Tensor
    broken: Tensor

    @staticmethod
    def of_sums(
        dtype: torch.dtype, *, squares: Tensor, rows: Tensor, pull: Tensor, leverage: Tensor, **others: Tensor
    ) -> Measured:
        """From sums over rows: of z^2, and of z * g / N (the pull) and (g / N)^2; others as they are.

        The error of the scale is known to 1 / sqrt(leverage), and no better than to COMMON roundings.
        """
        common = COMMON * ROUNDING[compute_dtype(dtype)]
        return Measured(
            rms=(squares / rows.clamp(min=1)).sqrt(),
            rows=rows,
            scale_error=pull / leverage,
            t=(pull / (leverage * (1 + leverage * common**2)).sqrt()).where(leverage > 0, 0.0),
            leverage=leverage,
            **others,
        )


class Head(NamedTuple):
    """The figures of one head, named as in Measured."""

    z: float
    row: int
    rms: float
    rows: int
    scale_error: float
    t: float
    missing: int
    broken: int


def measure(
    z: Tensor,
    tilt: Tensor,
    counted: Tensor,
    dtype: torch.dtype,
    *,
    out_finite: Tensor,
    ours_finite: Tensor,
    start: int = 0,
) -> Measured:
    """z and tilt = g / N, (b h r n) each, over the rows that are `counted` and finite on both sides.

    The z of a row is the rms of its n.
    """
    compared = counted & out_finite & ours_finite  # (b h r)
    z = z.where(compared[..., None], 0.0)
    tilt = tilt.where(compared[..., None], 0.0).nan_to_num(0.0, 0.0, 0.0)
    of_row, rows = z.square().mean(dim=-1), compared.sum(dim=-1)
    largest, row = of_row.max(dim=-1) if of_row.shape[-1] else (of_row.sum(dim=-1), rows)
    return Measured.of_sums(
        dtype,
        z=largest.sqrt(),
        row=row + start,
        squares=of_row.sum(dim=-1),
        rows=rows,
        pull=(z.where(z.isfinite(), 0.0) * tilt).sum(dim=(-2, -1)),
        leverage=tilt.square().sum(dim=(-2, -1)),
        missing=(counted & ~out_finite).sum(dim=-1),
        broken=(counted & out_finite & ~ours_finite).sum(dim=-1),
    )


def judge(found: Measured, limits: Thresholds) -> list[list[tuple[str, str | None]]]:
    """For each batch, for each head: the verdict and its reason (None where it passed)."""
    columns = [getattr(found, name).tolist() for name in Head._fields]
    return [
        [_verdict(Head(*head), limits) for head in zip(*batch, strict=True)]
        for batch in zip(*columns, strict=True)
    ]


def _verdict(head: Head, limits: Thresholds) -> tuple[str, str | None]:
    if head.broken:
        return (
            REFUSED,
            f"in {_rows(head.broken)} the model's output is a number and the one recomputed is not",
        )
    if head.z > limits.z:
        return REFUSED, f"row {head.row} is off by {_times(head.z, limits.z)}"
    if head.rms > limits.rms_over(head.rows):
        return REFUSED, f"on average its rows are off by {_times(head.rms, limits.rms_over(head.rows))}"
    if abs(head.t) > limits.t:
        return REFUSED, f"the scale is off by {head.scale_error:.2%}, {_times(abs(head.t), limits.t)}"
    if head.missing:
        return NOT_CERTIFIABLE, f"the model's own output is not finite in {_rows(head.missing)}"
    if not head.rows:
        return NOT_CERTIFIABLE, "no row sees a key"
    return PASSED, None


def _times(found: float, limit: float) -> str:
    return f"{found:,.3g} times what rounding explains; {limit:.3g} is allowed"


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"
