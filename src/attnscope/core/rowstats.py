"""What a summary says of each row, as a state: it has an identity, and merges over any split of the keys.

Sums are of weights relative to a stated normaliser, as peak and sum are relative to a peak. Two states
may stand on different ones (halves of the keys that each have their own), or on the same final one:
merging is right for both.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from attnscope.core.distance import one_sided
from attnscope.core.scores import Tile
from attnscope.core.scoring import Bound
from attnscope.core.tile import Normaliser, Weighed
from attnscope.core.top import Top, no_top
from attnscope.core.visible import Visible
from attnscope.shapes import Rows

SEGMENT = 64
"""Keys whose distances are summed together, relative to the middle one."""


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
        peak, logsum = self.peak, self.logsum
        if peak is not other.peak or logsum is not other.logsum:
            larger = self.peak + self.logsum >= other.peak + other.logsum
            peak = torch.where(larger, self.peak, other.peak)
            logsum = torch.where(larger, self.logsum, other.logsum)
        one, two = self.relative_to(peak, logsum), other.relative_to(peak, logsum)
        mass, mean, scatter = _joined(one.mass, one.mean, one.scatter, two.mass, two.mean, two.scatter)
        return RowStats(
            peak,
            logsum,
            mass,
            one.plogp + two.plogp,
            mean,
            scatter,
            one.first + two.first,
            one.top.merge(two.top),
        )

    def relative_to(self, peak: Tensor, logsum: Tensor) -> RowStats:
        """The same sums relative to another normaliser, (b h r) each; the mean distance does not change."""
        if self.peak is peak and self.logsum is logsum:
            return self
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
    bound: Bound,
    tile: Tile,
    seen: Weighed,
    normaliser: Normaliser,
    *,
    first: Tensor,
    top: Top | None = None,
) -> RowStats:
    """The state after this tile alone: its weights relative to a normaliser, (b h r) each in float64.

    first: see first_keys. top: that of the tile; None is of no key at all.
    """
    mass, mean, scatter = _distances(bound, tile, seen)
    if top is None:
        b, h, r = mass.shape
        top = no_top(b, h, r, 0, dtype=bound.dtype, device=mass.device)
    return RowStats(
        normaliser.peak,
        normaliser.logsum,
        mass,
        seen.pulled.sum(dim=-1).double(),
        mean,
        scatter,
        _of_first(tile, seen.weights, first),
        top,
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
    """Blocks of rows, in order, as one; there must be one at least."""
    if len(parts) == 1:
        return parts[0]
    names = [field.name for field in fields(RowStats) if field.name != "top"]
    joined = {name: torch.cat([getattr(part, name) for part in parts], dim=2) for name in names}
    top = Top(*(torch.cat([getattr(part.top, name) for part in parts], dim=2) for name in ("scores", "keys")))
    return RowStats(**joined, top=top)


def _distances(bound: Bound, tile: Tile, seen: Weighed) -> tuple[Tensor, Tensor, Tensor]:
    """The mass of the tile's weight, its mean distance and its scatter, (b h r) each in float64.

    A weight past a half is taken by itself: beside it the others would be lost in the rounding of squares.
    """
    weights, peaked = seen.weights, seen.largest > 0.5
    if not bool(peaked.any()):
        return _moments(bound, tile, weights)
    key = weights[peaked].argmax(dim=-1)
    where = (*peaked.nonzero(as_tuple=True), key)
    heavy, weights[where] = weights[where], 0.0
    mass, mean, scatter = _moments(bound, tile, weights)
    weights[where] = heavy
    alone, its_own = torch.zeros_like(mass), mean.clone()
    alone[peaked] = heavy.double()
    position = where[2] + (tile.rows.start + bound.offset)
    its_own[peaked] = (position - key - tile.cols.start).abs().double()
    return _joined(mass, mean, scatter, alone, its_own, torch.zeros_like(mass))


def _joined(
    mass: Tensor, mean: Tensor, scatter: Tensor, more: Tensor, its_mean: Tensor, its_scatter: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Mass, mean and scatter of both as one (Chan, Golub and LeVeque 1979): nothing cancels."""
    whole, apart = mass + more, its_mean - mean
    share = (more / whole).where(whole != 0, 0.0)
    return whole, mean + apart * share, scatter + its_scatter + apart.square() * mass * share


def _moments(bound: Bound, tile: Tile, weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Mass, mean distance and scatter of weights (b h r c), in float64."""
    sign, device = one_sided(bound, tile), weights.device
    rows = torch.arange(tile.rows.start, tile.rows.stop, device=device, dtype=torch.float64) + bound.offset
    if not sign:
        cols = torch.arange(tile.cols.start, tile.cols.stop, device=device, dtype=torch.float64)
        distance = (rows[:, None] - cols).abs()
        wide = weights.double()
        powers = (torch.ones_like(distance), distance, distance.square())
        mass, one, two = (torch.linalg.vecdot(wide, power) for power in powers)
        mean = (one / mass).where(mass != 0, 0.0)
        return mass, mean, (two - mean * one).clamp(min=0)
    size = weights.shape[-1]
    whole = size // SEGMENT * SEGMENT
    parts = [_of_segments(weights[..., :whole], SEGMENT)] if whole else []
    if whole < size:
        parts.append(_of_segments(weights[..., whole:], size - whole))
    mass, one, two = torch.cat(parts, dim=1).double()  # (segments b h r) each
    first = torch.arange(0, size, SEGMENT, device=device) + tile.cols.start
    middle = (first + (first + SEGMENT).clamp(max=tile.cols.stop) - 1).double()[:, None, None, None] / 2
    shift = (one / mass).where(mass != 0, 0.0)
    total = mass.sum(dim=0)
    place = (mass * (middle + shift)).sum(dim=0) / total  # the mean key
    apart = middle + shift - place
    scatter = (two - shift * one).clamp(min=0) + mass * apart.square()
    mean = (sign * (rows - place)).where(total != 0, 0.0)
    return total, mean, scatter.sum(dim=0).where(total != 0, 0.0)


def _of_segments(weights: Tensor, width: int) -> Tensor:
    """Sums of weights (b h r c) times 1, o and o^2 over segments of so many columns, o counted from the
    middle of each: (3 segments b h r). Squares of so few columns lose little in float32."""
    lead, count = weights.shape[:3], weights.shape[-1] // width
    off = torch.arange(width, device=weights.device, dtype=weights.dtype) - (width - 1) / 2
    along = torch.stack([torch.ones_like(off), off, off.square()])
    segments = weights.flatten(0, 2).view(-1, count, width).permute(1, 2, 0)  # (segments width b*h*r)
    sums = along.expand(count, 3, width) @ segments
    return sums.transpose(0, 1).reshape(3, count, *lead)


def _of_first(tile: Tile, weights: Tensor, first: Tensor) -> Tensor:
    """The weight of each batch's first key, 0 where it is not in this tile: (b h r) in float64."""
    place = first - tile.cols.start
    here = (place >= 0) & (place < weights.shape[-1])
    if not bool(here.any()):
        return weights.new_zeros(weights.shape[:3], dtype=torch.float64)
    where = place.clamp(0, weights.shape[-1] - 1)[:, None, None, None].expand(*weights.shape[:3], 1)
    found: Tensor = weights.gather(-1, where)[..., 0] * here[:, None, None]
    return found.double()
