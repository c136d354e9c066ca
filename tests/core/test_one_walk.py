"""Normaliser, certificate and summary from one walk: what each of them is by itself, and no tile twice."""

from __future__ import annotations

import torch
from torch.nn.functional import scaled_dot_product_attention as sdpa

from attnscope.core.arithmetic import Arithmetic
from attnscope.core.certificate import certify, certify_parts
from attnscope.core.engine import normaliser
from attnscope.core.fold import summarize, summarize_parts
from attnscope.core.masks import causal
from attnscope.core.scoring import Scoring
from attnscope.core.signs import evening_of

T = 150


def test_one_walk_makes_what_normaliser_certify_and_summarize_make_apart() -> None:
    q, k, v = (torch.randn(1, h, T, 4).bfloat16() for h in (4, 2, 2))
    out, mask = sdpa(q, k, v, is_causal=True, enable_gqa=True), causal()
    cuts, even = [slice(0, 147), slice(147, 149), slice(149, 150)], evening_of(3 * out + 1, 2)
    walked = summarize_parts(q, k, mask, parts=cuts, v=v, out=out, block=4, route="fused", evening=even)
    apart = certify_parts(q, k, v, out, mask, parts=cuts, route="fused", evening=even)
    known = normaliser(q, k, mask)
    for cut, (made, certificate, summary), wanted in zip(cuts, walked, apart, strict=True):
        torch.testing.assert_close(made.peak, known.peak[..., cut])
        torch.testing.assert_close(made.logsum, known.logsum[..., cut])
        again = summarize(q, k, mask, rows=cut, normaliser=made, block=4)
        for name in ("entropy", "received", "top_keys", "block_sum", "block_max"):
            assert torch.equal(getattr(summary, name), getattr(again, name)), name
        # added over rows and keys in whichever order the passes go through them
        torch.testing.assert_close(summary.mass_by_distance, again.mass_by_distance, rtol=3e-6, atol=0)
        assert certificate is not None and summary.certificate is None
        assert (certificate.route, certificate.thresholds) == ("fused", wanted.thresholds)
        assert certificate.verdict == wanted.verdict and torch.equal(certificate.row, wanted.row)
        for name in ("z", "rms", "scale_error", "leverage"):
            torch.testing.assert_close(
                getattr(certificate, name), getattr(wanted, name), rtol=3e-3, atol=1e-6
            )


def test_the_route_and_the_factors_of_a_summary_reach_its_certificate() -> None:
    q, k, v = (torch.randn(1, 2, 31, 4).bfloat16() for _ in range(3))
    out, even = sdpa(q, k, v, is_causal=True), torch.rand(2, 4) + 0.5
    found = summarize(q, k, causal(), v=v, out=out, route="huggingface/fused", evening=even).certificate
    wanted = certify(q, k, v, out, causal(), route="huggingface/fused", evening=even)
    assert found is not None and torch.equal(found.z, wanted.z)
    assert (found.thresholds, found.route) == (wanted.thresholds, wanted.route)
    assert not torch.equal(found.z, certify(q, k, v, out, causal(), route="huggingface/fused").z)


def test_a_call_with_dropout_has_the_certificate_that_says_so() -> None:
    q, k, v = (torch.randn(1, 2, 31, 4) for _ in range(3))
    scoring = Scoring(causal(), arithmetic=Arithmetic(dropout=0.1))
    walked = summarize_parts(q, k, scoring, parts=[slice(0, 9), slice(9, 31)], v=v, out=v, route="eager")
    for _, certificate, summary in walked:
        assert certificate is not None and certificate.route == "eager"
        assert certificate.verdict == (("not certifiable",) * 2,)
        assert float(summary.received.sum()) > 0
