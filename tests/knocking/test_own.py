"""The one knock-out held against the one of our own models, which changes their blocks from inside."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import attnscope as ats
from attnscope.core.masks import causal, from_tensor
from attnscope.core.scoring import Scoring
from attnscope.core.without import out_without
from attnscope.gpt import load_shipped
from attnscope.knocking import Bench, Cut
from attnscope.knocking.moved import moved_by
from attnscope.knocking.running import text_of
from tests.gpt.one_out import Knockout, knocked_out

LINE = "ROMEO:\nBut, soft! what light"


@pytest.mark.parametrize("name", ["embedded", "lesson"])
@pytest.mark.parametrize(("keys", "how"), [(None, "zero"), ((3,), "zero"), ((3,), "renormalise")])
def test_our_own_models_are_changed_as_from_inside(name: str, keys: Any, how: Any) -> None:
    model = load_shipped(name).double().eval()
    ids = torch.tensor([model.tokenizer.encode(LINE)])
    rows, cols = (None, None) if keys is None else (9, keys[0])
    found = Bench(model, lambda: model(ids), text_of(ids)).without(Cut(1, 2, rows, cols, how))
    wanted = knocked_out(model, ids, Knockout(1, 2, keys, query=9, way=how))
    assert found.moved is not None
    by_hand = moved_by(model(ids), wanted)
    torch.testing.assert_close(found.moved.variation, by_hand.variation, rtol=0, atol=1e-13)
    assert (
        found.moved.realised is not None
    )  # it reads what comes before, and its logits are as wide as its table
    assert float(found.moved.variation.max()) > 1e-6


@pytest.mark.parametrize("way", ["zero", "renormalise"])
def test_rows_without_cells_are_what_the_dense_grid_gives(way: Any) -> None:
    q, k, v = (torch.randn(2, h, 7, 3, dtype=torch.float64) for h in (4, 2, 2))
    kept = torch.rand(2, 4, 7, 7) > 0.3
    sinks = torch.randn(4, dtype=torch.float64)
    scoring = Scoring(causal(), sinks=sinks, softcap=3.0)
    found = out_without(scoring.bind(q, k), v, from_tensor(kept), way, rows=slice(2, 6))
    if way == "renormalise":
        masked = Scoring(causal() & from_tensor(kept), sinks=sinks, softcap=3.0)
        wanted = ats.steps(q, k, v, masked).out
    else:
        weights = ats.steps(q, k, v, scoring).weights * kept
        wanted = weights @ v.repeat_interleave(2, dim=1)
    torch.testing.assert_close(found, wanted[:, :, 2:6], rtol=0, atol=1e-14)
