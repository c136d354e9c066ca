"""What a certificate measures: a model's out and our own weights, seen through vectors of random signs.

With signs r (each times a factor that evens out the places of out) and u_j = v_j.r, a row whose weights
are the model's has out_i.r = sum_j w_ij u_j, up to rounding (Freivalds 1977, "Probabilistic machines
can use less running time"). What rounding may do is estimated beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attnscope.core.arithmetic import ROUNDING
from attnscope.core.scores import Tile
from attnscope.core.scoring import Bound
from attnscope.core.signs import PROBES, Probed, Summing, evening_of, row_sums, signs_of, unit_of
from attnscope.core.tile import Normaliser, Weighed
from attnscope.errors import ShapeError
from attnscope.shapes import Block, Out, Rows, Value

STEPS = 8
"""Roundings of ours that a score of any size goes through: exp, and taking off the row's peak and logsum."""

LARGEST = 1e15
"""Scores past this are taken for it: their squares would not fit into float32."""


@dataclass(frozen=True, eq=False)
class ProbeSums:
    """Sums over the keys of a row, in float64; halves merge, and `none` changes nothing.

    (b h r): mass, of the weights w.   largest, the largest w.   second, of w u^2, mean over the vectors.
    tilt, of w s, where s = scale * q.k.   (b h r n), for each vector of signs: first, of w u.   tilted, of
    w s u.   drift, (b h r 2 + n): of w e^2 times 1, u of each vector, and the mean of u^2, where e is the
    error of a score in roundings of ours.
    """

    mass: Rows
    largest: Rows
    second: Rows
    tilt: Rows
    first: Probed
    tilted: Probed
    drift: Float[Tensor, "b h tq m"]

    def merge(self, other: ProbeSums) -> ProbeSums:
        """Both halves as one."""
        return ProbeSums(
            self.mass + other.mass,
            torch.maximum(self.largest, other.largest),
            self.second + other.second,
            self.tilt + other.tilt,
            self.first + other.first,
            self.tilted + other.tilted,
            self.drift + other.drift,
        )

    @staticmethod
    def none(b: int, h: int, r: int, n: int, device: torch.device | str = "cpu") -> ProbeSums:
        """The sums of r rows of each head over no key at all, for n vectors of signs."""
        rows = torch.zeros(4, b, h, r, dtype=torch.float64, device=device)
        wide = (torch.zeros(b, h, r, size, dtype=torch.float64, device=device) for size in (n, n, 2 + n))
        return ProbeSums(*rows, *wide)

    @staticmethod
    def over_rows(parts: list[ProbeSums]) -> ProbeSums:
        """Blocks of rows, in order, as one; there must be one at least."""
        if len(parts) == 1:
            return parts[0]
        names = [one.name for one in fields(ProbeSums)]
        return ProbeSums(*(torch.cat([getattr(part, name) for part in parts], dim=2) for name in names))


@dataclass(frozen=True, eq=False)
class Probe:
    """along_keys: for each key 1, u = v.r on n vectors of signs, and the mean of u^2; then the same times the
    square of the key's length: (b hk 4 + 2n tk). u is 0 where not finite, and all is 0 for keys that no row
    sees.   lost: where u is not finite, or None if nowhere.

    on_signs: out.r, (b h tq n).   length: |out * r|, (b h tq).   asked: what the square of a key's length is
    multiplied by for that of its score, (b h tq).

    u, out and floor are in units of a power of two near the largest u of the head, keys in one near the
    longest.

    dtype: the coarsest of the model's.   computed_in: that of our own weights, or float32 where a model of
    float64 rounds its scores to it.   floor: what rounding does to out.r at least, (b h 1): the smallest
    numbers are rounded to steps.   plain: scores are scale * q.k, nothing else.   added: a bias is added.
    """

    along_keys: Float[Tensor, "b hk m tk"]
    lost: Bool[Tensor, "b hk tk"] | None
    on_signs: Probed
    length: Rows
    asked: Rows
    dtype: torch.dtype
    computed_in: torch.dtype
    floor: Float[Tensor, "b h 1"]
    plain: bool
    added: bool

    @property
    def count(self) -> int:
        """How many vectors of signs."""
        return self.on_signs.shape[-1]

    @property
    def rounding(self) -> float:
        """What one rounding of the model may do, relative."""
        return ROUNDING[self.dtype]

    @property
    def ours(self) -> float:
        """What one rounding of ours may do, relative."""
        return ROUNDING[self.computed_in]

    def of_tile(self, tile: Tile, seen: Weighed, normaliser: Normaliser) -> ProbeSums:
        """The sums of this tile alone; normaliser, (b h r) each in float64: that of its weights."""
        n, along = self.count, self.along_keys[..., tile.cols]
        sums, longer = _along(along, seen.weights).chunk(2, dim=2)  # (b h 2 + n r) each
        level = normaliser.peak.masked_fill(normaliser.peak == -torch.inf, 0.0) + normaliser.logsum
        tilts = self._tilts(tile, seen, sums, level[:, :, None])
        drift = STEPS**2 * sums + self.asked[:, :, None, tile.rows] * longer
        return ProbeSums(
            mass=sums[:, :, 0],
            largest=seen.largest.double(),
            second=sums[:, :, n + 1],
            tilt=tilts[:, :, 0],
            first=self._lost(tile, sums[:, :, 1 : n + 1].mT),
            tilted=tilts[:, :, 1:].mT,
            drift=(drift + self._added(tile, seen, sums, level[:, :, None])).mT,
        )

    def _tilts(self, tile: Tile, seen: Weighed, sums: Tensor, level: Tensor) -> Tensor:
        """Sums of w s times 1 and u of each vector, (b h 1 + n r); s is log w + level where all is plain."""
        along = self.along_keys[:, :, : self.count + 1, tile.cols]
        if not self.plain:
            return _along(along, seen.weights * tile.scaled)
        if seen.shifted:
            return _along(along, seen.pulled) + level * sums[:, :, : self.count + 1]
        # -inf would not do where masked, since 0 * inf is no number
        least = torch.finfo(tile.scores.dtype).min
        return _along(along, tile.scores.clamp(min=least).mul_(seen.weights))

    def _added(self, tile: Tile, seen: Weighed, sums: Tensor, level: Tensor) -> Tensor | float:
        """The part of drift that is the rounding of score = scaled + bias, as large as the score."""
        if not self.added:
            return 0.0
        along = self.along_keys[:, :, : self.count + 2, tile.cols]
        if seen.shifted:
            squares, once = _along(along, seen.pulled * seen.logs), _along(along, seen.pulled)
            return squares + 2 * level * once + level.square() * sums
        return _along(along, tile.scores.clamp(-LARGEST, LARGEST).square_().mul_(seen.weights))

    def _lost(self, tile: Tile, first: Tensor) -> Tensor:
        """The sums of rows (b h r n), NaN in those that see a value that is not finite."""
        if self.lost is None:
            return first
        group = first.shape[1] // self.lost.shape[1]
        lost = self.lost[:, :, None, tile.cols].repeat_interleave(group, dim=1)  # (b h 1 c)
        return first.masked_fill((lost & tile.visible).any(dim=-1, keepdim=True), torch.nan)


def probe(
    bound: Bound,
    v: Value,
    out: Out,
    *,
    seed: int,
    evening: Tensor | None = None,
    sums: Summing = row_sums,
) -> Probe:
    """v (b hk tk dv) and out (b h tq dv) on random signs of our own: the global generator is not touched.

    evening: factors (hk dv) for the places of a value; None is evening_of(out).   sums: an engine's sums over
    rows. Raises ShapeError.
    """
    shape = bound.shape
    if evening is not None and evening.shape != (shape.hk, v.shape[-1]):
        raise ShapeError(
            f"evening is {tuple(evening.shape)}",
            wanted=f"One factor for each key head and place of a value, ({shape.hk}, {v.shape[-1]})",
            hint="evening_of(out, key_heads) makes them",
        )
    how = bound.arithmetic
    dtypes = {bound.q.dtype, out.dtype, how.softmax or bound.q.dtype, how.weights or bound.q.dtype}
    coarsest = max(dtypes, key=ROUNDING.__getitem__)
    exact = {how.products, how.scores, how.softmax} <= {None, torch.float64}
    even = evening_of(out, shape.hk, sums) if evening is None else evening.to(v.device, torch.float64)
    signs = signs_of(even, PROBES[coarsest], seed=seed)  # (hk n dv)
    group = shape.h // max(shape.hk, 1)
    looked_at = _looked_at(bound)  # (b hk tk)
    u = sums(v, signs).on_signs
    finite = u.isfinite()
    u = u.where(finite & looked_at[..., None], 0.0)
    unit = unit_of(u.abs().amax(dim=-1))  # (b hk 1)
    length = sums(bound.k, squares=True).squares.sqrt_().nan_to_num_(0.0, 0.0, 0.0) * looked_at
    longest = unit_of(length)
    of_head = (unit.repeat_interleave(group, dim=1), longest.repeat_interleave(group, dim=1))  # (b h 1) each
    of_out = sums(out, signs.repeat_interleave(group, dim=0), squares=True)
    smallest = torch.finfo(out.dtype).smallest_normal * torch.finfo(out.dtype).eps
    even_of_head = even.norm(dim=-1).repeat_interleave(group)[:, None]  # (h 1)
    reach = sums(bound.q, squares=True).squares.sqrt_() * abs(bound.scale) * of_head[1]
    return Probe(
        along_keys=_along_keys(u / unit[..., None], length / longest, bound.dtype),
        lost=None if bool(finite.all()) else ~finite.all(dim=-1),
        on_signs=of_out.on_signs / of_head[0][..., None],
        length=of_out.squares.sqrt() / of_head[0],
        asked=reach.square(),
        dtype=coarsest,
        computed_in=bound.dtype if exact else torch.float32,
        floor=even_of_head * smallest / 2 / of_head[0],
        plain=bound.scoring.bias is None and bound.scoring.softcap is None,
        added=bound.scoring.bias is not None and shape.d > 0,
    )


def _along_keys(u: Tensor, length: Tensor, dtype: torch.dtype) -> Tensor:
    """Of u (b hk tk n) and length (b hk tk), both in units near their largest: (b hk 4 + 2n tk)."""
    b, hk, tk, n = u.shape
    found = torch.empty(b, hk, 4 + 2 * n, tk, dtype=dtype, device=u.device)
    squares, squared = u.square().mean(dim=-1), length.square()
    found[:, :, 0], found[:, :, 1 : n + 1], found[:, :, n + 1] = 1.0, u.mT, squares
    found[:, :, n + 2], found[:, :, n + 3 : -1] = squared, u.mT * squared[:, :, None]
    found[:, :, -1] = squares * squared
    return found


def _looked_at(bound: Bound) -> Bool[Tensor, "b hk tk"]:
    """The keys that some row of their heads sees; of a rule, those within its bounds."""
    shape, seen = bound.shape, bound.visible
    turns = seen.lo.new_zeros(*seen.lo.shape[:2], shape.tk + 1)
    for edge, turn in ((seen.lo, 1), (seen.hi, -1)):
        places = edge.flatten(2)
        turns.scatter_add_(-1, places, torch.full_like(places, turn))
    held = (turns.cumsum(dim=-1)[..., :-1] > 0).expand(shape.b, shape.h, -1)
    held = held.reshape(shape.b, shape.hk, shape.h // max(shape.hk, 1), shape.tk).any(dim=2)
    return held if seen.valid is None else held & seen.valid[:, None]


def _along(columns: Tensor, x: Block) -> Tensor:
    """The sums of x (b h r c) times columns (b hk m c) over keys, (b h m r) in float64.

    In this order of factors a product with few columns is several times faster than x @ columns^T.
    """
    b, h, r, c = x.shape
    hk, m = columns.shape[1:3]
    group = h // max(hk, 1)
    grouped = x.reshape(b, hk, group * r, c)
    return (columns @ grouped.mT).view(b, hk, m, group, r).transpose(2, 3).reshape(b, h, m, r).double()
