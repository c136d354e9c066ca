"""The native engine's out, and the normaliser it makes with it, are those of the whole grid in float64."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from attnscope.core import masks
from attnscope.core.arithmetic import Arithmetic
from attnscope.core.attention import attention, path
from attnscope.core.bias import RelativeBias, TensorBias
from attnscope.core.dense import steps
from attnscope.core.engine import Native, native_of, normaliser_of, using
from attnscope.core.mask import Mask
from attnscope.core.native.library import Library, library
from attnscope.core.scoring import Scoring, as_scoring
from attnscope.core.tile import Normaliser
from attnscope.core.tiled import by_tiles

FOUND = library()
pytestmark = pytest.mark.skipif(not isinstance(FOUND, Library), reason=f"the native engine: {FOUND}")

B16, F16, F32 = torch.bfloat16, torch.float16, torch.float32
CLOSE = {F32: 3e-6, B16: 8e-3, F16: 1e-3}


@pytest.fixture(autouse=True, params=FOUND.sets() if isinstance(FOUND, Library) else ["none"])
def _each_set(request: pytest.FixtureRequest) -> Iterator[None]:
    with using("native", isa=request.param):
        yield


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def native(q: Tensor, k: Tensor, v: Tensor, scoring: Scoring | Mask) -> tuple[Tensor, Normaliser]:
    """The pass itself, over all rows at once, into memory that holds other numbers."""
    bound = as_scoring(scoring).bind(q, k)
    engine = native_of(bound, v)
    assert isinstance(engine, Native)
    out = torch.full((*q.shape[:3], v.shape[-1]), 7.0)
    given = engine.output(bound, v, slice(0, q.shape[2]), out)
    return out, given


def judged(q: Tensor, k: Tensor, v: Tensor, scoring: Scoring | Mask) -> None:
    """Holds out and normaliser to the grid in float64."""
    out, given = native(q, k, v, scoring)
    wanted = steps(q.double(), k.double(), v.double(), scoring)
    torch.testing.assert_close(out.double(), wanted.out, rtol=3e-6, atol=3e-6)
    torch.testing.assert_close(given.lse.double(), wanted.lse, rtol=3e-6, atol=3e-6)


@pytest.mark.parametrize("size", [*range(1, 30), 47, 48, 49, 63, 64, 65, 129])
def test_rows_and_keys_of_every_size_do(size: int) -> None:
    q, k, v = (
        draw(1, 2, size, 5, seed=size),
        draw(1, 1, size + 3, 5, seed=99),
        draw(1, 1, size + 3, 3, seed=7),
    )
    judged(q, k, v, Scoring(masks.causal(), offset=2))
    judged(q, k, v, Scoring(masks.window(9, 2), offset=0))


@pytest.mark.parametrize("values", [0, 1, 3, 15, 16, 17, 32, 48, 64, 80, 128, 130])
@pytest.mark.parametrize("width", [0, 1, 20])
def test_values_of_any_width_do(values: int, width: int) -> None:
    q, k, v = draw(1, 2, 31, width), draw(1, 2, 100, width, seed=1), draw(1, 2, 100, values, seed=2)
    judged(q, k, v, Scoring(masks.window(40, 9), offset=50))


@pytest.mark.parametrize("rows", [1, 2, 9, 70, 200])
def test_few_rows_before_many_keys_do(rows: int) -> None:
    for heads in (1, 3, 6):
        q, k, v = draw(2, heads, rows, 16), draw(2, 1, 400, 16, seed=1), draw(2, 1, 400, 16, seed=2)
        judged(q, k, v, Scoring(masks.causal(), offset=400 - rows))


def test_memory_of_any_layout_is_read_as_it_lies() -> None:
    whole = draw(2, 70, 3, 2, 20)  # (b t 3 h d), as one projection gives them
    q, k, v = (whole[:, :, n].transpose(1, 2) for n in range(3))
    judged(q, k, v, masks.causal())
    judged(q, k, v.transpose(2, 3).contiguous().transpose(2, 3), masks.causal())
    judged(q, k, v[:, :1, :1].expand(2, 2, 70, 20), masks.causal())
    judged(q, k, v[..., ::2], masks.causal())
    judged(q, k, v.flip(2)[..., 1:18], masks.causal())


@pytest.mark.parametrize("seed", range(4))
def test_any_spans_with_padding_bias_cap_and_sinks_do(seed: int) -> None:
    own = torch.Generator().manual_seed(seed)
    q, k, v = draw(2, 4, 133, 8, seed=seed), draw(2, 2, 211, 8, seed=seed + 1), draw(2, 2, 211, 24, seed=9)
    lo = torch.randint(0, 211, (2, 4, 133, 5), generator=own)
    mask = masks.spans(lo, lo + torch.randint(0, 30, lo.shape, generator=own))
    mask = mask & masks.padding(torch.rand(2, 211, generator=own) < 0.8)
    hidden = draw(133, 211, seed=3).masked_fill(draw(133, 211, seed=4) > 1, -torch.inf)
    for bias in (None, RelativeBias(draw(4, 700, seed=5), -350), TensorBias(hidden)):
        for more in ({}, {"softcap": 2.0}, {"sinks": torch.tensor([0.0, -torch.inf, 3.0, 40.0])}):
            judged(q, k, v, Scoring(mask, offset=40, bias=bias, **more))


@pytest.mark.parametrize("scale", [0.0, 3.0, 40.0, -1.0])
def test_rows_whose_peak_rises_and_falls_do(scale: float) -> None:
    q, k = draw(1, 2, 150, 16).round(), draw(1, 2, 150, 16, seed=1).round()  # products are exact
    k *= torch.linspace(0, 4, 150)[:, None].round()
    judged(q, k, draw(1, 2, 150, 16, seed=2), Scoring(masks.causal(), scale=scale))
    judged(q, k.flip(2), draw(1, 2, 150, 16, seed=2), Scoring(masks.causal(), scale=scale))


def test_a_row_that_sees_nothing_is_zero() -> None:
    q, k, v = draw(1, 2, 60, 8), draw(1, 2, 90, 8), draw(1, 2, 90, 20)
    lo = torch.arange(60)[:, None] + 5
    mask = masks.spans(lo, torch.where(torch.arange(60)[:, None] % 7 == 3, lo, lo + 20))
    out, given = native(q, k, v, mask)
    none = torch.arange(60) % 7 == 3
    assert (out[:, :, none] == 0).all() and (given.peak[:, :, none] == -torch.inf).all()
    assert (given.logsum[:, :, none] == 0).all() and (out[:, :, ~none] != 0).all()
    padded = masks.padding(torch.zeros(1, 90, dtype=torch.bool))
    assert (native(q, k, v, padded)[0] == 0).all()


@pytest.mark.parametrize("wild", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("where", ["k", "v"])
def test_numbers_that_are_none_reach_the_rows_that_see_them_and_no_others(wild: float, where: str) -> None:
    inputs = {
        "q": draw(1, 2, 170, 4).abs(),
        "k": draw(1, 2, 170, 4, seed=1),
        "v": draw(1, 2, 170, 20, seed=2),
    }
    inputs[where][0, 1, 77] = wild
    inputs[where][0, 0, 140, 3] = wild
    inputs["v"][0, 1, 80, 2] = torch.inf
    for mask in (masks.window(20), masks.causal()):
        found, wanted = native(*inputs.values(), mask)[0], steps(*inputs.values(), mask).out
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("dtype", [B16, F16])
@pytest.mark.parametrize("values", [16, 19])
def test_inputs_of_16_bits_are_computed_in_float32_and_given_back_as_they_came(
    dtype: torch.dtype, values: int
) -> None:
    q, k, v = (draw(2, 3, 90, w, seed=w).to(dtype) for w in (16, 16, values))
    q[0, 0, 0, 0], v[0, 0, :7, 0] = 1e-6, torch.tensor([1e-7, 6e-8, 3e-5, -2e-6, 100.0, 0.0, -0.0]).to(dtype)
    judged(q, k, v, masks.window(30))
    out = attention(q, k, v, masks.window(30))
    wanted = steps(q.double(), k.double(), v.double(), masks.window(30)).out
    assert out.dtype == dtype
    torch.testing.assert_close(out.double(), wanted, rtol=CLOSE[dtype], atol=CLOSE[dtype])


@pytest.mark.parametrize(
    "how",
    [
        Arithmetic(B16, B16, F32, B16), Arithmetic(F16, F16, F16, F16), Arithmetic(products=F16),
        Arithmetic(B16, B16, B16, B16, subtract_max=True), Arithmetic(B16, B16, F32, B16, scale_q=True),
    ],
)  # fmt: skip
@pytest.mark.parametrize("sinks", [None, torch.tensor([0.3, 1, 2, -1.0])])
def test_weights_are_rounded_as_the_model_rounds_them(how: Arithmetic, sinks: Tensor | None) -> None:
    own = torch.Generator().manual_seed(0)
    q, k, v = (torch.randint(-2, 3, (1, h, 101, 8), generator=own).float() for h in (4, 2, 2))
    scoring = Scoring(masks.causal(), scale=0.37, arithmetic=how, sinks=sinks)
    found, wanted = native(q, k, v, scoring)[0], by_tiles(scoring.bind(q, k), v)
    off = (found - wanted).abs() > 1e-5 * (1 + wanted.abs())
    assert off.float().mean() < 0.05  # a last bit of exp may turn a rounding; that is rare, and small
    torch.testing.assert_close(found, wanted, rtol=2e-2, atol=2e-2)


def test_the_bits_are_the_same_on_any_number_of_threads() -> None:
    q, k, v = draw(1, 4, 700, 8), draw(1, 2, 700, 8, seed=1), draw(1, 2, 700, 24, seed=2)
    found = []
    for threads in (1, 2, 3, 5):
        torch.set_num_threads(threads)
        try:
            found.append(native(q, k, v, masks.window(200))[0])
        finally:
            torch.set_num_threads(1)
    assert all(torch.equal(one, found[0]) for one in found)


def test_blocks_of_rows_give_the_bits_of_all_rows_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    q, k, v = draw(1, 2, 500, 8), draw(1, 2, 500, 8, seed=1), draw(1, 2, 500, 8, seed=2)
    whole, given = native(q, k, v, masks.window(90))
    monkeypatch.setattr("attnscope.core.native.engine.CELLS", 2**13)
    bound = as_scoring(masks.window(90)).bind(q, k)
    assert len(Native(FOUND).blocks(bound)) > 2  # type: ignore[arg-type]
    assert torch.equal(attention(q, k, v, masks.window(90)), whole)
    assert torch.equal(normaliser_of(bound).peak, given.peak)


def test_nothing_at_all_is_an_empty_out() -> None:
    for b, h, tq, tk in ((1, 2, 0, 5), (1, 2, 5, 0), (0, 2, 5, 5), (1, 0, 5, 5)):
        q, k = torch.randn(b, h, tq, 3), torch.randn(b, h, tk, 3)
        out = attention(q, k, torch.randn(b, h, tk, 2), masks.window(3) if tq == tk else masks.full())
        assert out.shape == (b, h, tq, 2) and not out.any()


def test_what_learns_goes_over_tiles() -> None:
    q, k, v = (draw(1, 2, 9, 4, seed=n) for n in range(3))
    sinks = torch.zeros(2, requires_grad=True)
    for inputs, more in (((q, k, v.clone().requires_grad_()), {}), ((q, k, v), {"sinks": sinks})):
        bound = Scoring(masks.window(3), **more).bind(inputs[0], inputs[1])
        assert path(bound, inputs[2]) == "tiles"
        with torch.no_grad():
            assert path(bound, inputs[2]) == "native"
