"""From products to scores, one block at a time: scale, softcap, bias, in the dtype and order of the
scoring.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from attnscope.shapes import Block, Seen


@dataclass(frozen=True, eq=False)
class Tile:
    """A block of the grid, rows x cols, in the compute dtype.

    products: q.k.   scaled: times the scale.   scores: capped, biased, and -inf where masked.   visible:
    (b|1, h|1, r, c).
    """

    rows: slice
    cols: slice
    products: Block
    scaled: Block
    scores: Block
    visible: Seen


def soften(scaled: Tensor, softcap: float | None) -> Tensor:
    """softcap * tanh(scaled / softcap), or scaled where there is no cap."""
    return scaled if softcap is None else (scaled / softcap).tanh() * softcap


def biased(scaled: Tensor, bias: Tensor | None, softcap: float | None, *, inside: bool) -> Tensor:
    """softcap(scaled) + bias, or softcap(scaled + bias) when the bias is `inside` the cap, in scaled's
    dtype.
    """
    if bias is None:
        return soften(scaled, softcap)
    bias = bias.to(scaled.dtype)
    return soften(scaled + bias, softcap) if inside else soften(scaled, softcap) + bias


def masked(scores: Tensor, visible: Tensor) -> Tensor:
    """The scores, -inf where not visible."""
    return scores.masked_fill(~visible, -torch.inf)
