"""What `diagnose` reads: what it cannot use is refused with a reason, and nothing that came is changed."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
import torch

import attnscope as ats
from attnscope.errors import AttnscopeError, DtypeError, LessonError, MaskError, ScoringError, ShapeError

GRID = torch.full((1, 2, 3, 4), 0.25)


@pytest.mark.parametrize(
    ("weights", "beside", "error", "said"),
    [
        ([[float("nan"), 1.0]], {}, LessonError, "nan at batch 0, head 0, query 0, key 0"),
        ([[1.0, float("inf")]], {}, LessonError, "inf at batch 0, head 0, query 0, key 1"),
        ([[1.2, -0.2]], {}, LessonError, "These look like scores: take softmax over the keys first"),
        ([0.5, 0.5], {}, ShapeError, r"One row alone is weights\[None\]"),
        (torch.ones(1, 1, 1, 1, 1), {}, ShapeError, "weights has shape"),
        ([[1.0], [0.5, 0.5]], {}, ShapeError, "no rectangle of numbers"),
        ("weights", {}, ShapeError, "no rectangle of numbers"),
        ([["a"]], {}, ShapeError, "no rectangle of numbers"),
        (torch.ones(2, 2, dtype=torch.complex64), {}, DtypeError, "Real numbers"),
        (GRID, {"q": torch.ones(1, 2, 3, 8)}, ShapeError, "k alone|q alone|Both q and k"),
        (GRID, {"q": torch.ones(1, 2, 4, 8), "k": torch.ones(1, 2, 4, 8)}, ShapeError, r"q \(1, 2, 3, d\)"),
        (GRID, {"q": torch.ones(1, 2, 3, 8), "k": torch.ones(1, 3, 4, 8)}, ShapeError, "or a part of it"),
        (
            GRID,
            {"q": torch.full((1, 2, 3, 8), torch.nan), "k": torch.ones(1, 2, 4, 8)},
            LessonError,
            "q or k holds",
        ),
        (GRID, {"mask": torch.ones(3, 5, dtype=torch.bool)}, MaskError, "4"),
        (GRID, {"mask": torch.ones(3, 4)}, MaskError, "True = may attend"),
        (GRID, {"mask": "causal"}, MaskError, "no rectangle of booleans"),
        (GRID, {"mask": [[True], [True, False]]}, MaskError, "no rectangle of booleans"),
        (GRID, {"mask": ats.causal(), "offset": 10**30}, ScoringError, "offset=1000"),
        (GRID.to("meta"), {}, ShapeError, "holds no numbers"),
        (GRID.to_sparse(), {}, ShapeError, r"Try \.to_dense\(\)"),
        (GRID.to(torch.float8_e4m3fn), {}, DtypeError, r"Try \.float\(\)"),
        (GRID, {"sinks": torch.ones(2, device="meta")}, ShapeError, "holds no numbers"),
        (GRID, {"mask": ats.causal()}, MaskError, "offset"),
        (GRID, {"sinks": torch.ones(3)}, ScoringError, r"\(2,\)"),
        (GRID, {"sinks": torch.tensor([torch.nan, 0.0])}, ScoringError, "-inf is no sink"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_reason(
    weights: Any, beside: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        ats.diagnose(weights, **beside)


def test_nothing_that_came_is_changed() -> None:
    weights = torch.rand(2, 3, 3)
    before = weights.clone()
    state = torch.get_rng_state()
    ats.diagnose(weights, mask=torch.ones(3, 3, dtype=torch.bool))
    assert torch.equal(weights, before) and torch.equal(torch.get_rng_state(), state)


DTYPES = [torch.float32] * 4 + [torch.float16, torch.int64, torch.bool, torch.complex64, torch.float8_e4m3fn]
OTHERS = ("x", 3, [], [[]], [[1, [2]]], {}, b"ab", float("nan"), [[None]], range(3), torch.nn.Linear(2, 2))


def _anything(random: Random) -> Any:
    if random.random() < 0.15:
        return random.choice(OTHERS)
    shape = [random.choice((0, 1, 2, 3, 4)) for _ in range(random.choice((1, 2, 3, 4, 4, 5)))]
    return (torch.rand(shape) * 2).to(random.choice(DTYPES))


@pytest.mark.parametrize("seed", range(4))
def test_whatever_comes_is_read_or_refused_in_words_of_ours(seed: int) -> None:
    random, refused = Random(seed), 0
    for _ in range(100):
        names = [name for name in ("mask", "q", "k", "sinks", "offset") if random.random() < 0.3]
        beside = {name: _anything(random) for name in names}
        try:
            str(ats.diagnose(_anything(random), **beside))
        except AttnscopeError as error:
            assert str(error).endswith(".")
            refused += 1
    assert 50 < refused < 100
