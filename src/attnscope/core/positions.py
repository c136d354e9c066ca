"""Where a token stands, as numbers: sinusoids added to it, rotations of q and k, slopes of a linear bias.

Phases are computed in float64 and handed over in float32 or wider: in bfloat16 the positions 0 .. 4095 have
only 769 distinct values.
"""

from __future__ import annotations

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from attnscope.core.arithmetic import compute_dtype
from attnscope.core.bias import RelativeBias
from attnscope.errors import ShapeError

Pairing = Literal["half", "interleaved"]


def sinusoidal(t: int, d: int, *, base: float = 10000.0, first: int = 0) -> Float[Tensor, "{t} {d}"]:
    """Position vectors (t, d) float32: column 2i is sin(p / base^(2i / d)), column 2i + 1 its cosine.

    An odd d has one sine more than cosines. Row 0 is position `first`. Vaswani et al. 2017, section 3.5.
    """
    if t < 0 or d < 0:
        raise ShapeError(f"sinusoidal(t={t}, d={d})", wanted="A length and a width of 0 or more")
    position = torch.arange(first, first + t, dtype=torch.float64)[:, None]
    wave = base ** -(torch.arange(0, d, 2, dtype=torch.float64) / max(d, 1))
    table = torch.empty(t, d, dtype=torch.float64)
    table[:, 0::2] = (position * wave).sin()
    table[:, 1::2] = (position * wave[: d // 2]).cos()
    return table.float()


def rotary_table(
    positions: Tensor, d: int, *, base: float = 10000.0, dtype: torch.dtype = torch.float32
) -> tuple[Tensor, Tensor]:
    """cos and sin of each pair's angle, position * base^(-2i / d): (..., d / 2) each for positions (...).

    Raises ShapeError for an odd d: rotations turn pairs. Su et al. 2021 (RoFormer), section 3.2.
    """
    if d < 2 or d % 2:
        raise ShapeError(
            f"A rotary table of width {d}", wanted="An even width: rotations turn pairs of numbers"
        )
    wave = base ** -(torch.arange(0, d, 2, dtype=torch.float64, device=positions.device) / d)
    angle = positions.to(torch.float64)[..., None] * wave
    return angle.cos().to(dtype), angle.sin().to(dtype)


def rotate(
    x: Float[Tensor, "b h t d"], positions: Tensor, *, pairing: Pairing = "half", base: float = 10000.0
) -> Float[Tensor, "b h t d"]:
    """q or k (b h t d), turned by its positions (t,) or (b, t): the same shape and dtype.

    pairing: "half" turns x[i] with x[i + d / 2] (Llama, GPT-NeoX); "interleaved" turns x[2i] with x[2i + 1]
    (RoFormer, GPT-J). They agree under a fixed reordering of the width, and must not be mixed. Positions are
    explicit, so that a cache rotates its new keys alone: cached step by step is the same as all at once.

    Raises ShapeError for an odd width, or positions that do not fit.
    """
    b, _, t, d = x.shape
    if positions.shape not in ((t,), (b, t), (1, t)):
        raise ShapeError(
            f"positions is {tuple(positions.shape)} and x is {tuple(x.shape)}", wanted=f"({t},) or ({b}, {t})"
        )
    if pairing not in ("half", "interleaved"):
        raise ShapeError(f"pairing={pairing!r}", wanted='"half" or "interleaved"')
    cos, sin = rotary_table(positions, d, base=base, dtype=compute_dtype(x.dtype))
    if positions.dim() == 2:
        cos, sin = cos[:, None], sin[:, None]  # (b 1 t d/2)
    return turned(x, cos, sin, pairing=pairing)


def turned(x: Tensor, cos: Tensor, sin: Tensor, *, pairing: Pairing = "half") -> Tensor:
    """x (..., t, d) turned by a table from `rotary_table`; computed in the table's dtype, returned in x's."""
    if pairing == "half":
        one, two = x.to(cos.dtype).chunk(2, dim=-1)
        return torch.cat([one * cos - two * sin, two * cos + one * sin], dim=-1).to(x.dtype)
    one, two = x.to(cos.dtype)[..., 0::2], x.to(cos.dtype)[..., 1::2]
    return torch.stack([one * cos - two * sin, two * cos + one * sin], dim=-1).flatten(-2).to(x.dtype)


def alibi_slopes(n: int) -> Float[Tensor, " {n}"]:
    """One slope for each of n heads, (n,) float32. Press et al. 2021 (ALiBi), section 3.

    For n a power of two, 2^(-8/n), 2^(-16/n), ... For other n, those of the power of two below, then every
    other one of the next power.

    >>> alibi_slopes(6).reciprocal().tolist()
    [4.0, 16.0, 64.0, 256.0, 2.0, 8.0]
    """
    if n < 1:
        raise ShapeError(f"alibi_slopes({n})", wanted="At least one head")
    below = 2 ** (n.bit_length() - 1)
    slopes = _powers(below)
    if below < n:
        slopes = torch.cat([slopes, _powers(2 * below)[0::2][: n - below]])
    return slopes.float()


def alibi(n: int, reach: int) -> RelativeBias:
    """The bias -slope * |j - position| of n heads, for distances below `reach` (the number of keys)."""
    distance = torch.arange(-(reach - 1), reach, dtype=torch.float32)
    return RelativeBias(-alibi_slopes(n)[:, None] * distance.abs(), first=-(reach - 1))


def _powers(n: int) -> Tensor:
    return 2.0 ** (-8.0 / n * torch.arange(1, n + 1, dtype=torch.float64))
