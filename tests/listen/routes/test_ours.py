"""Any module that calls attention() is heard with its whole scoring, whichever way the call goes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import attnscope as ats
from attnscope.core.arithmetic import Arithmetic
from attnscope.core.attention import attention, path
from attnscope.core.bias import KeyBias, RelativeBias, TensorBias
from attnscope.core.certificate import certify
from attnscope.core.dense import steps
from attnscope.core.masks import causal, padding, rule, window
from attnscope.core.scoring import Scoring, as_scoring
from attnscope.knocking.result import Knockout
from attnscope.listen import record
from attnscope.nn import KeyValueCache, MultiHeadAttention
from attnscope.recording import Recording, Site
from tests.heard import Counting

H, HK, D = 6, 2, 16
SHORT, LONG = 90, 600
"""Rows; a causal call of LONG goes to the native engine with AVX-512."""


class Mine(nn.Module):
    """Somebody's attention: grouped heads, and whatever scoring it is given."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.qkv = nn.Linear(width, (H + 2 * HK) * D)
        self.out = nn.Linear(H * D, width)

    def heads(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        heads = self.qkv(x).view(*x.shape[:2], -1, D).transpose(1, 2)
        q, k, v = heads.split([H, HK, HK], dim=1)
        return 2 * q, 2 * k, v

    def forward(self, x: Tensor, scoring: Any = None) -> Tensor:
        mixed = attention(*self.heads(x), scoring)
        out: Tensor = self.out(mixed.transpose(1, 2).flatten(2))
        return out


def drawn(*size: int, seed: int = 3) -> Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(seed))


BY_DISTANCE = RelativeBias(drawn(H, 2 * SHORT - 1), first=1 - SHORT)
HIDING = drawn(SHORT, SHORT).masked_fill(~torch.ones(SHORT, SHORT).bool().triu(-9).tril(4), -math.inf)
SCORINGS: dict[str, tuple[int, Any]] = {
    "full": (SHORT, None),
    "causal": (SHORT, causal()),
    "long causal": (LONG, causal()),
    "window": (SHORT, window(12)),
    "long window": (LONG, window(50)),
    "padding": (SHORT, causal() & padding(torch.arange(SHORT) < 77)),
    "rule": (SHORT, rule(lambda b, h, i, j: (j <= i) & ((i + j + h) % 3 != 1))),
    "by distance": (SHORT, Scoring(causal(), bias=BY_DISTANCE)),
    "by key": (SHORT, Scoring(window(30), bias=KeyBias(drawn(2, SHORT)))),
    "by cell": (SHORT, Scoring(bias=TensorBias(drawn(H, SHORT, SHORT)))),
    "hiding bias": (SHORT, Scoring(bias=TensorBias(HIDING))),
    "sinks": (SHORT, Scoring(window(20), sinks=drawn(H), softcap=4.0, scale=0.3)),
    "capped bias": (SHORT, Scoring(causal(), bias=BY_DISTANCE, softcap=2.0, bias_inside_cap=True)),
    "roundings": (SHORT, Scoring(causal(), arithmetic=Arithmetic(scores=torch.bfloat16, dropout=0.1))),
}


@pytest.fixture
def model() -> Mine:
    torch.manual_seed(1)
    return Mine().eval()


def heard(model: nn.Module, *given: Any, **options: Any) -> Recording:
    """What is heard of one forward, which is the same to the last bit as one without a recording."""
    with torch.no_grad():
        alone = model(*given)
        with record(model, **options) as recording:
            assert torch.equal(model(*given), alone)
    return recording


def passed(site: Site) -> bool:
    found = site.certificate
    return found is not None and all(one == "passed" for of_text in found.verdict for one in of_text)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("name", SCORINGS)
def test_every_scoring_is_heard_and_certified(model: Mine, name: str, dtype: torch.dtype) -> None:
    t, scoring = SCORINGS[name]
    model, x = model.to(dtype), drawn(2, t, 32).to(dtype)
    recording = heard(model, x, scoring)
    (site,) = recording.sites
    assert (site.name, site.route, site.heads, site.key_heads) == ("", "attnscope", H, HK)
    assert passed(site) and recording.missing == []
    with torch.no_grad():
        q, k, v = model.heads(x)
        dense = steps(q, k, v, scoring)
    assert torch.equal(site.q, q) and torch.equal(site.k, k) and torch.equal(site.v, v)
    for head in (0, 5):
        torch.testing.assert_close(site.weights(head, batch=1), dense.weights[1, head], rtol=0, atol=5e-6)
        assert torch.equal(site.visible(head, batch=1), dense.scores[1, head] > -math.inf)


@torch.no_grad()
def test_what_is_heard_here_goes_every_way_that_attention_has(model: Mine) -> None:
    calls = [(as_scoring(scoring), model.heads(drawn(2, t, 32))) for t, scoring in SCORINGS.values()]
    assert {path(scoring.bind(q, k), v) for scoring, (q, k, v) in calls} >= {"sdpa", "tiles"}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("wrong", [causal(), window(11), Scoring(window(12), scale=0.24)], ids=repr)
def test_what_the_call_did_not_do_is_refused(model: Mine, wrong: Any, dtype: torch.dtype) -> None:
    (site,) = heard(model.to(dtype), drawn(1, LONG, 32).to(dtype), window(12), keep="all").sites
    assert site.out is not None and passed(site)
    verdict = certify(site.q, site.k, site.v, site.out, wrong, route=site.route).verdict
    assert all(one == "refused" for one in verdict[0])


@pytest.mark.parametrize("name", ["by distance", "by key", "hiding bias", "sinks", "rule"])
def test_some_heads_are_kept_and_read_back_from_a_file(model: Mine, name: str, tmp_path: Path) -> None:
    t, scoring = SCORINGS[name]
    x = drawn(2, t, 32)
    whole = heard(model, x, scoring).sites[0]
    heard(model, x, scoring, heads=[1, 4], path=tmp_path / "some")
    (some,) = ats.load(tmp_path / "some").sites
    assert some.kept == (1, 4) and passed(some)
    for head in (1, 4):
        torch.testing.assert_close(some.weights(head), whole.weights(head), rtol=0, atol=1e-6)


def test_a_scoring_that_is_changed_after_the_call_changes_nothing(model: Mine) -> None:
    sinks, values = drawn(H), drawn(2, SHORT)
    (site,) = heard(model, drawn(2, SHORT, 32), Scoring(bias=KeyBias(values), sinks=sinks)).sites
    before = site.weights(0)
    sinks += 1
    values.zero_()
    assert torch.equal(site.weights(0), before)


def test_rows_stand_where_the_scoring_says(model: Mine) -> None:
    class Last(Mine):
        def forward(self, x: Tensor, scoring: Any = None) -> Tensor:
            q, k, v = self.heads(x)
            return attention(q[:, :, -20:], k, v, scoring)

    last = Last().eval()
    table = RelativeBias(drawn(1, SHORT), first=1 - SHORT)
    for scoring, stands in (
        (Scoring(causal(), offset=SHORT - 20, bias=table), SHORT - 20),
        (Scoring(causal(), offset=31, bias=table), 31),
        (Scoring(), SHORT - 20),
        (Scoring(window(4, 0), offset=-3, bias=table), None),
    ):
        (site,) = heard(last, drawn(2, SHORT, 32), scoring).sites
        assert site.offset == stands and passed(site)
        q, k, v = last.heads(drawn(2, SHORT, 32))
        dense = steps(q[:, :, -20:], k, v, scoring).weights[0, 3].detach()
        torch.testing.assert_close(site.weights(3), dense, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ["causal", "long causal", "window"])
def test_a_module_that_learns_is_heard_and_has_the_same_gradients(model: Mine, name: str) -> None:
    t, scoring = SCORINGS[name]
    x = drawn(2, t, 32)
    model.train()(x, scoring).square().sum().backward()
    alone = [p.grad for p in model.parameters()]
    model.zero_grad(set_to_none=True)
    with record(model) as recording:
        model(x, scoring).square().sum().backward()
    assert passed(recording.sites[0])
    for one, p in zip(alone, model.parameters(), strict=True):
        assert one is not None and p.grad is not None and torch.equal(one, p.grad)


@pytest.mark.parametrize("name", ["causal", "long causal", "window"])
def test_under_autocast_it_is_heard_in_the_dtype_that_it_was_handed(model: Mine, name: str) -> None:
    t, scoring = SCORINGS[name]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        (site,) = heard(model, drawn(2, t, 32), scoring).sites
    assert site.dtype == torch.bfloat16 and passed(site)


class Steps(nn.Module):
    """Two layers of ours."""

    def __init__(self) -> None:
        super().__init__()
        self.first = MultiHeadAttention(32, 4, key_heads=2)
        self.second = MultiHeadAttention(32, 4, key_heads=2)

    def forward(self, x: Tensor, scoring: Any) -> Tensor:
        return x + self.second(x + self.first(x, None, scoring), None, scoring)


@pytest.mark.parametrize("t", [40, LONG])
def test_each_call_is_heard_once(t: int) -> None:
    recording = heard(Steps().eval(), drawn(1, t, 32), causal())
    assert [(site.name, site.layer, site.stack) for site in recording.sites] == [
        ("first", 0, "decoder"), ("second", 1, "decoder"),
    ]  # fmt: skip
    assert all(passed(site) for site in recording.sites)


def test_a_row_after_a_cache_stands_after_it() -> None:
    module, x = MultiHeadAttention(32, 4).eval(), drawn(1, 9, 32)
    cache = KeyValueCache()
    with torch.no_grad():
        module(x[:, :8], None, causal(), cache=cache)
        with record(module) as recording:
            module(x[:, 8:], None, causal(), cache=cache)
    (site,) = recording.sites
    assert (site.offset, site.tq, site.tk) == (8, 1, 9) and passed(site)


@pytest.mark.parametrize("name", ["causal", "long causal", "long window", "by distance", "sinks"])
@pytest.mark.parametrize("how", ["zero", "renormalise"])
def test_a_cell_is_knocked_out_of_it(model: Mine, name: str, how: Any) -> None:
    t, scoring = SCORINGS[name]
    x, (row, key) = drawn(1, t, 32), (80, 78)
    found = ats.knockout(model, {"x": x, "scoring": scoring}, "", 2, row, key, how=how)
    assert isinstance(found, Knockout)
    q, k, v = (part.detach() for part in model.heads(x))
    dense = steps(q, k, v, scoring)
    assert (weights := found.taken_out[0].weights) is not None
    assert float(weights[0, row]) == pytest.approx(float(dense.weights[0, 2, row, key]), abs=1e-6)


def test_an_attention_function_of_transformers_may_be_made_of_it(tiny: Any, inputs: Any) -> None:
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    def mine(module: nn.Module, q: Tensor, k: Tensor, v: Tensor, mask: Any, **given: Any) -> Any:
        scoring = Scoring(causal(), scale=given["scaling"])
        return attention(q, k, v, scoring).transpose(1, 2).contiguous(), None

    AttentionInterface.register("mine", mine)
    AttentionMaskInterface.register("mine", sdpa_mask)
    model = tiny("llama")
    model.set_attn_implementation("mine")
    with torch.no_grad(), record(model) as recording:
        model(**inputs("llama"))
    assert [(site.route, site.key_heads) for site in recording.sites] == [("huggingface/attnscope", 2)] * 2
    assert all(passed(site) for site in recording.sites)


@pytest.mark.parametrize("outside", [True, False])
def test_beside_the_mode_of_somebody_else_both_hear_it_once(model: Mine, outside: bool) -> None:
    x, mode = drawn(1, SHORT, 32), Counting()
    with torch.no_grad():
        if outside:
            with mode, record(model) as recording:
                model(x, window(5))
        else:
            with record(model) as recording, mode:
                model(x, window(5))
    assert len(recording.sites) == 1 and passed(recording.sites[0])
    assert mode.calls.count(attention) == 1 and F.scaled_dot_product_attention not in mode.calls
