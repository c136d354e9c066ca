"""How much each key puts into a row's output: its weight times the length of its value.

|w_ij v_j W_O^h| where the head's part of the output projection is at hand, else |w_ij v_j|. A weight on a
key of short value moves nothing. After Kobayashi et al. 2020, "Attention is not only a weight" (arXiv
2004.10102).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from attnscope.errors import ShapeError


@dataclass(frozen=True, eq=False)
class Mixes:
    """values: weight times length, (r c), 0 where not visible.   lengths: of each key's value, (c).
    projected: whether lengths are of v_j W_O^h, and not of v_j.
    """

    values: Float[Tensor, "r c"] = field(repr=False)
    lengths: Float[Tensor, " c"] = field(repr=False)
    projected: bool


def lengths_of(v: Float[Tensor, "c dv"], projection: Tensor | None, head: int, heads: int) -> Tensor:
    """The lengths of values, (c) in float64: as they are, or through head's part of an output projection.

    projection: the weight (n, heads * dv) of the linear layer that takes all heads side by side. Raises
    ShapeError where it does not fit.
    """
    wide = v.to(torch.float64)
    if projection is None:
        return _lengths(wide)
    dv = v.shape[-1]
    if projection.dim() != 2 or projection.shape[1] != heads * dv:
        raise ShapeError(
            f"The projection is {tuple(projection.shape)}",
            wanted=f"(n, {heads * dv}): the weight of the linear layer that takes {heads} heads of {dv}",
            hint="A Conv1D of transformers (GPT-2) keeps it transposed: hand over weight.T",
        )
    part = projection.detach()[:, head * dv : (head + 1) * dv].to(v.device, torch.float64)  # (n dv)
    return _lengths(wide @ part.T)


def _lengths(vectors: Tensor) -> Tensor:
    lengths: Tensor = torch.linalg.vector_norm(vectors, dim=-1)
    return lengths
