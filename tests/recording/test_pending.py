"""Steps of a generation are walked together, and say what a walk over the whole call says."""

from __future__ import annotations

import gc
from dataclasses import replace
from itertools import pairwise
from typing import Any
from unittest import mock

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention as sdpa

from attnscope.core.arithmetic import Arithmetic
from attnscope.core.bias import RelativeBias
from attnscope.core.certificate import certify
from attnscope.core.engine import normaliser
from attnscope.core.masks import causal, rule
from attnscope.core.scoring import Scoring
from attnscope.core.signs import evening_of
from attnscope.recording import pending
from attnscope.recording.biases import Biases
from attnscope.recording.growing import Growing
from attnscope.recording.pending import MOST, Pending
from attnscope.recording.piece import Part, Piece
from attnscope.recording.placing import Place, fingerprints
from attnscope.recording.strips import MemoryStrip

B, H, HK, T, D = 2, 4, 2, 150, 8
FACTS: dict[str, Any] = {
    "name": "attn", "order": 0, "layer": 0, "kind": "self", "stack": "decoder", "route": "huggingface/fused",
    "dtype": torch.bfloat16, "batch": B, "heads": H, "key_heads": HK, "d": D, "dv": D, "kept": None,
    "keep": "qkv",
}  # fmt: skip


def call() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    own = torch.Generator().manual_seed(5)
    q, k, v = (torch.randn(B, h, T, D, generator=own).bfloat16() for h in (H, HK, HK))
    return q, k, v, sdpa(q, k, v, is_causal=True, enable_gqa=True)


Q, K, V, OUT = call()
EVEN = evening_of(OUT, HK)


def piece(start: int, stop: int, *, out: Tensor = OUT, **more: Any) -> Piece:
    """Rows start .. stop of the call, as a step hands them over."""
    how = {"arithmetic": more.pop("arithmetic", None), "bias": more.pop("bias", None)}
    scoring = Scoring(more.pop("mask", causal()), offset=start, **how)
    q, k, v, own = Q[:, :, start:stop], K[:, :, :stop], V[:, :, :stop], out[:, :, start:stop]
    bound = scoring.bind(q, k)

    def walked() -> tuple[Any, list[Part]]:
        rows = normaliser(q, k, scoring)
        found = certify(q, k, v, own, scoring, rows, route="fused", evening=EVEN)
        return rows, [Part(slice(0, stop - start), found)]

    given: dict[str, Any] = {
        "keep": ("q", "k", "v"), "evening": EVEN, "walked": walked, "bit_exact": None, "reach": None,
    }  # fmt: skip
    return Piece(
        tensors={"q": q, "k": k, "v": v, "out": own}, rows=stop - start, columns=stop, scoring=scoring,
        visible=bound.visible, on_key=lambda key: key, offset=start, used=stop, facts=FACTS, **given | more,
    )  # fmt: skip


def grown(cuts: list[int], out: Tensor = OUT) -> Growing:
    held = Growing(FACTS, ("q", "k", "v"), lambda name: MemoryStrip(), 0, 0)
    first = piece(0, cuts[0], out=out)
    held.begin(first, 0, fingerprints(K[:, :, : cuts[0]], V[:, :, : cuts[0]]))
    for start, stop in pairwise(cuts):
        held.append(
            piece(start, stop, out=out), Place(0), start,
            fingerprints(K[:, :, :stop], V[:, :, :stop]), Biases(),
        )  # fmt: skip
    return held


@pytest.mark.parametrize("cuts", [[40, *range(41, T + 1)], [1, 2, 18, *range(22, T + 1, 4)], [40, 90, 91, T]])
def test_steps_that_waited_are_certified_as_the_whole_call_is(cuts: list[int]) -> None:
    cuts = sorted({*cuts, T})
    wrong = OUT.clone()
    wrong[1, 2, 77] *= 1.5
    for out in (OUT, wrong):
        site = grown(cuts, out).site(0, 0)
        whole = certify(Q, K, V, out, causal(), route="fused", evening=EVEN)
        found = site.certificate
        assert found is not None and found.verdict == whole.verdict and found.route == "fused"
        assert torch.equal(found.row, whole.row) and torch.equal(found.rows, whole.rows)
        torch.testing.assert_close(found.z, whole.z, rtol=3e-3, atol=1e-6)
        assert (found.verdict[1][2] == "refused") is (out is wrong)
        known = normaliser(Q, K, causal())
        torch.testing.assert_close(site.normaliser.peak, known.peak)
        torch.testing.assert_close(site.normaliser.logsum, known.logsum)


def test_so_many_steps_take_few_walks() -> None:
    with mock.patch.object(pending, "certify", wraps=certify) as counted:
        held = grown([20, *range(21, T + 1)])
        assert held.pending.rows == (T - 20) % MOST
        held.site(0, 0)
    assert counted.call_count == -(-(T - 20) // MOST)


def test_steps_that_wait_can_be_taken_back_one_by_one() -> None:
    held = grown([40, *range(41, 91)])
    assert held.pending.rows == 50 and held.can_cut(60) and held.can_cut(40) and not held.can_cut(30)
    prints = fingerprints(K[:, :, :66], V[:, :, :66])
    held.append(piece(60, 66), Place(0), 60, prints, Biases())  # six rows of one call, visited again
    assert (held.rows, held.columns.size, held.pending.rows) == (66, 66, 26)
    assert not held.can_cut(63) and held.can_cut(66)
    held.end_at(55)
    site = held.site(0, 0)
    whole = certify(Q[:, :, :55], K[:, :, :55], V[:, :, :55], OUT[:, :, :55], causal(), evening=EVEN)
    assert site.certificate is not None and torch.equal(site.certificate.rows, whole.rows)
    assert site.normaliser.peak.shape == (B, H, 55)


def test_batch_entries_that_change_places_take_what_waited_with_them() -> None:
    wrong = OUT.clone()
    wrong[1, 2, 45] *= 1.5
    held = grown([40, *range(41, 61)], wrong)
    turned = [1, 0]
    step = piece(60, 61)
    tensors = {name: x[turned] for name, x in step.tensors.items()}
    prints = fingerprints(tensors["k"], tensors["v"])
    held.append(replace(step, tensors=tensors), Place(0, (1, 0)), 60, prints, Biases())
    found = held.site(0, 0).certificate
    assert found is not None and found.verdict[0][2] == "refused" and found.verdict[1][2] == "passed"


def test_calls_that_have_to_be_walked_by_themselves_do_not_wait() -> None:
    assert Pending.can_wait(piece(40, 41))
    assert not Pending.can_wait(piece(40, 41, keep=()))
    assert not Pending.can_wait(piece(40, 41, evening=None))
    assert not Pending.can_wait(piece(40, 57))
    assert not Pending.can_wait(piece(40, 41, bias=RelativeBias(torch.zeros(H, 300), first=-200)))
    bits = causal() & rule(lambda b, h, i, j: (i + j) % 2 == 0)
    assert not Pending.can_wait(piece(40, 41, mask=bits))


def test_another_arithmetic_is_walked_apart() -> None:
    held, how = grown([40, *range(41, 51)]), Arithmetic(softmax=torch.bfloat16)
    prints = fingerprints(K[:, :, :51], V[:, :, :51])
    held.append(piece(50, 51, arithmetic=how), Place(0), 50, prints, Biases())
    assert (held.pending.start, held.pending.rows) == (50, 1)
    assert held.site(0, 0).normaliser.peak.shape == (B, H, 51)


def test_steps_that_wait_keep_no_tensor_each() -> None:
    """Small memory that lives on between caches that do not leaves holes in which no later cache fits."""

    def tensors() -> int:
        gc.collect()
        return sum(type(one) is Tensor for one in gc.get_objects())

    held = grown([50, 51, 52, 53])
    before = tensors()
    for start in range(53, 103):
        prints = fingerprints(K[:, :, : start + 1], V[:, :, : start + 1])
        held.append(piece(start, start + 1), Place(0), start, prints, Biases())
    del prints
    assert held.pending.rows == 53 and tensors() - before < 20  # masks keep a few
