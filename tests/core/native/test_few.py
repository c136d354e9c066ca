"""A few rows before many keys, as in decoding: heads that share their keys are looked at together, panels of
keys are read once, and nothing of that shows in what is found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

import pytest
import torch
from torch import Tensor

from attnscope.core import masks
from attnscope.core.bias import RelativeBias, TensorBias
from attnscope.core.dense import steps
from attnscope.core.engine import Native, native_of, normaliser, using
from attnscope.core.fold import Summary, summarize
from attnscope.core.mask import Mask
from attnscope.core.native.library import Library, library
from attnscope.core.scoring import Scoring
from attnscope.core.tile import Normaliser

FOUND = library()
pytestmark = pytest.mark.skipif(not isinstance(FOUND, Library), reason=f"the native engine: {FOUND}")

KEYS = 211  # three panels and a tail


@pytest.fixture(autouse=True, params=FOUND.sets() if isinstance(FOUND, Library) else ["none"])
def _each_set(request: pytest.FixtureRequest) -> Iterator[None]:
    with using("native", isa=request.param):
        yield


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def out_of(q: Tensor, k: Tensor, v: Tensor, scoring: Scoring) -> tuple[Tensor, Normaliser]:
    """The output pass, into memory that holds other numbers."""
    bound = scoring.bind(q, k)
    engine = native_of(bound, v)
    assert isinstance(engine, Native)
    out = torch.full((*q.shape[:3], v.shape[-1]), 7.0)
    return out, engine.output(bound, v, slice(0, q.shape[2]), out)


def judged(q: Tensor, k: Tensor, v: Tensor, scoring: Scoring) -> None:
    """Holds out, normaliser and summary to the grid and the torch engine in float64."""
    wide = [x.double() for x in (q, k, v)]
    wanted = steps(*wide, scoring)
    out, given = out_of(q, k, v, scoring)
    close = {"rtol": 3e-6, "atol": 3e-6, "equal_nan": True}
    torch.testing.assert_close(out.double(), wanted.out, **close)
    for one in (given, normaliser(q, k, scoring)):
        torch.testing.assert_close(one.lse.double(), wanted.lse, **close)
    found = summarize(q, k, scoring, block=16, v=v, out=wanted.out.to(v.dtype))
    held(found, summarize(*wide[:2], scoring, block=16))


def held(found: Summary, wanted: Summary) -> None:
    for field in fields(Summary):
        one, two = getattr(found, field.name), getattr(wanted, field.name)
        if not isinstance(two, Tensor):
            continue
        room = 1e-5 * (KEYS if field.name.startswith("distance") else 1)
        torch.testing.assert_close(
            one.double(), two.double(), rtol=1e-5, atol=room, equal_nan=True,
            msg=lambda text, name=field.name: f"{name}: {text}",
        )  # fmt: skip


def some(rows: int, group: int, width: int = 16) -> tuple[Tensor, Tensor, Tensor]:
    """q, k and v of two sequences and two key heads."""
    return (
        draw(2, 2 * group, rows, width, seed=rows),
        draw(2, 2, KEYS, width, seed=1),
        draw(2, 2, KEYS, 32, seed=2),
    )


@pytest.mark.parametrize("group", [1, 2, 3, 5])
@pytest.mark.parametrize("rows", [1, 2, 5, 9, 12, 13])
def test_any_few_rows_of_any_group_of_heads_do(rows: int, group: int) -> None:
    q, k, v = some(rows, group)
    judged(q, k, v, Scoring(masks.causal(), offset=KEYS - rows))


def test_more_heads_than_are_looked_at_together_do() -> None:
    q, k, v = draw(1, 101, 1, 8), draw(1, 1, KEYS, 8, seed=1), draw(1, 1, KEYS, 16, seed=2)
    judged(q, k, v, Scoring(masks.causal(), offset=KEYS - 1))


@pytest.mark.parametrize("seed", range(3))
def test_each_head_keeps_its_own_spans_sinks_and_bias(seed: int) -> None:
    q, k, v = some(3, 3)
    own = torch.Generator().manual_seed(seed)
    lo = torch.randint(0, KEYS, (2, 6, 3, 4), generator=own)
    mask: Mask = masks.spans(lo, lo + torch.randint(0, 60, lo.shape, generator=own))
    mask = mask & masks.padding(torch.rand(2, KEYS, generator=own) < 0.7)
    for bias in (
        None,
        RelativeBias(draw(6, 2 * KEYS, seed=seed), -KEYS),
        TensorBias(draw(6, 3, KEYS, seed=4)),
    ):
        for sinks in (None, draw(6, seed=seed)):
            judged(q, k, v, Scoring(mask, offset=180, bias=bias, sinks=sinks))


def test_memory_of_any_layout_is_read_as_it_lies() -> None:
    whole = draw(2, KEYS, 4, 3, 16)  # (b t 4 h d), as one projection gives them
    k, v = (whole[:, :, n, :2].transpose(1, 2) for n in (1, 2))
    q = whole[:, -3:, ::3].flatten(2, 3).transpose(1, 2)[:, :4]
    scoring = Scoring(masks.causal(), offset=KEYS - 3)
    judged(q, k, v, scoring)
    judged(q, k, v.transpose(2, 3).contiguous().transpose(2, 3), scoring)
    judged(q[..., ::2], k[..., ::2], v[..., 1:14], scoring)
    judged(q, k, v[:, :1, :1].expand(2, 2, KEYS, 16), scoring)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_inputs_of_16_bits_do(dtype: torch.dtype) -> None:
    q, k, v = (x.to(dtype) for x in some(2, 3))
    scoring = Scoring(masks.causal(), offset=KEYS - 2)
    wanted = steps(q.double(), k.double(), v.double(), scoring)
    torch.testing.assert_close(out_of(q, k, v, scoring)[0].double(), wanted.out, rtol=3e-6, atol=3e-6)


@pytest.mark.parametrize("wild", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("where", ["k", "v"])
def test_numbers_that_are_none_reach_the_rows_that_see_them_and_no_others(wild: float, where: str) -> None:
    q, k, v = some(3, 3)
    for at in ((0, 0, 70), (0, 1, KEYS - 2), (1, 0, 5, 3)):  # the second: seen by the last two rows alone
        (k if where == "k" else v)[at] = wild
    k[1, 1, 20], v[1, 1, 20] = torch.nan, torch.nan
    own = torch.arange(3)[:, None] + KEYS - 2
    for mask in (masks.spans(own * 0 + 60, own), masks.spans(own * 0, own)):
        scoring = Scoring(mask & masks.padding(torch.arange(KEYS)[None].expand(2, -1) != 20))
        wanted = steps(q, k, v, scoring).out
        found = out_of(q, k, v, scoring)[0]
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5, equal_nan=True)
        assert found.isfinite().any() and not found.isfinite().all()


def test_heads_beside_others_and_more_rows_have_the_bits_that_they_have_alone() -> None:
    q, k, v = some(9, 3)
    offset = KEYS - 9
    whole, given = out_of(q, k, v, Scoring(masks.causal(), offset=offset))
    for head in range(6):
        own = slice(head, head + 1), slice(head // 3, head // 3 + 1)
        alone = q[:, own[0]], k[:, own[1]], v[:, own[1]]
        found, single = out_of(*alone, Scoring(masks.causal(), offset=offset))
        assert torch.equal(found, whole[:, own[0]]) and torch.equal(single.peak, given.peak[:, own[0]])
        assert torch.equal(single.logsum, given.logsum[:, own[0]])
    last, _ = out_of(q[:, :, 8:], k, v, Scoring(masks.causal(), offset=KEYS - 1))
    assert torch.equal(last, whole[:, :, 8:])
    many = q.repeat(1, 1, 30, 1)
    lo = torch.zeros(1, dtype=torch.int64).expand(270, 1)
    hi = (torch.arange(9) + offset + 1).repeat(30)[:, None]
    assert torch.equal(out_of(many, k, v, Scoring(masks.spans(lo, hi)))[0][:, :, :9], whole)


def test_the_bits_of_rows_are_the_same_on_any_number_of_threads() -> None:
    q, k, v = draw(1, 9, 1, 16), draw(1, 3, 8192, 16, seed=1), draw(1, 3, 8192, 16, seed=2)
    scoring, found = Scoring(masks.causal(), offset=8191), []
    for threads in (1, 2, 4, 5):
        torch.set_num_threads(threads)
        try:
            summary = summarize(q, k, scoring, block=16)
            found.append((*out_of(q, k, v, scoring), normaliser(q, k, scoring), summary))
        finally:
            torch.set_num_threads(1)
    out, _, first, wanted = found[0]
    for one, given, alone, summary in found:
        assert torch.equal(one, out)
        for pair in (given, alone):
            assert torch.equal(pair.peak, first.peak) and torch.equal(pair.logsum, first.logsum)
        for name in ("entropy", "largest", "top_keys", "distance", "received", "block_sum", "block_max"):
            assert torch.equal(getattr(summary, name), getattr(wanted, name)), name
