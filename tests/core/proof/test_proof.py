"""The proof holds for what we ship, and fails for an engine that is wrong in any one way."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from attnscope.core import engine, fold, masks
from attnscope.core.engine import Engine, Pixels, States, Tiles, Wanted
from attnscope.core.probe import Probe, ProbeSums
from attnscope.core.proof import Call, Figure, Proof, calls, prove
from attnscope.core.scoring import Bound, Scoring
from attnscope.core.signs import RowSums
from attnscope.core.tile import Normaliser

pytestmark = pytest.mark.usefixtures("as_a_user")  # shapes are checked where each part is tested

Change = Callable[[Bound], Bound]
CALLS = {call.name: call for call in calls(seed=3)}


@pytest.mark.parametrize("call", CALLS.values(), ids=lambda call: call.name)
def test_every_call_is_equal_to_the_whole_grid(call: Call) -> None:
    proof = prove(call)
    assert proof.holds, proof.worst
    assert proof.worst.share < 0.5  # what is allowed is far from what rounding does, on either side


def test_what_is_allowed_is_near_a_hundred_thousandth_for_everyday_scores() -> None:
    allowed = {figure.allowed for figure in prove(CALLS["causal"]).figures}
    assert max(allowed) < 2e-5


def test_calls_have_names_of_their_own_and_cover_what_a_scoring_can_be() -> None:
    assert len(CALLS) == len(list(calls())) > 20
    told = [call.scoring for call in CALLS.values()]
    for field in ("mask", "scale", "bias", "softcap", "sinks", "offset"):
        assert any(getattr(scoring, field) is not None for scoring in told), field
    assert {call.q.dtype for call in CALLS.values()} == {torch.float32, torch.bfloat16, torch.float16}
    assert any(not call.q.is_contiguous() for call in CALLS.values())


class Changed:
    """The engine of plain torch on another call than it was given."""

    def __init__(self, change: Change) -> None:
        self.tiles, self.change = Tiles(), change

    def blocks(self, bound: Bound, rows: slice | None = None) -> list[slice]:
        return self.tiles.blocks(bound, rows)

    def normaliser(self, bound: Bound, rows: slice) -> Normaliser:
        return self.tiles.normaliser(self.change(bound), rows)

    def probe(self, bound: Bound, probe: Probe, rows: slice, given: Normaliser) -> ProbeSums:
        return self.tiles.probe(self.change(bound), probe, rows, given)

    def fold(self, bound: Bound, wanted: Wanted, rows: slice, given: Normaliser) -> States:
        return self.tiles.fold(self.change(bound), wanted, rows, given)

    def both(self, bound: Bound, wanted: Wanted, rows: slice) -> tuple[Normaliser, States]:
        given = self.normaliser(bound, rows)
        return given, self.fold(bound, wanted, rows, given)

    def weights(self, bound: Bound, rows: slice, cols: slice, given: Normaliser) -> Tensor:
        return self.tiles.weights(self.change(bound), rows, cols, given)

    def row_sums(
        self, x: Tensor, signs: Tensor | None = None, *, squares: bool = False, places: bool = False
    ) -> RowSums:
        return self.tiles.row_sums(x, signs, squares=squares, places=places)

    def pixels(self, bound: Bound, rows: slice, cols: slice, given: Normaliser, cells: int) -> Pixels:
        return self.tiles.pixels(self.change(bound), rows, cols, given, cells)


def run_by(monkeypatch: pytest.MonkeyPatch, other: Engine) -> None:
    for module in (engine, fold):
        monkeypatch.setattr(module, "engine_of", lambda bound: other)


def scored(**changes: object) -> Change:
    return lambda bound: replace(bound, scoring=replace(bound.scoring, **changes))  # type: ignore[arg-type]


def seen_otherwise(bound: Bound) -> Bound:
    return Scoring(masks.window(30), scale=bound.scale).bind(bound.q, bound.k)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("causal", lambda bound: replace(bound, scale=bound.scale * 1.0005)),
        ("a window of 31", seen_otherwise),
        ("a bias by distance", scored(bias=None)),
        ("a cap", scored(softcap=None)),
        ("learned sinks", scored(sinks=None)),
        ("six heads on two key heads", lambda bound: replace(bound, k=bound.k.flip(1))),
        ("bfloat16, causal", lambda bound: replace(bound, q=bound.q * 1.01)),
        ("NaN where no row looks", lambda bound: replace(bound, q=bound.q + 0.01)),
    ],
)  # fmt: skip
def test_an_engine_that_computes_another_scoring_fails(
    monkeypatch: pytest.MonkeyPatch, name: str, change: Change
) -> None:
    run_by(monkeypatch, Changed(change))
    assert not prove(CALLS[name]).holds


def test_an_engine_that_gives_other_bits_each_time_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    turn = iter(range(1000))
    run_by(monkeypatch, Changed(lambda bound: replace(bound, scale=bound.scale * (1 + 1e-7 * next(turn)))))
    proof = prove(CALLS["causal"])
    assert proof.worst.name == "the same again" and math.isinf(proof.worst.share)


def test_an_engine_whose_one_figure_is_wrong_fails_by_that_name(monkeypatch: pytest.MonkeyPatch) -> None:
    class Doubling(Changed):
        def fold(self, bound: Bound, wanted: Wanted, rows: slice, given: Normaliser) -> States:
            states = super().fold(bound, wanted, rows, given)
            states.keys.received *= 1.0001
            return states

    run_by(monkeypatch, Doubling(lambda bound: bound))
    failed = [figure.name for figure in prove(CALLS["causal"]).figures if not figure.holds]
    assert failed == ["weight received"]


def test_a_nan_at_a_wrong_place_is_the_worst_error() -> None:
    proof = Proof("one", "torch", (Figure("a", 1e-7, 1e-6), Figure("b", math.nan, 1e-6)))
    assert not proof.holds and proof.worst.name == "b"
