"""Attention of which only a grid of scores is at hand: the same summary, by the same walk.

A score is softcap(scale * q.k) + bias. Scores that somebody else made are that with q and k of width 0
and the grid itself as the bias: nothing is computed in another way, and nothing of the grid is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from attnscope.core.arithmetic import Arithmetic
from attnscope.core.bias import TensorBias
from attnscope.core.fold import Walked, summarize_parts
from attnscope.core.mask import Mask
from attnscope.core.scoring import Scoring
from attnscope.core.visible import Visible
from attnscope.errors import ShapeError
from attnscope.shapes import Out, Value


@dataclass(frozen=True, eq=False)
class _Scores(TensorBias):
    """A grid of scores as a bias: what is hidden in it is the mask's to say, so it is not looked through."""

    def check(self, visible: Visible, offset: int) -> None:
        """Raises ShapeError unless the grid is (b, h, tq, tk)."""
        wanted = (visible.b, visible.h, visible.tq, visible.tk)
        if tuple(self.values.shape) != wanted:
            raise ShapeError(f"The scores are {tuple(self.values.shape)}", wanted=f"{wanted}")

    def hidden(self) -> None:
        """Nothing beside the mask."""


def summarize_scores(
    scores: Tensor,
    mask: Mask | None = None,
    *,
    v: Value | None = None,
    out: Out | None = None,
    sinks: Tensor | None = None,
    offset: int = 0,
    arithmetic: Arithmetic | None = None,
    top: int = 8,
    block: int | None = None,
) -> Walked:
    """Normaliser, certificate and summary of scores that softmax was given, (b h tq tk), in O(T) memory
    beside them.

    mask: which of them count; others may hold any fill. sinks: (h) logits of a learned sink's column, not
    among the scores. With v (b hk tk dv) and the model's own out (b h tq dv), both, comes a certificate,
    which then says that softmax of these scores is what the values were mixed with; it knows no scale.

    >>> found = summarize_scores(torch.tensor([[[[0.0, 0.0], [1e4, 0.0]]]]))
    >>> found.summary.largest, found.normaliser.peak
    (tensor([[[0.5000, 1.0000]]]), tensor([[[    0., 10000.]]]))

    Raises ShapeError, DtypeError, MaskError, ScoringError, and TooLarge where `block` would make a grid.
    """
    if scores.dim() != 4:
        raise ShapeError(
            f"The scores are {tuple(scores.shape)}", wanted="Four axes: (batch, heads, queries, keys)"
        )
    b, h, tq, tk = scores.shape
    dtype, key_heads = (scores.dtype, h) if v is None else (v.dtype, v.shape[1])
    q = torch.empty(b, h, tq, 0, dtype=dtype, device=scores.device)
    k = torch.empty(b, key_heads, tk, 0, dtype=dtype, device=scores.device)
    scoring = Scoring(
        mask, scale=1.0, bias=_Scores(scores), sinks=sinks, offset=offset, arithmetic=arithmetic
    )
    (found,) = summarize_parts(
        q, k, scoring, parts=[None], v=v, out=out, top=top, block=block, route="softmax"
    )
    return found
