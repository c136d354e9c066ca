"""What a certificate measures: a model's out and our own weights, seen through one vector of random signs.

With signs r (each times a factor that evens out the places of out) and u_j = v_j.r, a row whose weights
are the model's has out_i.r = sum_j w_ij u_j, up to rounding (Freivalds 1977, "Probabilistic machines
can use less running time"). What rounding may do is estimated beside it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attnscope.core.arithmetic import compute_dtype
from attnscope.core.scores import Tile
from attnscope.core.scoring import Bound
from attnscope.errors import ShapeError
from attnscope.shapes import Block, Out, Rows, Value

ROUNDING = {
    torch.float64: 2.0**-53,
    torch.float32: 2.0**-24,
    torch.bfloat16: 2.0**-9,
    torch.float16: 2.0**-12,
}
"""Half a unit in the last place, relative: what one rounding to a dtype may do."""


@dataclass(frozen=True, eq=False)
class ProbeSums:
    """Sums over the keys of a row, (b h r) each in float64; halves merge, and `none` changes nothing.

    mass: of the weights w.   largest: the largest w.   first, second: of w u and w u^2.
    tilt, tilted: of w s and w s u, where s = scale * q.k.
    """

    mass: Rows
    largest: Rows
    first: Rows
    second: Rows
    tilt: Rows
    tilted: Rows

    def merge(self, other: ProbeSums) -> ProbeSums:
        """Both halves as one."""
        return ProbeSums(
            self.mass + other.mass,
            torch.maximum(self.largest, other.largest),
            self.first + other.first,
            self.second + other.second,
            self.tilt + other.tilt,
            self.tilted + other.tilted,
        )

    @staticmethod
    def none(b: int, h: int, r: int, device: torch.device | str = "cpu") -> ProbeSums:
        """The sums of r rows of each head over no key at all."""
        return ProbeSums(*torch.zeros(6, b, h, r, dtype=torch.float64, device=device))

    @staticmethod
    def over_rows(parts: list[ProbeSums]) -> ProbeSums:
        """Blocks of rows, in order, as one."""
        names = ("mass", "largest", "first", "second", "tilt", "tilted")
        return ProbeSums(*(torch.cat([getattr(part, name) for part in parts], dim=-1) for name in names))


@dataclass(frozen=True, eq=False)
class Probe:
    """u: values on the signs, v.r, (b hk tk), 0 where not finite.   lost: where that is, or None if nowhere.

    on_signs: out.r, (b h tq).

    length: |out * r|, (b h tq).   dtype: the coarsest of the model's.   computed_in: that of our own weights.
    floor: what rounding does to out.r at least, (h 1), since the smallest numbers are rounded to steps.
    plain: scores are scale * q.k, nothing else.
    """

    u: Float[Tensor, "b hk tk"]
    lost: Bool[Tensor, "b hk tk"] | None
    on_signs: Rows
    length: Rows
    dtype: torch.dtype
    computed_in: torch.dtype
    floor: Float[Tensor, "h 1"]
    plain: bool

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
        b, h, r, c = weights.shape
        hk = self.u.shape[1]
        grouped = (b, hk, h // max(hk, 1), r, c)
        u = self.u[:, :, None, None, tile.cols]  # (b hk 1 1 c)
        w, ws = weights.reshape(grouped), self._scaled(tile, weights).reshape(grouped)
        wu = w * u
        first, tilt = wu.sum(dim=-1), ws.sum(dim=-1)
        second, tilted = wu.mul_(u).sum(dim=-1), ws.mul_(u).sum(dim=-1)
        first, second, tilt, tilted = (x.reshape(b, h, r).double() for x in (first, second, tilt, tilted))
        mass, largest = weights.sum(dim=-1).double(), weights.amax(dim=-1).double()
        return ProbeSums(mass, largest, self._lost(tile, first), second, tilt, tilted)

    def _scaled(self, tile: Tile, weights: Block) -> Tensor:
        """Weights times scale * q.k, (b h r c) of its own memory."""
        if not self.plain:
            return weights * tile.scaled
        if tile.whole:
            return weights * tile.scores
        # -inf would not do where masked, since 0 * inf is no number
        return tile.scores.clamp(min=torch.finfo(tile.scores.dtype).min).mul_(weights)

    def _lost(self, tile: Tile, first: Tensor) -> Tensor:
        """The sums of rows (b h r), NaN in those that see a value that is not finite."""
        if self.lost is None:
            return first
        group = first.shape[1] // self.lost.shape[1]
        lost = self.lost[:, :, None, tile.cols].repeat_interleave(group, dim=1)  # (b h 1 c)
        return first.masked_fill((lost & tile.visible).any(dim=-1), torch.nan)


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
    own = torch.Generator().manual_seed(seed)
    signs = torch.randint(0, 2, (shape.hk, v.shape[-1]), generator=own) * 2 - 1
    wide = out.to(bound.dtype)
    even = evening_of(wide, shape.hk) if evening is None else evening.to(v.device, bound.dtype)
    signs = signs.to(v.device, bound.dtype) * even  # (hk dv)
    u = (v.to(bound.dtype) @ signs[..., None])[..., 0]  # (b hk tk)
    finite = u.isfinite()
    each = signs.repeat_interleave(shape.h // max(shape.hk, 1), dim=0)[:, None]  # (h 1 dv)
    dtypes = {bound.q.dtype, out.dtype, bound.arithmetic.weights or bound.q.dtype}
    smallest = torch.finfo(out.dtype).smallest_normal * torch.finfo(out.dtype).eps
    return Probe(
        u=u.where(finite, 0.0),
        lost=None if bool(finite.all()) else ~finite,
        on_signs=(wide * each).sum(dim=-1),
        length=(wide * each).norm(dim=-1),
        floor=each.norm(dim=-1) * smallest / 2,
        dtype=max(dtypes, key=ROUNDING.__getitem__),
        computed_in=bound.dtype,
        plain=bound.scoring.bias is None and bound.scoring.softcap is None,
    )


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
