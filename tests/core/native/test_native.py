"""The native engine says what the torch engine in float64 says, over any scoring, size and layout."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import fields

import pytest
import torch
from torch import Tensor

from attnscope.core import masks
from attnscope.core.bias import KeyBias, RelativeBias, TensorBias
from attnscope.core.dense import steps
from attnscope.core.engine import Native, engine_of, normaliser, using
from attnscope.core.fold import Summary, summarize
from attnscope.core.mask import Mask
from attnscope.core.native.library import Library, library
from attnscope.core.scoring import Scoring
from attnscope.core.tile import Normaliser

FOUND = library()
pytestmark = pytest.mark.skipif(not isinstance(FOUND, Library), reason=f"the native engine: {FOUND}")
SETS = FOUND.sets() if isinstance(FOUND, Library) else ["none"]


@pytest.fixture(params=SETS)
def isa(request: pytest.FixtureRequest) -> Iterator[str]:
    """The native engine, with every instruction set of this machine in turn."""
    with using("native", isa=request.param):
        yield request.param


def draw(*shape: int, seed: int = 0, scale: float = 1.0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * scale


def hold(found: Summary, wanted: Summary, *, close: float = 1e-5) -> None:
    """Asserts that two summaries are the same but for rounding; distances may err by close * keys."""
    keys = found.received.shape[-1]
    for field in fields(Summary):
        one, two = getattr(found, field.name), getattr(wanted, field.name)
        if not isinstance(two, Tensor):
            continue
        if not two.is_floating_point():
            assert torch.equal(one, two), field.name
            continue
        room = close * keys if field.name.startswith("distance") else close
        torch.testing.assert_close(
            one.double(), two.double(), rtol=close, atol=room, equal_nan=True,
            msg=lambda text, name=field.name: f"{name}: {text}",
        )  # fmt: skip


def judged(q: Tensor, k: Tensor, scoring: Scoring | Mask, *, block: int = 16, **more: object) -> None:
    """Holds the native engine to the torch one in float64."""
    bound = (scoring if isinstance(scoring, Scoring) else Scoring(scoring)).bind(q, k)
    assert isinstance(engine_of(bound), Native)
    found = summarize(q, k, scoring, block=block, **more)
    hold(found, summarize(q.double(), k.double(), scoring, block=block, **more))


@pytest.mark.parametrize("size", range(1, 71))
def test_rows_and_keys_of_every_size_say_what_the_torch_engine_says(size: int, isa: str) -> None:
    q, k = draw(1, 2, size, 5, seed=size), draw(1, 1, size + 3, 5, seed=99)
    judged(q, k, Scoring(masks.causal(), offset=2))
    judged(k.expand(-1, 2, -1, -1), q[:, :1], masks.full(), block=7)


@pytest.mark.parametrize("width", [0, 1, 3, 16, 64, 80, 128])
def test_heads_of_any_width_do(width: int, isa: str) -> None:
    judged(draw(1, 2, 90, width), draw(1, 2, 130, width, seed=1), Scoring(masks.window(40, 9), offset=20))


OF_BLOCKS = draw(2, 2, 301, 8), draw(2, 1, 301, 8, seed=1)


@functools.cache
def exact(block: int, rows: range | None) -> Summary:
    """What the torch engine says of these in float64: once, for every number of threads and every set."""
    q, k = (x.double() for x in OF_BLOCKS)
    return summarize(q, k, masks.causal(), block=block, rows=rows and slice(rows.start, rows.stop))


@pytest.mark.parametrize("block", [1, 3, 16, 64, 100, 1000])
def test_blocks_of_any_size_do_on_any_number_of_threads(block: int, isa: str) -> None:
    assert isinstance(engine_of(Scoring(masks.causal()).bind(*OF_BLOCKS)), Native)
    for threads in (1, 2, 3, 5):
        torch.set_num_threads(threads)
        try:
            found = summarize(*OF_BLOCKS, masks.causal(), block=block)
            part = summarize(*OF_BLOCKS, masks.causal(), block=block, rows=slice(37, 290))
        finally:
            torch.set_num_threads(1)
        hold(found, exact(block, None))
        hold(part, exact(block, range(37, 290)))


def test_memory_of_any_layout_is_read_as_it_lies(isa: str) -> None:
    whole = draw(2, 70, 3, 2, 8)  # (b t 3 h d), as one projection gives them
    q, k = whole[:, :, 0].transpose(1, 2), whole[:, :, 1].transpose(1, 2)
    judged(q, k, masks.causal())
    judged(
        q.transpose(2, 3).contiguous().transpose(2, 3), k[..., ::2].repeat_interleave(2, -1), masks.causal()
    )
    judged(draw(1, 1, 1, 8).expand(2, 4, 9, 8), k, Scoring(masks.full(), offset=3))
    table = draw(2, 300, 2).transpose(1, 2)[0]  # (2 300), its rows apart
    judged(q, k, Scoring(masks.causal(), bias=RelativeBias(table[:, ::2], -75)))


def spans_of(rows: int, keys: int, seed: int) -> Mask:
    own = torch.Generator().manual_seed(seed)
    lo = torch.randint(0, keys, (2, 4, rows, 5), generator=own)
    return masks.spans(lo, lo + torch.randint(0, 30, lo.shape, generator=own))


@pytest.mark.parametrize("seed", range(4))
def test_any_spans_with_padding_do(seed: int, isa: str) -> None:
    own = torch.Generator().manual_seed(seed)
    q, k = draw(2, 4, 133, 8, seed=seed), draw(2, 2, 211, 8, seed=seed + 1)
    mask = spans_of(133, 211, seed) & masks.padding(torch.rand(2, 211, generator=own) < 0.8)
    judged(q, k, Scoring(mask, offset=40, sinks=draw(4, seed=seed)))


BIASES = {
    "by distance": RelativeBias(draw(4, 400, seed=5), -200),
    "by distance, one for all heads": RelativeBias(draw(1, 400, seed=5), -200),
    "by key": KeyBias(draw(2, 4, 150, seed=6)),
    "by key of each batch": KeyBias(draw(2, 150, seed=6)),
    "by cell": TensorBias(draw(2, 4, 90, 150, seed=7)),
    "by cell of each head": TensorBias(draw(4, 90, 150, seed=7).half()),
    "by row": TensorBias(draw(90, 1, seed=7).double()),
    "of the whole": TensorBias(torch.tensor(0.5).bfloat16()),
    "with hidden cells": TensorBias(draw(90, 150).masked_fill(draw(90, 150, seed=8) > 1, -torch.inf)),
}


@pytest.mark.parametrize("cap", [None, 2.0])
@pytest.mark.parametrize("name", BIASES)
def test_every_form_of_bias_does_capped_and_not(name: str, cap: float | None, isa: str) -> None:
    q, k = draw(2, 4, 90, 8), draw(2, 2, 150, 8, seed=1)
    for inside in (False, True):
        judged(
            q, k, Scoring(masks.causal(), bias=BIASES[name], softcap=cap, bias_inside_cap=inside, offset=60)
        )


@pytest.mark.parametrize("scale", [0.0, 0.1, 3.0, 40.0, -1.0])
def test_flat_and_peaked_rows_do(scale: float, isa: str) -> None:
    q, k = draw(1, 2, 150, 16).round(), draw(1, 2, 150, 16, seed=1).round()  # products are exact
    sinks = torch.tensor([0.0, 20.0]) if scale < 40 else None  # beside a sink far above, weights are 0
    judged(q, k, Scoring(masks.causal(), scale=scale, sinks=sinks))


def test_the_same_input_on_the_same_threads_gives_the_same_bits(isa: str) -> None:
    q, k, v = draw(1, 4, 500, 8), draw(1, 2, 500, 8, seed=1), draw(1, 2, 500, 3, seed=2)
    out = steps(q, k, v, masks.causal()).out
    torch.set_num_threads(3)
    try:
        one, two = (summarize(q, k, masks.causal(), v=v, out=out, block=16) for _ in range(2))
    finally:
        torch.set_num_threads(1)
    for field in fields(Summary):
        left, right = getattr(one, field.name), getattr(two, field.name)
        assert not isinstance(left, Tensor) or torch.equal(left, right), field.name
    assert one.certificate is not None and two.certificate is not None
    assert torch.equal(one.certificate.z, two.certificate.z)


def test_the_normalisers_of_both_engines_stand_in_for_each_other(isa: str) -> None:
    q, k = draw(1, 4, 200, 16, scale=3.0), draw(1, 2, 200, 16, seed=1)
    scoring = Scoring(masks.window(90), sinks=draw(4))
    ours = normaliser(q, k, scoring)
    with using("torch"):
        theirs = normaliser(q, k, scoring)
        by_torch = summarize(q, k, scoring, normaliser=ours, block=16)
        wanted = summarize(q.double(), k.double(), scoring, block=16)
    hold(summarize(q, k, scoring, normaliser=theirs, block=16), wanted)
    torch.testing.assert_close(by_torch.largest.double(), wanted.largest, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(ours.lse, theirs.lse, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("sinks", [None, torch.tensor([0.5, -torch.inf, 3.0, 40.0])])
def test_both_passes_at_once_say_what_they_say_one_after_the_other(sinks: Tensor | None, isa: str) -> None:
    q, k, v = draw(2, 4, 200, 16), draw(2, 2, 230, 16, seed=1), draw(2, 2, 230, 3, seed=2)
    scoring = Scoring(masks.window(90) & spans_of(200, 230, 3), sinks=sinks, offset=30)
    out = steps(q, k, v, scoring).out
    at_once = summarize(q, k, scoring, v=v, out=out, block=16)
    apart = summarize(q, k, scoring, v=v, out=out, block=16, normaliser=normaliser(q, k, scoring))
    hold(at_once, apart, close=1e-6)
    assert at_once.certificate is not None and apart.certificate is not None
    # in units of rounding, of which the two logs of a sum may be one apart
    torch.testing.assert_close(at_once.certificate.z, apart.certificate.z, rtol=0, atol=1.0)


def weights_of(q: Tensor, k: Tensor, mask: Mask) -> tuple[Summary, Tensor]:
    return summarize(q, k, mask, top=3, block=8), steps(q, k, k[..., :1], mask).weights


@pytest.mark.parametrize("wild", [torch.nan, torch.inf, -torch.inf])
def test_numbers_that_are_none_reach_the_rows_that_see_them_and_no_others(wild: float, isa: str) -> None:
    q, k = draw(1, 2, 70, 4).abs(), draw(1, 2, 70, 4, seed=1)
    k[0, 1, 33] = wild
    found, weights = weights_of(q, k, masks.window(20))
    for name, wanted in (
        ("largest", weights.amax(dim=-1)), ("received", weights.sum(dim=-2)),
        ("entropy", -torch.special.xlogy(weights, weights).sum(dim=-1)),
    ):  # fmt: skip
        torch.testing.assert_close(getattr(found, name), wanted, rtol=1e-5, atol=1e-5, equal_nan=True)
    sound = Normaliser(*(x[:, :1] for x in (found.entropy, found.largest)))
    assert sound.peak.isfinite().all() and sound.logsum.isfinite().all()
    assert found.block_max is not None and found.block_sum is not None
    assert torch.equal(found.block_max.isnan(), found.block_sum.isnan())


def test_ties_go_to_the_lowest_key(isa: str) -> None:
    q, k = torch.ones(1, 1, 5, 2), torch.ones(1, 1, 200, 2)
    assert summarize(q, k, top=4).top_keys[0, 0].tolist() == [[0, 1, 2, 3]] * 5


def test_nothing_at_all_is_an_empty_summary(isa: str) -> None:
    for b, h, tq, tk in ((1, 2, 0, 5), (1, 2, 5, 0), (0, 2, 5, 5), (1, 0, 5, 5)):
        q, k = torch.randn(b, h, tq, 3), torch.randn(b, h, tk, 3)
        assert summarize(q, k, block=2).received.shape == (b, h, tk)


def test_a_rule_and_float64_go_to_the_torch_engine(isa: str) -> None:
    q = torch.ones(1, 1, 5, 2)
    ruled = masks.rule(lambda b, h, i, j: (i + j) % 2 == 0)
    assert not isinstance(engine_of(Scoring(ruled).bind(q, q)), Native)
    assert not isinstance(engine_of(Scoring().bind(q.double(), q.double())), Native)
