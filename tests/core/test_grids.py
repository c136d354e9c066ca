"""A summary of scores that somebody else made is the summary of the same call."""

from __future__ import annotations

from dataclasses import fields

import pytest
import torch
from torch import Tensor

from attnscope.core.arithmetic import Arithmetic
from attnscope.core.dense import steps
from attnscope.core.fold import summarize
from attnscope.core.grids import summarize_scores
from attnscope.core.mask import Mask
from attnscope.core.masks import causal, padding, window
from attnscope.core.scoring import Scoring
from attnscope.errors import ShapeError

pytestmark = pytest.mark.usefixtures("each_engine")

B, H, HK, T, D = 2, 4, 2, 37, 8

MASKS: dict[str, Mask | None] = {
    "full": None,
    "causal": causal(),
    "window": window(5),
    "padded": causal() & padding(torch.arange(T)[None] >= torch.tensor([[0], [7]])),
}


def call(dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor]:
    own = torch.Generator().manual_seed(3)
    return tuple((3 * torch.randn(B, h, T, D, generator=own)).to(dtype) for h in (H, H, HK))  # type: ignore[return-value]


def filled(scores: Tensor, fill: float) -> Tensor:
    return torch.where(scores == -torch.inf, fill, scores)


@pytest.mark.parametrize("fill", [-torch.inf, torch.finfo(torch.float32).min, -1e4, 123.0])
@pytest.mark.parametrize("mask", MASKS)
def test_the_summary_of_scores_is_that_of_their_q_and_k(mask: str, fill: float) -> None:
    q, k, v = call()
    scoring = Scoring(MASKS[mask], offset=0)
    dense = steps(q, k, v.repeat_interleave(H // HK, 1), scoring)
    rows, certificate, ours = summarize_scores(
        filled(dense.scores, fill), MASKS[mask], v=v, out=dense.out, top=3, block=8
    )
    theirs = summarize(q, k, scoring, top=3, block=8)
    for one in fields(theirs):
        left, right = getattr(ours, one.name), getattr(theirs, one.name)
        if isinstance(right, Tensor):
            torch.testing.assert_close(left, right, rtol=1e-5, atol=1e-5, equal_nan=True)
    torch.testing.assert_close(rows.peak, dense.normaliser.peak, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(rows.logsum, dense.normaliser.logsum, rtol=0, atol=1e-6)
    assert certificate is not None and certificate.z.max() < 5 and certificate.route == "softmax"
    assert {word for row in certificate.verdict for word in row} == {"passed"}


def test_a_learned_sink_is_a_column_of_its_own() -> None:
    q, k, v = call()
    sinks = torch.linspace(-2, 3, H)
    scoring = Scoring(causal(), sinks=sinks, offset=0)
    dense = steps(q, k, v.repeat_interleave(H // HK, 1), scoring)
    _, certificate, ours = summarize_scores(dense.scores, causal(), v=v, out=dense.out, sinks=sinks)
    torch.testing.assert_close(ours.sink, summarize(q, k, scoring).sink, rtol=1e-5, atol=1e-6)
    assert certificate is not None and certificate.passed(1, 3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_weights_that_are_not_those_of_the_scores_are_refused(dtype: torch.dtype) -> None:
    q, k, v = call(dtype)
    dense = steps(q, k, v.repeat_interleave(H // HK, 1), Scoring(causal(), offset=0))
    how = Arithmetic(softmax=dtype, weights=dtype)
    weights = dense.weights.roll(1, dims=1).to(dtype)  # the heads in another order
    out = weights @ v.repeat_interleave(H // HK, 1)
    _, certificate, _ = summarize_scores(dense.scores, causal(), v=v, out=out, arithmetic=how)
    assert certificate is not None
    assert {word for row in certificate.verdict for word in row} == {"refused"}


def test_scores_of_other_shapes_are_refused() -> None:
    with pytest.raises(ShapeError, match=r"The scores are \(3, 3\)\. Four axes"):
        summarize_scores(torch.zeros(3, 3))
