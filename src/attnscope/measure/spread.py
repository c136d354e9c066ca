"""A score over several texts: its mean, how far texts differ, and between which numbers the mean lies."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

RESAMPLES = 1000
INSIDE = 0.95
"""The share of resampled means that the interval holds."""


def mean_of(values: Float[Tensor, "h n"]) -> Float[Tensor, " h"]:
    """The mean over texts; texts where the score is undefined (NaN) are left out, and NaN where all are."""
    return values.nanmean(dim=-1)


def spread_of(values: Float[Tensor, "h n"]) -> Float[Tensor, " h"]:
    """The standard deviation over texts, with n - 1 below; NaN for fewer than two texts."""
    count = (~values.isnan()).sum(dim=-1)
    apart = (values - mean_of(values)[:, None]).square().nansum(dim=-1)
    return (apart / (count - 1).clamp(min=0)).sqrt()


def interval(values: Float[Tensor, "h n"], *, seed: int) -> Float[Tensor, "h 2"]:
    """The bootstrap interval of the mean: texts are drawn anew RESAMPLES times, with the same draws for every
    head, and the interval holds INSIDE of the means. NaN for fewer than two texts. Efron 1979, percentiles.
    """
    texts = values.shape[-1]
    if texts < 2:
        return torch.full((len(values), 2), torch.nan, dtype=values.dtype)
    drawn = torch.randint(texts, (RESAMPLES, texts), generator=torch.Generator().manual_seed(seed % 2**63))
    means = values[:, drawn].nanmean(dim=-1)  # (h resamples)
    ends = torch.tensor([(1 - INSIDE) / 2, (1 + INSIDE) / 2], dtype=values.dtype)
    found = means.nanquantile(ends, dim=-1).T
    few = (~values.isnan()).sum(dim=-1) < 2
    return found.masked_fill(few[:, None], torch.nan)
