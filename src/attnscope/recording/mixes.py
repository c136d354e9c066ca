"""How much each key puts into a row's output: its weight times the length of its value.

|w_ij v_j W_O^h| with the head's part of the layer that takes the heads side by side. A weight on a key of
short value moves nothing. After Kobayashi et al. 2020, "Attention is not only a weight" (arXiv 2004.10102).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from attnscope.core.arithmetic import compute_dtype
from attnscope.errors import ShapeError

BEFORE = "the recording is from before lengths of values were kept with it; record the text again"
"""Why older recordings have none."""


@dataclass(frozen=True, eq=False)
class Lengths:
    """How long the value of each key is, for each kept head.

    values: |v_j W_O^h|, (b h tk) float32, the bias of a projection of values included and that of W_O, which
    belongs to no key, left out; None where they are not known.   through: the name of the layer with W_O;
    None where the model gives the heads away as they are, and values are |v_j|.   why: why there are none.
    """

    values: Tensor | None = field(default=None, repr=False)
    through: str | None = None
    why: str | None = None


OLDER = Lengths(why=BEFORE)


def name_of(lengths: Lengths) -> str:
    """What the numbers of the second picture are called, as on the pages."""
    return "weight × |v|" if lengths.through is None else "weight × |v W_O|"


def meaning_of(lengths: Lengths) -> str:
    """What a length is, with its unit."""
    if lengths.through is None:
        return "|v|: the length of the key's value, in the unit of the values"
    return (
        f"|v W_O|: the length of the key's value after W_O, {lengths.through}, in the unit of the hidden "
        "states"
    )


@dataclass(frozen=True, eq=False)
class Mixes:
    """values: weight times length, (r c), 0 where not visible.   lengths: of each key's value, (c).
    through: the layer with W_O, None where lengths are of v_j, or through a projection that was handed in.
    """

    values: Float[Tensor, "r c"] = field(repr=False)
    lengths: Float[Tensor, " c"] = field(repr=False)
    through: str | None = None


def check_projection(weight: Tensor, heads: int, dv: int) -> None:
    """Refuse what is not (n, heads * dv), the weight of a linear layer that takes heads of dv side by side.

    Raises ShapeError.
    """
    if weight.dim() != 2 or weight.shape[1] != heads * dv:
        raise ShapeError(
            f"The projection is {tuple(weight.shape)}",
            wanted=f"(n, {heads * dv}): the weight of the linear layer that takes {heads} heads of {dv}",
            hint="A Conv1D of transformers (GPT-2) keeps it transposed: hand over weight.T",
        )


def times(
    weights: Float[Tensor, "r c"], lengths: Float[Tensor, " c"], seen: Callable[[], Tensor]
) -> Float[Tensor, "r c"]:
    """Weight times length, 0 where a row does not see the key, whatever its value: `seen()` tells which cells
    are visible, (r c), and is called only where a length is no number or not finite.
    """
    made = weights * lengths.to(weights)
    return made if bool(lengths.isfinite().all()) else made.where(seen(), 0.0)


def lengths_of(v: Tensor, weight: Tensor | None, numbers: Sequence[int]) -> Tensor:
    """|v_j W_O^h| of heads `numbers`, whose values are v (b hk tk dv): (b h tk), float64 of a float64 model,
    else float32.

    weight: (n, heads * dv); None is no projection. Past as many keys as a value is wide, W_O^h is replaced by
    the triangle R of W_O^h = Q R, under which every value keeps its length.
    """
    wide = v.detach().to(compute_dtype(v.dtype))
    b, hk, tk, dv = wide.shape
    group = len(numbers) // hk
    if weight is None:
        plain: Tensor = torch.linalg.vector_norm(wide, dim=-1)
        return plain.repeat_interleave(group, dim=1)
    found = wide.new_empty(b, len(numbers), tk)
    for at, head in enumerate(numbers):
        part = weight.detach()[:, head * dv : (head + 1) * dv].to(wide)  # (n dv)
        if part.shape[0] > dv and b * tk > dv:
            part = torch.linalg.qr(part, mode="r").R
        found[:, at] = torch.linalg.vector_norm(wide[:, at // group] @ part.T, dim=-1)
    return found
