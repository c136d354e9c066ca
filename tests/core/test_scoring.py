"""What a scoring refuses, and in which words."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from attnscope.core import masks
from attnscope.core.arithmetic import Arithmetic
from attnscope.core.attention import attention
from attnscope.core.bias import KeyBias, RelativeBias, TensorBias, as_relative
from attnscope.core.dense import steps
from attnscope.core.engine import normaliser
from attnscope.core.positions import alibi
from attnscope.core.scoring import Scoring, as_scoring
from attnscope.errors import AttnscopeError, DtypeError, MaskError, ScoringError, ShapeError

pytestmark = pytest.mark.usefixtures("as_a_user")
X = torch.zeros(2, 4, 5, 3)


def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.zeros(shape, dtype=dtype)


@pytest.mark.parametrize("face", [steps, attention, lambda q, k, v, scoring=None: normaliser(q, k, scoring)])
@pytest.mark.parametrize(
    ("q", "k", "error", "sentence"),
    [
        (
            X,
            X.half(),
            DtypeError,
            r"q is torch.float32, k is torch.float16.*One floating dtype.*\.to\(dtype\)",
        ),
        (X.long(), X.long(), DtypeError, r"q is torch.int64, k is torch.int64"),
        (X.cfloat(), X.cfloat(), DtypeError, r"q is torch.complex64"),
        (X[0], X, ShapeError, r"q has shape \(4, 5, 3\)\. Four axes: \(batch, heads, positions, width\)"),
        (
            X,
            X[:1],
            ShapeError,
            r"q is \(2, 4, 5, 3\) and k is \(1, 4, 5, 3\)\. The same batch and head width",
        ),
        (X, zeros(2, 4, 5, 6), ShapeError, r"same batch and head width"),
        (X, zeros(2, 3, 5, 3), ShapeError, r"Query heads \(4\) a multiple of key heads \(3\)"),
        (X, zeros(2, 0, 5, 3), ShapeError, r"Query heads \(4\) a multiple of key heads \(0\)"),
    ],
)
def test_tensors_that_do_not_fit_are_named(face, q, k, error: type[AttnscopeError], sentence: str) -> None:
    """Case 27."""
    with pytest.raises(error, match=sentence):
        face(q, k, k)


@pytest.mark.parametrize("face", [steps, attention])
def test_values_that_do_not_belong_to_the_keys_are_refused(face) -> None:
    """Cases 27 and 34."""
    with pytest.raises(ShapeError, match=r"v is \(2, 4, 6, 3\) and k is \(2, 4, 5, 3\)"):
        face(X, X, zeros(2, 4, 6, 3))
    with pytest.raises(DtypeError, match=r"v is torch.float64"):
        face(X, X, X.double())


@pytest.mark.parametrize(
    ("scoring", "sentence"),
    [
        (Scoring(scale=float("nan")), r"scale=nan\. A finite number, or None for 1 / sqrt\(d\)"),
        (Scoring(softcap=0.0), r"softcap=0.0\. A number above 0, or None"),
        (Scoring(softcap=float("inf")), r"softcap=inf"),
        (
            Scoring(sinks=zeros(3)),
            r"sinks is \(3,\) of torch.float32\. One logit for each query head, \(4,\)",
        ),
        (Scoring(sinks=torch.full((4,), float("inf"))), r"sinks holds \+inf"),
        (Scoring(bias=RelativeBias(zeros(3, 9), -4)), r"RelativeBias\(table\) has shape \(3, 9\)\. \(4, n\)"),
        (
            Scoring(bias=RelativeBias(zeros(4, 5), -4)),
            r"the distances -4 to 0\. Every visible distance, -4 to 4",
        ),
        (Scoring(bias=KeyBias(zeros(2, 6))), r"KeyBias\(values\) has shape \(2, 6\)\. \(2, 4, 5\)"),
        (Scoring(bias=TensorBias(zeros(5, 6))), r"TensorBias\(values\) has shape \(5, 6\)"),
        (Scoring(bias=TensorBias(torch.ones(5, 5).bool())), r"torch.bool.*Booleans are a mask: from_tensor"),
    ],
)
def test_a_scoring_that_cannot_be_says_why(scoring: Scoring, sentence: str) -> None:
    with pytest.raises(ScoringError, match=sentence):
        scoring.bind(X, X)


@pytest.mark.parametrize(
    ("wrong", "error", "sentence"),
    [
        (lambda: Arithmetic(scores=torch.int32), DtypeError, r"Arithmetic\(scores=torch.int32\)"),
        (lambda: Arithmetic(dropout=1.5), ScoringError, r"dropout=1.5\)\. A probability"),
        (lambda: Scoring(offset=1.5).bind(X, X), ScoringError, r"offset=1.5\. A whole number"),
        (lambda: as_scoring(torch.ones(5, 5)), ScoringError, r"The scoring is Tensor.*from_tensor\(t\)"),
    ],
)
def test_a_part_of_a_scoring_that_cannot_be_says_why(
    wrong: Callable[[], object], error: type[AttnscopeError], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        wrong()


@pytest.mark.parametrize(
    "mask",
    [
        masks.causal(),
        masks.window(2),
        masks.chunks(3),
        masks.prefix(2),
        masks.rule(lambda b, h, i, j: j <= i),
    ],
)
def test_every_mask_that_speaks_of_positions_asks_for_the_offset(mask: masks.Mask) -> None:
    """Case 8."""
    q, k = zeros(1, 1, 3, 2), zeros(1, 1, 7, 2)
    for asked in (mask, mask & masks.full(), masks.full() | mask):
        with pytest.raises(MaskError, match=r"3 queries and 7 keys.*offset=4.*offset=0"):
            as_scoring(asked).bind(q, k)
    assert Scoring(mask=mask, offset=4).bind(q, k).offset == 4


def test_a_bias_by_distance_asks_for_the_offset_too() -> None:
    """Case 8."""
    with pytest.raises(MaskError, match="A relative bias speaks of positions"):
        Scoring(bias=alibi(1, 9)).bind(zeros(1, 1, 3, 2), zeros(1, 1, 7, 2))


def test_masks_that_do_not_speak_of_positions_need_no_offset() -> None:
    """Case 8."""
    q, k = zeros(1, 1, 3, 2), zeros(1, 1, 7, 2)
    for mask in (
        masks.full(),
        masks.padding(torch.ones(7).bool()),
        masks.from_tensor(torch.ones(3, 7).bool()),
    ):
        assert as_scoring(mask).bind(q, k).offset == 0


def test_a_causal_table_of_past_distances_is_enough_under_a_causal_mask() -> None:
    past = RelativeBias(torch.randn(4, 5), first=-4)
    assert Scoring(mask=masks.causal(), bias=past).bind(X, X).visible.count().sum() == 15


def test_a_toeplitz_tensor_becomes_a_bias_by_distance_and_no_other_does() -> None:
    table = torch.randn(4, 11)
    grid = RelativeBias(table, -8).block(
        slice(0, 5), slice(0, 7), heads=slice(0, 4), batch=slice(0, 1), offset=4
    )  # (1 4 5 7)
    found = as_relative(grid, offset=4)
    assert found is not None
    assert found.first == -8 and torch.equal(found.table, table)
    grid[0, 2, 3, 3] += 1e-6
    assert as_relative(grid) is None
    assert as_relative(torch.zeros(2, 4, 5, 7)) is None


def test_nothing_given_is_one_over_the_square_root_of_the_width() -> None:
    bound = Scoring().bind(X, X)
    assert bound.scale == 1 / math.sqrt(3) and bound.offset == 0 and bound.visible.is_full()
    assert bound.shape == (2, 4, 4, 5, 5, 3)
