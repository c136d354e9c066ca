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

from attnscope.core.arithmetic import ROUNDING, compute_dtype
from attnscope.core.mix import grouped
from attnscope.core.scores import Tile
from attnscope.core.scoring import Bound
from attnscope.errors import ShapeError
from attnscope.shapes import Block, Out, Rows, Value

Probed = Float[Tensor, "b h tq n"]
"""A number for each row and each of n vectors of signs."""

PROBES = {torch.float64: 1, torch.float32: 1, torch.bfloat16: 4, torch.float16: 4}
"""How many vectors of signs: where a model rounds coarsely, several see what one would lose in rounding."""


@dataclass(frozen=True, eq=False)
class ProbeSums:
    """Sums over the keys of a row, in float64; halves merge, and `none` changes nothing.

    (b h r): mass, of the weights w.   largest, the largest w.   second, of w u^2, mean over the vectors.
    tilt, of w s, where s = scale * q.k.   (b h r n), for each vector of signs: first, of w u.   tilted, of
    w s u.
    """

    mass: Rows
    largest: Rows
    second: Rows
    tilt: Rows
    first: Probed
    tilted: Probed

    def merge(self, other: ProbeSums) -> ProbeSums:
        """Both halves as one."""
        return ProbeSums(
            self.mass + other.mass,
            torch.maximum(self.largest, other.largest),
            self.second + other.second,
            self.tilt + other.tilt,
            self.first + other.first,
            self.tilted + other.tilted,
        )

    @staticmethod
    def none(b: int, h: int, r: int, n: int, device: torch.device | str = "cpu") -> ProbeSums:
        """The sums of r rows of each head over no key at all, for n vectors of signs."""
        rows = torch.zeros(4, b, h, r, dtype=torch.float64, device=device)
        return ProbeSums(*rows, *torch.zeros(2, b, h, r, n, dtype=torch.float64, device=device))

    @staticmethod
    def over_rows(parts: list[ProbeSums]) -> ProbeSums:
        """Blocks of rows, in order, as one."""
        names = [one.name for one in fields(ProbeSums)]
        return ProbeSums(*(torch.cat([getattr(part, name) for part in parts], dim=2) for name in names))


@dataclass(frozen=True, eq=False)
class Probe:
    """along_keys: for each key 1, u = v.r on n vectors of signs, and the mean of u^2: (b hk 2 + n tk); u is 0
    where not finite.   lost: where that is, or None if nowhere.

    on_signs: out.r, (b h tq n).

    length: |out * r|, (b h tq).   dtype: the coarsest of the model's.   computed_in: that of our own weights.
    floor: what rounding does to out.r at least, (h 1), since the smallest numbers are rounded to steps.
    plain: scores are scale * q.k, nothing else.
    """

    along_keys: Float[Tensor, "b hk m tk"]
    lost: Bool[Tensor, "b hk tk"] | None
    on_signs: Probed
    length: Rows
    dtype: torch.dtype
    computed_in: torch.dtype
    floor: Float[Tensor, "h 1"]
    plain: bool

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

    def of_tile(self, tile: Tile, weights: Block) -> ProbeSums:
        """The sums of this tile alone; weights (b h r c) are those of the tile."""
        n, along = self.count, self.along_keys[..., tile.cols]
        sums = grouped(weights, along.mT).double()  # (b h r 2 + n)
        tilts = grouped(self._scaled(tile, weights), along[:, :, : n + 1].mT).double()  # (b h r 1 + n)
        return ProbeSums(
            mass=sums[..., 0],
            largest=weights.amax(dim=-1).double(),
            second=sums[..., n + 1],
            tilt=tilts[..., 0],
            first=self._lost(tile, sums[..., 1 : n + 1]),
            tilted=tilts[..., 1:],
        )

    def _scaled(self, tile: Tile, weights: Block) -> Tensor:
        """Weights times scale * q.k, (b h r c) of its own memory."""
        if not self.plain:
            return weights * tile.scaled
        if tile.whole:
            return weights * tile.scores
        # -inf would not do where masked, since 0 * inf is no number
        return tile.scores.clamp(min=torch.finfo(tile.scores.dtype).min).mul_(weights)

    def _lost(self, tile: Tile, first: Tensor) -> Tensor:
        """The sums of rows (b h r n), NaN in those that see a value that is not finite."""
        if self.lost is None:
            return first
        group = first.shape[1] // self.lost.shape[1]
        lost = self.lost[:, :, None, tile.cols].repeat_interleave(group, dim=1)  # (b h 1 c)
        return first.masked_fill((lost & tile.visible).any(dim=-1, keepdim=True), torch.nan)


def probe(bound: Bound, v: Value, out: Out, *, seed: int, evening: Tensor | None = None) -> Probe:
    """v (b hk tk dv) and out (b h tq dv) on random signs of our own: the global generator is not touched.

    evening: factors (hk dv) for the places of a value; None is evening_of(out). Raises ShapeError.
    """
    shape = bound.shape
    if evening is not None and evening.shape != (shape.hk, v.shape[-1]):
        raise ShapeError(
            f"evening is {tuple(evening.shape)}",
            wanted=f"One factor for each key head and place of a value, ({shape.hk}, {v.shape[-1]})",
            hint="evening_of(out, key_heads) makes them",
        )
    dtypes = {bound.q.dtype, out.dtype, bound.arithmetic.weights or bound.q.dtype}
    coarsest = max(dtypes, key=ROUNDING.__getitem__)
    own = torch.Generator().manual_seed(seed)
    signs = torch.randint(0, 2, (shape.hk, PROBES[coarsest], v.shape[-1]), generator=own) * 2 - 1
    even = evening_of(out, shape.hk) if evening is None else evening.to(v.device, bound.dtype)
    signs = signs.to(v.device, torch.float64) * even[:, None]  # (hk n dv)
    u = _projected(v, signs).to(bound.dtype).mT  # (b hk n tk)
    finite = u.isfinite()
    u = u.where(finite, 0.0)
    group = shape.h // max(shape.hk, 1)
    even = even.repeat_interleave(group, dim=0)[:, None]  # (h 1 dv)
    smallest = torch.finfo(out.dtype).smallest_normal * torch.finfo(out.dtype).eps
    return Probe(
        along_keys=torch.cat([torch.ones_like(u[:, :, :1]), u, u.square().mean(dim=2, keepdim=True)], dim=2),
        lost=None if bool(finite.all()) else ~finite.all(dim=2),
        on_signs=_projected(out, signs.repeat_interleave(group, dim=0)),
        length=(out.to(bound.dtype) * even).norm(dim=-1),
        floor=even.norm(dim=-1) * smallest / 2,
        dtype=coarsest,
        computed_in=bound.dtype,
        plain=bound.scoring.bias is None and bound.scoring.softcap is None,
    )


def _projected(x: Tensor, signs: Tensor) -> Probed:
    """x (b h t d) on vectors (h n d), (b h t n) in float64, where a sum of d numbers costs no digit."""
    heads = [x[:, head].double() @ signs[head].mT for head in range(x.shape[1])]  # one at a time: O(T) memory
    return torch.stack(heads, dim=1) if heads else x.new_zeros(*x.shape[:3], signs.shape[1]).double()


def evening_of(out: Out, key_heads: int) -> Float[Tensor, "hk dv"]:
    """Factors that make the places of out (b h tq dv) about equally large, as far as eight to one.

    A place that is large in every row is rounded coarsely, and would drown what the small ones can tell.
    """
    b, h, tq, dv = out.shape
    wide = out.to(compute_dtype(out.dtype)).nan_to_num(0.0, 0.0, 0.0)
    grouped = wide.reshape(b, key_heads, h // max(key_heads, 1) * tq, dv)
    size = grouped.square().sum(dim=(0, 2)).sqrt()
    size = size + size.mean(dim=-1, keepdim=True) / 8
    even: Tensor = (size.mean(dim=-1, keepdim=True) / size).where(size > 0, 1.0)
    return even
