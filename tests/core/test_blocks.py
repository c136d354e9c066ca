"""Blocks of weights and pixels of them: one value for a cell in any block, from either engine."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from attnscope.core import masks
from attnscope.core.arithmetic import Arithmetic
from attnscope.core.bias import KeyBias, RelativeBias, TensorBias
from attnscope.core.dense import steps
from attnscope.core.engine import Wanted, engine_of, normaliser_of
from attnscope.core.scoring import Bound, Scoring
from attnscope.core.tile import Normaliser

pytestmark = pytest.mark.usefixtures("each_engine")

B, H, HK, TQ, TK, D = 2, 4, 2, 83, 531, 7
BFLOAT16 = torch.bfloat16


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def some_spans() -> masks.Mask:
    own = torch.Generator().manual_seed(3)
    lo = torch.randint(0, TK, (B, H, TQ, 4), generator=own)
    return masks.spans(lo, lo + torch.randint(0, 200, lo.shape, generator=own))


OFFSET = TK - TQ
SCORINGS = {
    "causal": Scoring(masks.causal(), offset=OFFSET),
    "spans, some keys padding": Scoring(some_spans() & masks.padding(draw(B, TK) < 1), offset=OFFSET),
    "sinks, capped": Scoring(masks.window(99), sinks=draw(H), softcap=3.0, offset=OFFSET),
    "bias by distance": Scoring(masks.causal(), bias=RelativeBias(draw(H, 2 * TK), -TK), offset=OFFSET),
    "bias by key": Scoring(masks.causal(), bias=KeyBias(draw(B, H, TK)), offset=OFFSET),
    "bias by key of a text": Scoring(masks.causal(), bias=KeyBias(draw(B, TK)), offset=OFFSET),
    "bias by cell": Scoring(masks.causal(), bias=TensorBias(draw(H, TQ, TK)), offset=OFFSET),
    "bias by cell of a text": Scoring(masks.full(), bias=TensorBias(draw(B, 1, TQ, TK)), offset=OFFSET),
    "rounded as a model does": Scoring(
        masks.causal(), offset=OFFSET,
        arithmetic=Arithmetic(products=BFLOAT16, scores=BFLOAT16, weights=BFLOAT16, subtract_max=True),
    ),
    "rule": Scoring(masks.rule(lambda b, h, i, j: (i + j + 2 * h + b) % 3 > 0), offset=OFFSET),
}  # fmt: skip
CUTS = [
    (slice(0, 1), slice(0, 1)), (slice(82, 83), slice(0, TK)), (slice(0, TQ), slice(511, 513)),
    (slice(61, 70), slice(63, 129)), (slice(7, 81), slice(300, 530)), (slice(5, 5), slice(9, 9)),
]  # fmt: skip


@pytest.fixture(params=sorted(SCORINGS))
def bound(request: pytest.FixtureRequest) -> Bound:
    dtype = BFLOAT16 if request.param == "rounded as a model does" else torch.float32
    q, k = draw(B, H, TQ, D, seed=1).mul(2).to(dtype), draw(B, HK, TK, D, seed=2).to(dtype)
    return SCORINGS[request.param].bind(q, k)


def of_all(bound: Bound) -> tuple[Normaliser, Tensor]:
    """The normaliser of a call, and all of its weights."""
    given = normaliser_of(bound)
    return given, engine_of(bound).weights(bound, slice(0, TQ), slice(0, TK), given)


def test_weights_are_those_of_the_grid(bound: Bound) -> None:
    _, whole = of_all(bound)
    exact = bound.scoring.arithmetic is None
    q, k = (x.double() if exact else x for x in (bound.q, bound.k))
    wanted = steps(q, k, k, bound.scoring).weights
    assert torch.equal(whole[wanted == 0], wanted.float()[wanted == 0]) or not exact
    assert float((whole - wanted).abs().max()) < (1e-6 if exact else 2**-7)


def test_a_cell_has_the_same_bits_in_any_block_on_any_number_of_threads(bound: Bound) -> None:
    given, whole = of_all(bound)
    torch.set_num_threads(3)
    try:
        for rows, cols in CUTS:
            block = engine_of(bound).weights(bound, rows, cols, given)
            assert torch.equal(block, whole[:, :, rows, cols])
    finally:
        torch.set_num_threads(1)


def test_a_head_alone_is_that_head_of_the_call_in_views(bound: Bound, each_engine: str) -> None:
    given, whole = of_all(bound)
    for head, batch in ((0, 0), (3, 1)):
        one, own = bound.of_head(head, batch), given.of_head(head, batch)
        assert one.shape[:3] == (1, 1, 1)
        for mine, theirs in ((one.q, bound.q), (one.k, bound.k), (one.visible.lo, bound.visible.lo)):
            assert mine.untyped_storage().data_ptr() == theirs.untyped_storage().data_ptr()
        assert isinstance(engine_of(one), type(engine_of(bound)))
        block = engine_of(one).weights(one, slice(3, 80), slice(200, 530), own)
        wanted = whole[batch : batch + 1, head : head + 1, 3:80, 200:530]
        torch.testing.assert_close(block, wanted, rtol=0, atol=0 if each_engine == "native" else 1e-6)
        again = normaliser_of(one)
        torch.testing.assert_close(again.lse, own.lse, rtol=1e-6, atol=1e-6)


def squares(x: Tensor, cells: int, rows: slice, cols: slice) -> Tensor:
    """The squares of cells that a window of x touches, 0 outside of it: (b h m n cells*cells)."""
    only = torch.zeros_like(x, dtype=torch.float64)
    only[:, :, rows, cols] = x[:, :, rows, cols].double()
    only = torch.nn.functional.pad(only, (0, -x.shape[3] % cells, 0, -x.shape[2] % cells))
    only = only.unflatten(3, (-1, cells)).unflatten(2, (-1, cells)).transpose(3, 4).flatten(4)
    high, wide = (slice(cut.start // cells, -(-cut.stop // cells)) for cut in (rows, cols))
    return only[:, :, high, wide]


@pytest.mark.parametrize("cells", [8, 100])
def test_pixels_reduce_the_weights_of_their_window(bound: Bound, cells: int) -> None:
    given, whole = of_all(bound)
    for rows, cols in CUTS:
        found = engine_of(bound).pixels(bound, rows, cols, given, cells)
        wanted = squares(whole, cells, rows, cols)
        if wanted.numel():
            assert torch.equal(found.maxima, wanted.amax(dim=-1))
        torch.testing.assert_close(found.sums, wanted.sum(dim=-1), rtol=2e-6, atol=0)


def test_a_brief_fold_has_the_entropies_and_blocks_of_a_whole_one(bound: Bound) -> None:
    given, engine, rows = normaliser_of(bound), engine_of(bound), slice(16, 75)
    first = torch.zeros(B, dtype=torch.int64)
    made = [
        engine.fold(bound, Wanted(top, first, 8, 0, None, brief=brief), rows, given.of_rows(rows))
        for top, brief in ((8, False), (0, True))
    ]
    whole, brief = made
    torch.testing.assert_close(brief.rows.plogp, whole.rows.plogp, rtol=1e-6, atol=1e-9)
    assert torch.equal(brief.keys.received, whole.keys.received)
    for one, two in zip(brief.keys.blocks, whole.keys.blocks, strict=True):
        assert torch.equal(one, two)


def test_a_weight_near_one_errs_by_less_than_a_millionth_at_scores_of_13(each_engine: str) -> None:
    t, d = 300, 64
    q, k = draw(1, 1, t, d), draw(1, 1, t, d, seed=1)
    q = q + k * (13 * math.sqrt(d) / k.square().sum(dim=-1, keepdim=True))  # each row's own key scores 13
    scoring = Scoring(masks.causal())
    wanted = steps(q.double(), k.double(), k.double(), scoring).weights
    bound = scoring.bind(q, k)
    assert 0.99 < float(wanted.diagonal(dim1=-2, dim2=-1).median()) < 1
    found = engine_of(bound).weights(bound, slice(0, t), slice(0, t), normaliser_of(bound))
    error = float((found - wanted).abs().max())
    assert error < (1e-6 if each_engine == "native" else 4e-6)


def test_a_row_that_sees_a_nan_is_nan_in_its_block_and_its_pixels() -> None:
    q, k = draw(1, 1, 40, 8), draw(1, 1, 40, 8, seed=1)
    k[0, 0, 20] = torch.nan
    bound = Scoring(masks.causal()).bind(q, k)
    given = normaliser_of(bound)
    block = engine_of(bound).weights(bound, slice(0, 40), slice(0, 40), given)
    seen = torch.ones(40, 40, dtype=torch.bool).tril()
    assert torch.equal(block[0, 0].isnan(), seen & (torch.arange(40)[:, None] >= 20))
    found = engine_of(bound).pixels(bound, slice(0, 40), slice(0, 40), given, 8)
    assert torch.equal(found.maxima.isnan(), found.sums.isnan())
    assert found.maxima[0, 0].isnan().any(dim=-1).tolist() == [False, False, True, True, True]
