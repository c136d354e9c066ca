"""What `diagnose` must not say, where a bias, a cap, rounding or a sink explains it; and what it may take."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import torch

import attnscope as ats
from attnscope.core.bias import KeyBias
from attnscope.core.positions import alibi
from attnscope.lesson.measuring.meter import Meter
from tests.lesson.draws import drawn


@pytest.mark.parametrize(
    "scoring",
    [
        {"softcap": 1.0}, {"softcap": 30.0}, {"bias": KeyBias(torch.linspace(-2, 2, 9)[None, None])},
        {"bias": alibi(2, 9)}, {"softcap": 1.0, "mask": ats.window(0)}, {"scale": 0.3},
    ],
    ids=["cap", "wide cap", "key bias", "relative bias", "cap, one key a row", "another scale"],
)  # fmt: skip
def test_section_4_a_sink_beside_a_bias_a_cap_or_a_scale_is_not_said_not_to_fit(
    scoring: dict[str, Any],
) -> None:
    q, k = drawn(1, 2, 9, 9, 16, 3)
    sinks = torch.tensor([0.5, -1.0], dtype=torch.float64)
    scoring = {"mask": ats.causal(), "sinks": sinks, "offset": 0} | scoring
    weights = ats.steps(q, k, k, ats.Scoring(**scoring)).weights
    found = ats.diagnose(weights, mask=scoring["mask"], q=q, k=k, sinks=sinks)
    assert not [one for one in found.findings if one.sure], str(found)
    assert set(found.names) <= {"other_scale"}


def test_section_4_what_rounding_to_few_places_takes_from_a_row_is_no_mistake() -> None:
    row = [0.98, *[0.0016] * 12]
    weights = torch.tensor([row, row[::-1]], dtype=torch.float64)
    assert float(weights[0].sum()) == pytest.approx(1, abs=1e-3)
    assert ats.diagnose((weights * 100).round() / 100).healthy


@pytest.mark.parametrize("heads", [1, 2])
def test_section_4_one_weight_of_1_is_no_softmax_over_another_axis(heads: int) -> None:
    weights = torch.zeros(heads, 2, 2)  # the sink takes all but one row of one head
    weights[0, 0, 0] = 1.0
    seen = torch.ones(2, 2, dtype=torch.bool)
    found = ats.diagnose(weights, mask=seen, sinks=torch.tensor([9.0] * heads))
    assert found.healthy, str(found)


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.parametrize("of", ["right", "wrong"])
def test_section_4_memory_is_that_of_one_heads_steps_beside_the_weights(of: str) -> None:
    scores = torch.randn(1, 16, 640, 640)
    weights = scores.softmax(-1) if of == "right" else scores.softmax(-1).mul_(0.5)
    del scores
    ats.diagnose(weights[:, :1, :9, :9])
    meter = Meter()
    found = ats.diagnose(weights, mask=ats.full())
    assert found.healthy == (of == "right")
    # A float64 grid has 8 bytes a cell; all 16 heads at once, step by step, took 180 MB.
    assert meter.peak() < 20 * 8 * 640 * 640
