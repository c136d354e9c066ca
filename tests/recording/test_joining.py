"""The parts of a site that grows, each by itself: beams put everything in another order, guesses go."""

from __future__ import annotations

import pytest
import torch

from attnscope.core.bias import KeyBias, TensorBias
from attnscope.core.certificate import Certificate, certify
from attnscope.core.joining import reordered
from attnscope.core.masks import causal
from attnscope.core.scoring import Scoring
from attnscope.recording.biases import Biases
from attnscope.recording.columns import outlines_of, same_text
from attnscope.recording.piece import Part
from attnscope.recording.verdicts import Verdicts

SEEN = causal().bind(2, 3, 4, 4, 0)


def values(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def certified(scale: float = 1.0, rows: int = 4) -> Certificate:
    q, k, v = (values(2, 3, rows, 8, seed=at) for at in (1, 2, 3))
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    out[1, 2] *= 1.5  # one head of the second text is wrong
    return certify(q, k, v, out, Scoring(causal(), scale=scale * 8**-0.5))


def test_a_bias_by_key_follows_the_beams_and_is_joined_in_their_order() -> None:
    first = KeyBias(values(2, 3, 4))
    held = Biases().joined(first, SEEN, 0, 0)
    assert held is not None
    turned = KeyBias(first.values[[1, 0]])
    assert held.joined(turned, SEEN, 0, 0) is None
    joined = held.reordered([1, 0]).joined(turned, SEEN, 0, 0)
    assert joined is not None
    bias = joined.bias(4)
    assert isinstance(bias, KeyBias) and torch.equal(bias.values, turned.values)
    assert torch.equal(held.bias(4).values, first.values)  # type: ignore[union-attr]


@pytest.mark.parametrize("bias", [KeyBias(values(2, 3, 9)), KeyBias(values(2, 9)),
                                  TensorBias(values(2, 1, 4, 9))])  # fmt: skip
def test_the_bias_of_one_call_leaves_the_room_of_its_cache_out(bias: KeyBias | TensorBias) -> None:
    seen = causal().bind(2, 3, 4, 9, 0)
    held = Biases().joined(bias, seen, 0, 0)
    assert held is not None
    cut = held.bias(4)
    assert cut is not None
    cut.check(SEEN, 0)
    same = bias.block(slice(0, 4), slice(0, 4), heads=slice(0, 3), batch=slice(0, 2), offset=0)
    assert torch.equal(
        cut.block(slice(0, 4), slice(0, 4), heads=slice(0, 3), batch=slice(0, 2), offset=0), same
    )


def test_a_certificate_follows_the_beams() -> None:
    before = certified()
    assert before.verdict[1][2] == "refused" and before.verdict[0][2] == "passed"
    after = reordered(before, [1, 1])
    assert after.verdict == (before.verdict[1],) * 2 and after.reason == (before.reason[1],) * 2
    assert torch.equal(after.z, before.z[[1, 1]]) and torch.equal(after.rows, before.rows[[1, 1]])
    held = Verdicts()
    held.append(0, [Part(slice(0, 4), before)])
    held.reorder([0, 0])
    whole = held.certificate()
    assert whole is not None and whole.verdict == (before.verdict[0],) * 2


def test_what_was_said_of_rows_that_are_taken_back_is_taken_back() -> None:
    held, good = Verdicts(), certified(rows=1)
    wrong = certified(scale=3.0)
    held.append(0, [Part(slice(0, 3), good), Part(slice(3, 4), wrong)])
    assert held.can_cut(3) and not held.can_cut(2)
    held.cut(3)
    whole = held.certificate()
    assert whole is not None and torch.equal(whole.z, good.z)
    for row in range(3, 60):
        held.append(row, [Part(slice(0, 1), good)])
    assert held.can_cut(59) and not held.can_cut(20)
    assert held.can_cut(0)
    assert len(held._settled) <= 17


def test_a_text_is_known_when_it_is_computed_again_and_no_other_is_taken_for_it() -> None:
    for dtype, noise in ((torch.float32, 1e-5), (torch.bfloat16, 2e-2)):
        v = values(2, 3, 12, 8) + 20.0 * values(1, 3, 1, 8, seed=5)  # values may share a large part
        held, rows = outlines_of(v[:, :, :9].to(dtype)), torch.ones(1, 12, dtype=torch.bool)
        again = (v + noise * values(2, 3, 12, 8, seed=2)).to(dtype)
        assert same_text(held, outlines_of(again), rows, dtype)
        assert same_text(held, outlines_of(again[[1, 1]]), rows, dtype)
        other = again.clone()
        other[:, :, 7] = values(2, 3, 8, seed=9).to(dtype)
        assert not same_text(held, outlines_of(other), rows, dtype)
        assert not same_text(held, outlines_of(again[:, :, :8]), rows[:, :8], dtype)
        rows[:, 7] = False
        assert same_text(held, outlines_of(other), rows, dtype)
