"""Certificates of several calls over the same heads merge to the certificate of all their rows."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention as sdpa

from attnscope.core.arithmetic import Arithmetic
from attnscope.core.certificate import Certificate, certify
from attnscope.core.joining import merge_certificates
from attnscope.core.masks import causal, padding
from attnscope.core.scoring import Scoring
from attnscope.core.signs import evening_of
from attnscope.errors import ShapeError

pytestmark = pytest.mark.usefixtures("each_engine")

T, CUTS = 41, (slice(0, 29), *(slice(i, i + 1) for i in range(29, 37)), slice(37, 41))
FIGURES = ("z", "row", "rms", "rows", "scale_error", "t", "leverage", "missing", "broken")
STARTS = [cut.start for cut in CUTS]


def call(dtype: torch.dtype, *, peaked: float = 3.0) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """q, k, v and the out of causal attention over two texts, six heads of which two share keys."""
    own = torch.Generator().manual_seed(3)
    q = torch.randn(2, 6, T, 32, generator=own) * peaked
    k, v = torch.randn(2, 3, T, 32, generator=own), torch.randn(2, 3, T, 32, generator=own)
    q, k, v = q.to(dtype), k.to(dtype), v.to(dtype)
    return q, k, v, sdpa(q, k, v, is_causal=True, enable_gqa=True)


def in_steps(
    q: Tensor, k: Tensor, v: Tensor, out: Tensor, scoring: Scoring, *, alone: bool
) -> list[Certificate]:
    """A prefill, single steps and a last block, each with all keys; `alone` with factors of its own."""
    even = None if alone else evening_of(out, 3)
    return [
        certify(q[:, :, cut], k, v, out[:, :, cut], replace(scoring, offset=cut.start), evening=even)
        for cut in CUTS
    ]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("scale", [1.0, 1.02])
def test_merged_steps_are_the_certificate_of_the_whole(dtype: torch.dtype, scale: float) -> None:
    q, k, v, exact = call(torch.float64)  # our own rounding is nothing beside that of out
    out = exact.to(dtype)
    out[1, 4, 33] = torch.nan
    out[0, 2, 31] += 0.25  # the largest z of its head, in a step of its own
    scoring = Scoring(causal(), scale=scale * 32**-0.5)
    whole = certify(q, k, v, out, scoring, evening=evening_of(out, 3))
    merged = merge_certificates(in_steps(q, k, v, out, scoring, alone=False), STARTS)
    assert merged.dtype == whole.dtype == dtype
    assert merged.verdict == whole.verdict
    assert whole.verdict[0][2] == "refused"
    assert merged.row[0, 2] == whole.row[0, 2] == 31
    assert int(merged.missing[1, 4]) == 1
    for name in FIGURES:
        torch.testing.assert_close(getattr(merged, name), getattr(whole, name), rtol=1e-6, atol=1e-6)


def test_merging_in_two_stages_is_merging_at_once() -> None:
    q, k, v, out = call(torch.float32)
    parts = in_steps(q, k, v, out, Scoring(causal(), scale=1.02 * 32**-0.5), alone=False)
    at_once = merge_certificates(parts, STARTS)
    first, last = merge_certificates(parts[:4], STARTS[:4]), merge_certificates(parts[4:], [0, *_from(5)])
    staged = merge_certificates([first, last], [0, STARTS[4]])
    assert staged.verdict == at_once.verdict
    for name in FIGURES:
        torch.testing.assert_close(getattr(staged, name), getattr(at_once, name), rtol=1e-12, atol=0)


def _from(part: int) -> list[int]:
    return [start - STARTS[part - 1] for start in STARTS[part:]]


def test_steps_with_factors_of_their_own_give_the_same_verdicts() -> None:
    for dtype in (torch.float32, torch.bfloat16):
        q, k, v, out = call(dtype)
        for scale in (1.0, 1.05):
            scoring = Scoring(causal(), scale=scale * 32**-0.5)
            merged = merge_certificates(in_steps(q, k, v, out, scoring, alone=True), STARTS)
            assert merged.verdict == certify(q, k, v, out, scoring).verdict


def test_a_part_that_could_not_be_measured_keeps_the_whole_from_passing() -> None:
    q, k, v, out = call(torch.float32)
    clean = certify(q, k, v, out, causal())
    dropped = certify(q, k, v, out, Scoring(causal(), arithmetic=Arithmetic(dropout=0.2)))
    wrong = certify(q, k, v, out, Scoring(causal(), scale=0.1))
    reason = "the model dropped weights at random (dropout 0.2)"
    for parts in ([clean, dropped], [dropped, clean], [dropped, dropped]):
        merged = merge_certificates(parts, [0, T])
        assert merged.verdict[1][5] == "not certifiable" and merged.reason[1][5] == reason
        again = merge_certificates([merged, clean], [0, 2 * T])
        assert again.verdict[0][0] == "not certifiable" and again.reason[0][0] == reason
    assert merge_certificates([dropped, wrong], [0, T]).verdict == wrong.verdict


def test_a_part_in_which_no_row_sees_a_key_changes_nothing() -> None:
    q, k, v, out = call(torch.float32)
    hidden = certify(q, k, v, out, causal() & padding(torch.zeros(2, T, dtype=torch.bool)))
    assert hidden.verdict[0][0] == "not certifiable"
    clean = certify(q, k, v, out, causal())
    merged = merge_certificates([hidden, clean], [0, T])
    assert merged.verdict == clean.verdict
    assert torch.equal(merged.z, clean.z) and torch.equal(merged.row, clean.row + T)
    torch.testing.assert_close(merged.rms, clean.rms, rtol=1e-12, atol=0)
    assert merge_certificates([hidden, hidden], [0, T]).reason[0][0] == "no row sees a key"


def test_parts_that_do_not_fit_are_named(as_a_user) -> None:
    q, k, v, out = call(torch.float32)
    one, other = certify(q, k, v, out, causal()), certify(q[:1], k[:1], v[:1], out[:1], causal())
    with pytest.raises(ShapeError, match="0 certificates came with 0 starts"):
        merge_certificates([], [])
    with pytest.raises(ShapeError, match="2 certificates came with 1 starts"):
        merge_certificates([one, one], [0])
    with pytest.raises(ShapeError, match=r"\(batch, heads\) = \(1, 6\), \(2, 6\)"):
        merge_certificates([one, other], [0, T])
    with pytest.raises(ShapeError, match=r"evening is \(6, 32\)"):
        certify(q, k, v, out, causal(), evening=evening_of(out, 6))
