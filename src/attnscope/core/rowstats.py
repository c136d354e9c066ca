"""What a summary says of each row, as a state: it has an identity, and merges over any split of the keys.

Sums are of weights relative to a stated normaliser, as peak and sum are relative to a peak. Two states
may stand on different ones (halves of the keys that each have their own), or on the same final one:
merging is right for both.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from attnscope.core.scores import Tile
from attnscope.core.scoring import Bound
from attnscope.core.top import Top, no_top, top_of
from attnscope.core.visible import Visible
from attnscope.shapes import Block, Rows


@dataclass(frozen=True, eq=False)
class RowStats:
    """(b h r) each in float64, relative to the normaliser (peak, logsum): weights w, distances |i - j|.

    mass: sum of w.   plogp: sum of w log w.   mean: mean distance.   scatter: sum of w (distance - mean)^2.
    first: w of the first key.   top: the largest scores.
    """

    peak: Rows
    logsum: Rows
    mass: Rows
    plogp: Rows
    mean: Rows
    scatter: Rows
    first: Rows
    top: Top

    def merge(self, other: RowStats) -> RowStats:
        """Both halves as one, relative to the larger of the two normalisers."""
        larger = self.peak + self.logsum >= other.peak + other.logsum
        peak = torch.where(larger, self.peak, other.peak)
        logsum = torch.where(larger, self.logsum, other.logsum)
        one, two = self.relative_to(peak, logsum), other.relative_to(peak, logsum)
        mass = one.mass + two.mass
        share = (two.mass / mass).where(mass > 0, 0.0)
        apart = two.mean - one.mean  # Chan, Golub and LeVeque 1979: nothing cancels
        return RowStats(
            peak,
            logsum,
            mass,
            one.plogp + two.plogp,
            one.mean + apart * share,
            one.scatter + two.scatter + apart.square() * one.mass * share,
            one.first + two.first,
            one.top.merge(two.top),
        )

    def relative_to(self, peak: Tensor, logsum: Tensor) -> RowStats:
        """The same sums relative to another normaliser, (b h r) each; the mean distance does not change."""
        gone = self.peak == -torch.inf
        shift = ((self.peak - peak) + (self.logsum - logsum)).masked_fill(gone | (peak == -torch.inf), 0.0)
        faded = shift.exp()
        return replace(
            self,
            peak=peak,
            logsum=logsum,
            mass=self.mass * faded,
            plogp=(self.plogp + shift * self.mass) * faded,
            scatter=self.scatter * faded,
            first=self.first * faded,
        )


def no_rows_seen(bound: Bound, r: int, top: int) -> RowStats:
    """The identity of merge: r rows of each head that have seen nothing."""
    b, h, device = bound.shape.b, bound.shape.h, bound.q.device
    zero = torch.zeros(b, h, r, dtype=torch.float64, device=device)
    none = no_top(b, h, r, top, dtype=bound.dtype, device=device)
    return RowStats(zero - torch.inf, zero, zero, zero, zero, zero, zero, none)


def row_stats(
    bound: Bound, tile: Tile, weights: Block, peak: Tensor, logsum: Tensor, *, top: int, first: Tensor
) -> RowStats:
    """The state after this tile alone: its weights (b h r c) relative to peak and logsum (b h r);
    first: see first_keys."""
    best = top_of(tile.scores, top, tile.cols.start)
    mass = weights.sum(dim=-1).double()
    logs = weights.clamp(min=torch.finfo(weights.dtype).tiny).log_()  # 0 log 0 = 0
    mean, scatter = _distances(bound, tile, weights, best.keys[..., 0], mass)
    return RowStats(
        peak.double(),
        logsum.double(),
        mass,
        torch.linalg.vecdot(weights, logs).double(),
        mean,
        scatter,
        _of_first(tile, weights, first),
        best,
    )


def first_keys(seen: Visible) -> Tensor:
    """For each batch the first key that any row may see, (b): the first token, past the padding on its
    left."""
    lo = seen.lo.masked_fill(seen.hi <= seen.lo, seen.tk).expand(seen.b, -1, -1, -1)
    first = lo.flatten(1).amin(dim=1) if lo.numel() else lo.new_zeros(seen.b)
    if seen.valid is None or not seen.tk:
        return first
    keys = torch.arange(seen.tk, device=first.device)
    return (seen.valid & (keys >= first[:, None])).to(torch.uint8).argmax(dim=-1)


def over_rows(parts: list[RowStats]) -> RowStats:
    """Blocks of rows, in order, as one."""
    names = [field.name for field in fields(RowStats) if field.name != "top"]
    joined = {name: torch.cat([getattr(part, name) for part in parts], dim=2) for name in names}
    top = Top(*(torch.cat([getattr(part.top, name) for part in parts], dim=2) for name in ("scores", "keys")))
    return RowStats(**joined, top=top)


def _distances(
    bound: Bound, tile: Tile, weights: Tensor, near: Tensor, mass: Tensor
) -> tuple[Tensor, Tensor]:
    """Mean distance of the tile's weight and its scatter, (b h r) in float64.

    Distances are taken relative to that of the largest weight, `near` (b h r), so that a peaked row
    loses nothing.
    """
    device, dtype = weights.device, weights.dtype
    rows = torch.arange(tile.rows.start, tile.rows.stop, device=device, dtype=dtype) + bound.offset
    cols = torch.arange(tile.cols.start, tile.cols.stop, device=device, dtype=dtype)
    distance = (rows[:, None] - cols).abs()  # (r c)
    base = (rows - near.clamp(min=0)).abs()  # (b h r)
    off = distance - base[..., None]
    one = torch.linalg.vecdot(weights, off).double()
    two = torch.linalg.vecdot(weights, off.square_()).double()
    shift = (one / mass).where(mass > 0, 0.0)
    return (base.double() + shift).where(mass > 0, 0.0), (two - shift * one).clamp(min=0)


def _of_first(tile: Tile, weights: Tensor, first: Tensor) -> Tensor:
    """The weight of each batch's first key, 0 where it is not in this tile: (b h r) in float64."""
    place = first - tile.cols.start
    here = (place >= 0) & (place < weights.shape[-1])
    where = place.clamp(0, weights.shape[-1] - 1)[:, None, None, None].expand(*weights.shape[:3], 1)
    found: Tensor = weights.gather(-1, where)[..., 0] * here[:, None, None]
    return found.double()
