"""The model's own roundings: the dtype of each named step, where it is not the dtype we compute in."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor

from attnscope.errors import DtypeError, ScoringError

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)

ROUNDING = {
    torch.float64: 2.0**-53,
    torch.float32: 2.0**-24,
    torch.bfloat16: 2.0**-9,
    torch.float16: 2.0**-12,
}
"""Half a unit in the last place, relative: what one rounding to a dtype may do."""


@dataclass(frozen=True)
class Arithmetic:
    """What a model does to its numbers on the way; None anywhere is the compute dtype.

    products: dtype of the matrix product q @ k^T.   scores: dtype of scaling, softcap, bias and mask.
    softmax: dtype the softmax runs in.   weights: dtype the weights are cast to afterwards.
    subtract_max: the row's maximum is taken off in the scores' dtype first (gpt-oss).
    scale_q: q is multiplied by the scale, in its own dtype, before the product.
    fused_bias: the bias is added inside the product, which is rounded once, to the scores' dtype (baddbmm).
    dropout: probability with which the model dropped weights; never applied here.
    """

    products: torch.dtype | None = None
    scores: torch.dtype | None = None
    softmax: torch.dtype | None = None
    weights: torch.dtype | None = None
    subtract_max: bool = False
    scale_q: bool = False
    fused_bias: bool = False
    dropout: float = 0.0

    def __post_init__(self) -> None:
        for field in fields(self):
            dtype = getattr(self, field.name)
            if isinstance(dtype, torch.dtype) and dtype not in FLOATS:
                raise DtypeError(
                    f"Arithmetic({field.name}={dtype})", wanted="float16, bfloat16, float32, float64 or None"
                )
        if not 0.0 <= self.dropout <= 1.0:
            raise ScoringError(f"Arithmetic(dropout={self.dropout})", wanted="A probability from 0 to 1")

    def rounds_weights(self, dtype: torch.dtype) -> bool:
        """Whether something is rounded, beside `dtype`, on the way from scores to weights."""
        steps = (self.softmax, self.weights, self.scores if self.subtract_max else None)
        return any(step is not None and step != dtype for step in steps)


EXACT = Arithmetic()
"""Nothing rounded: every step in the compute dtype."""


def compute_dtype(dtype: torch.dtype) -> torch.dtype:
    """float64 for float64, float32 for every other dtype."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def rounded(x: Tensor, dtype: torch.dtype | None) -> Tensor:
    """x with the roundings of `dtype`, in x's own dtype and shape."""
    return x if dtype is None or dtype == x.dtype else x.to(dtype).to(x.dtype)
