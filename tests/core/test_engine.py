"""Long walks: which tiles they visit, behind which seam, how far they say they are, and how they stop."""

from __future__ import annotations

import re
from collections.abc import Iterator
from unittest import mock

import pytest
import torch
from torch import Tensor

from attnscope.core import engine, masks
from attnscope.core.certificate import certify
from attnscope.core.dense import steps
from attnscope.core.engine import Engine, Native, Pixels, States, Tiles, Wanted, engine_of, normaliser
from attnscope.core.fold import summarize
from attnscope.core.native import engine as native
from attnscope.core.probe import Probe, ProbeSums
from attnscope.core.scoring import Bound, Scoring
from attnscope.core.signs import RowSums
from attnscope.core.tile import Normaliser
from attnscope.errors import Cancelled

pytestmark = pytest.mark.usefixtures("each_engine")


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Blocks of the native engine as small as the calls of this file."""
    monkeypatch.setattr(native, "CELLS", 2**14)


class Counting:
    """An engine that notes what it is asked for and has another do it."""

    def __init__(self, other: Engine) -> None:
        self.other, self.asked = other, list[tuple[str, slice]]()

    def blocks(self, bound: Bound, rows: slice | None = None) -> list[slice]:
        return self.other.blocks(bound, rows)

    def normaliser(self, bound: Bound, rows: slice) -> Normaliser:
        self.asked.append(("normaliser", rows))
        return self.other.normaliser(bound, rows)

    def probe(self, bound: Bound, probe: Probe, rows: slice, given: Normaliser) -> ProbeSums:
        self.asked.append(("probe", rows))
        return self.other.probe(bound, probe, rows, given)

    def fold(self, bound: Bound, wanted: Wanted, rows: slice, given: Normaliser) -> States:
        self.asked.append(("fold", rows))
        return self.other.fold(bound, wanted, rows, given)

    def both(self, bound: Bound, wanted: Wanted, rows: slice) -> tuple[Normaliser, States]:
        self.asked.append(("both", rows))
        return self.other.both(bound, wanted, rows)

    def weights(self, bound: Bound, rows: slice, cols: slice, given: Normaliser) -> Tensor:
        self.asked.append(("weights", rows))
        return self.other.weights(bound, rows, cols, given)

    def row_sums(
        self, x: Tensor, signs: Tensor | None = None, *, squares: bool = False, places: bool = False
    ) -> RowSums:
        return self.other.row_sums(x, signs, squares=squares, places=places)

    def pixels(self, bound: Bound, rows: slice, cols: slice, given: Normaliser, cells: int) -> Pixels:
        self.asked.append(("pixels", rows))
        return self.other.pixels(bound, rows, cols, given, cells)


def test_every_number_of_a_call_comes_through_the_engine_that_is_chosen(each_engine: str) -> None:
    q, k, v = (torch.randn(1, 2, 300, 4) for _ in range(3))
    out = steps(q, k, v, masks.causal()).out
    counting = Counting(engine_of(Scoring().bind(q, k)))
    own = {"torch": Tiles, "native": Native}[each_engine]
    assert isinstance(counting, Engine) and isinstance(counting.other, own)
    with mock.patch.object(engine, own.__name__, lambda *_: counting):
        rows = normaliser(q, k, masks.causal())
        assert {name for name, _ in counting.asked} == {"normaliser"}
        assert counting.asked[0][1].start == 0 and counting.asked[-1][1].stop == 300
        counting.asked.clear()
        certify(q, k, v, out, masks.causal(), rows)
        assert {name for name, _ in counting.asked} == {"probe"}
        counting.asked.clear()
        summarize(q, k, masks.causal(), normaliser=rows, v=v, out=out)
        assert {name for name, _ in counting.asked} == {"fold"}
        counting.asked.clear()
        summarize(q, k, masks.causal(), v=v, out=out)
        assert {name for name, _ in counting.asked} == {"both"}


def test_tiles_outside_the_visible_spans_are_never_computed(each_engine: str) -> None:
    if each_engine != "torch":
        pytest.skip("it makes no tiles of torch")
    t = 1024
    q, k = torch.randn(1, 1, t, 4), torch.randn(1, 1, t, 4)
    sinks = masks.spans(torch.zeros(t, dtype=torch.int64), torch.full((t,), 4))
    ids = torch.arange(t)[None] // 256
    for mask in (masks.window(31), masks.window(31) | sinks, masks.causal() & masks.documents(ids)):
        visible = Scoring(mask, offset=0).bind(q, k).visible
        plain, met = Bound.tile, torch.zeros(t, t, dtype=torch.int64)

        def counting(self: Bound, rows: slice, cols: slice, met=met, plain=plain, **more: object) -> object:
            met[rows, cols] += 1
            return plain(self, rows, cols, **more)

        with mock.patch.object(Bound, "tile", counting):
            summarize(q, k, mask, block=16)
        seen = visible.tile(slice(0, t), slice(0, t))[0, 0]
        assert (met[seen] == 2).all()  # once for the normaliser, once for the summary
        for rows in (slice(i, i + 128) for i in range(0, t, 128)):
            hidden = ~seen[rows].any(dim=0)  # keys that no row of the block sees
            assert int(met[rows][:, hidden].sum()) <= 2 * 128 * 64  # a short hole may be walked over
        assert int(met.sum()) < t * t


def test_progress_grows_to_one_with_the_cells_that_are_done() -> None:
    q, k = torch.randn(1, 1, 1000, 4), torch.randn(1, 1, 1000, 4)
    told: list[float] = []
    summarize(q, k, masks.causal(), progress=told.append)
    assert told == sorted(told) and told[-1] == 1.0 and len(told) > 4
    assert told[0] < 0.1  # the first rows of a causal walk see few keys


@pytest.mark.parametrize("how", ["says no", "presses ctrl-c"])
def test_a_walk_that_is_stopped_leaves_nothing_behind(how: str) -> None:
    q, k = torch.randn(1, 1, 1000, 4), torch.randn(1, 1, 1000, 4)
    told: list[float] = []

    def stop(share: float) -> bool:
        told.append(share)
        if how == "presses ctrl-c":
            raise KeyboardInterrupt
        return False

    before = summarize(q, k, masks.causal(), block=16)
    expected = KeyboardInterrupt if how == "presses ctrl-c" else Cancelled
    with pytest.raises(expected) as stopped:
        summarize(q, k, masks.causal(), block=16, progress=stop)
    assert len(told) == 1 and torch.is_grad_enabled()
    if expected is Cancelled:
        assert re.match(
            r"The walk was stopped after \d%\. Every block of rows\. progress", str(stopped.value)
        )
    after = summarize(q, k, masks.causal(), block=16)
    assert torch.equal(before.received, after.received) and torch.equal(before.top_keys, after.top_keys)
