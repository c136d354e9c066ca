"""What stands along the sides of a map: numbers of each row and of each key, at the zoom of its tiles."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad

from attnscope.errors import NotKept, RecordingError
from attnscope.maps.tile import Reduction, check_reduction

OF_ROWS, OF_KEYS = ("entropy", "sink"), ("received", "received_mean")
BARS = (*OF_ROWS, *OF_KEYS)


@dataclass(frozen=True, eq=False)
class Sides:
    """entropy: of each row's weights on keys, in nats.   sink: its weight on a learned sink, or None; (tq).

    received: the sum of the weights a key gets, in the second picture of weight times length.
    received_mean: the mean over the rows that see it, NaN where none does; (tk).   largest: the largest
    number of each row, (tq), of the second picture alone.
    """

    entropy: Float[Tensor, " tq"] = field(repr=False)
    sink: Float[Tensor, " tq"] | None = field(repr=False)
    received: Float[Tensor, " tk"] = field(repr=False)
    received_mean: Float[Tensor, " tk"] = field(repr=False)
    largest: Float[Tensor, " tq"] | None = field(default=None, repr=False)

    def of(self, name: str) -> Tensor:
        """One of BARS, a number for each row or key. Raises RecordingError, and NotKept where there is no
        sink.
        """
        if name not in BARS:
            raise RecordingError(f"There is no bar {name!r:.40}", wanted=", ".join(BARS))
        values: Tensor | None = getattr(self, name)
        if values is None:
            raise NotKept("This head has no learned sink")
        return values


def reduced(values: Tensor, cells: int, reduction: Reduction) -> Tensor:
    """Numbers (n) reduced over each `cells` of them; NaN are left out, and NaN where all are."""
    check_reduction(reduction)
    if cells == 1:
        return values
    whole = pad(values, (0, -len(values) % cells), value=torch.nan).view(-1, cells)
    if reduction == "mean":
        return whole.nanmean(dim=1)
    some = ~whole.isnan()
    filled = whole.where(some, 0.0 if reduction == "sum" else -torch.inf)
    found = filled.sum(dim=1) if reduction == "sum" else filled.amax(dim=1)
    return found.masked_fill(~some.any(dim=1), torch.nan)
