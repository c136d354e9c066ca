"""The states of a fold merge over any split of rows and keys, in any order; the top keeps order on ties."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnscope.core import masks
from attnscope.core.engine import normaliser_of
from attnscope.core.keystats import KeyStats
from attnscope.core.room import KEPT, Room, lent
from attnscope.core.rowstats import RowStats, first_keys, no_rows_seen, row_stats
from attnscope.core.scoring import Bound, Scoring
from attnscope.core.tile import Normaliser, weighed
from attnscope.core.top import Top, no_top, top_of

pytestmark = pytest.mark.usefixtures("each_engine")

ROWS, KEYS = 13, 19


def call(seed: int, dtype: torch.dtype) -> Bound:
    own = torch.Generator().manual_seed(seed)
    q, k = (torch.randn(2, h, t, 3, generator=own).to(dtype) for h, t in ((4, ROWS), (2, KEYS)))
    mask = masks.window(9, 2) & masks.padding(torch.rand(2, KEYS, generator=own) < 0.8)
    return Scoring(mask, sinks=torch.randn(4, generator=own), scale=2.0, offset=5).bind(q, k)


def spans(cuts: list[int], size: int) -> list[slice]:
    edges = [0, *sorted({cut for cut in cuts if 0 < cut < size}), size]
    return [slice(a, b) for a, b in pairwise(edges)]


def of_keys(bound: Bound, last: Normaliser, parts: list[tuple[slice, slice]], block: int | None) -> KeyStats:
    state = KeyStats(bound, rows=slice(0, ROWS), start=0, block=block)
    for rows, cols in parts:
        tile = bound.tile(rows, cols)
        state.take(tile, weighed(bound, tile, last.of_rows(rows), Room()))
    return state


cuts = st.lists(st.integers(1, 18), max_size=4)
DTYPES = [torch.float32, torch.float64]


@settings(max_examples=30)
@given(
    seed=st.integers(0, 2**20), rows=cuts, cols=cuts, block=st.sampled_from([None, 1, 4, 16]), data=st.data()
)
@pytest.mark.parametrize("dtype", DTYPES)
def test_key_states_add_up_over_any_split_of_rows_and_keys_in_any_order(
    dtype: torch.dtype, seed: int, rows: list[int], cols: list[int], block: int | None, data: st.DataObject
) -> None:
    bound = call(seed, dtype)
    last = normaliser_of(bound)
    whole = of_keys(bound, last, [(slice(0, ROWS), slice(0, KEYS))], block)
    parts = [(r, c) for r in spans(rows, ROWS) for c in spans(cols, KEYS)]
    added = of_keys(bound, last, data.draw(st.permutations(parts)), block)
    close = 1e-12 if dtype == torch.float64 else 1e-5
    assert torch.equal(added.seen, whole.seen)
    torch.testing.assert_close(added.received, whole.received, rtol=close, atol=close)
    torch.testing.assert_close(added.by_distance, whole.by_distance, rtol=close, atol=close)
    if block is not None:
        assert added.counts is not None and whole.counts is not None
        assert torch.equal(added.counts, whole.counts)
        for one, other in zip(added.blocks, whole.blocks, strict=True):
            torch.testing.assert_close(one, other, rtol=close, atol=close)


def test_what_is_counted_beforehand_is_what_tiles_count() -> None:
    bound = call(3, torch.float32)
    counted = KeyStats(bound, rows=slice(0, ROWS), start=0, block=4, counted=True)
    seen, counts = counted.seen.clone(), counted.counts
    assert counts is not None
    taken = of_keys(bound, normaliser_of(bound), [(slice(0, ROWS), slice(0, KEYS))], 4)
    assert torch.equal(seen.expand_as(taken.seen), taken.seen) and taken.counts is not None
    assert torch.equal(counts.expand_as(taken.counts), taken.counts)
    tile = bound.tile(slice(0, ROWS), slice(0, KEYS))
    counted.take(tile, weighed(bound, tile, normaliser_of(bound), Room()))
    assert torch.equal(counted.seen, seen)


def test_a_room_is_lent_again_but_not_twice_at_once() -> None:
    cpu = torch.device("cpu")
    with lent() as one, lent() as other:
        assert one is not other
    with lent() as again:
        held = again.take("x", (3,), torch.float64, cpu)
    with lent() as again:
        assert again.take("x", (3,), torch.float64, cpu).data_ptr() == held.data_ptr()
        again.take("large", (KEPT,), torch.float64, cpu)
    with lent() as again:
        assert not again._held


def of_rows(bound: Bound, given_: Normaliser, cols: slice) -> RowStats:
    tile = bound.tile(slice(0, ROWS), cols)
    top = top_of(tile.scores, 4, cols.start)
    seen = weighed(bound, tile, given_, Room())
    wide = Normaliser(given_.peak.double(), given_.logsum.double())
    return row_stats(bound, tile, seen, wide, first=first_keys(bound.visible), top=top)


@settings(max_examples=30)
@given(seed=st.integers(0, 2**20), cols=cuts, data=st.data())
@pytest.mark.parametrize("dtype", DTYPES)
def test_row_states_merge_over_any_split_of_the_keys_in_any_order(
    dtype: torch.dtype, seed: int, cols: list[int], data: st.DataObject
) -> None:
    bound = call(seed, dtype)
    last = normaliser_of(bound)
    whole = of_rows(bound, last, slice(0, KEYS))
    parts = [of_rows(bound, last, c) for c in spans(cols, KEYS)] + [no_rows_seen(bound, ROWS, 4)]
    merged = reduce(RowStats.merge, data.draw(st.permutations(parts)))
    merged = merged.relative_to(whole.peak, whole.logsum)
    close = 1e-12 if dtype == torch.float64 else 1e-5
    for name in ("mass", "plogp", "mean", "first"):
        torch.testing.assert_close(
            getattr(merged, name), getattr(whole, name), rtol=close, atol=KEYS * close, msg=name
        )
    spread, want = merged.scatter.sqrt(), whole.scatter.sqrt()
    torch.testing.assert_close(spread, want, rtol=close, atol=100 * KEYS * close)
    assert torch.equal(merged.top.keys, whole.top.keys)


@given(st.integers(0, 2**20), st.sampled_from([1, 3, 8]), st.sampled_from([0.0, 1.0, 8.0, 1e4]))
def test_the_top_after_each_tile_is_that_of_the_whole_row_the_lowest_key_on_ties(
    seed: int, size: int, steps_of: float
) -> None:
    own = torch.Generator().manual_seed(seed)
    scores = torch.randn(1, 2, 3, 1000, generator=own)
    scores = (scores * steps_of).round() / max(steps_of, 1.0)  # few different numbers: many ties
    scores[0, 0, 1, 300:] = -torch.inf
    scores[0, 1, 2] = -torch.inf
    top = no_top(1, 2, 3, size, dtype=scores.dtype)
    for lo, hi in ((0, 256), (256, 512), (512, 640), (640, 656), (656, 1000)):
        top = top.after(scores[..., lo:hi], lo)
    order = torch.sort(scores, dim=-1, descending=True, stable=True)
    want = Top(order.values[..., :size], order.indices[..., :size])
    assert torch.equal(top.scores, want.scores)
    assert torch.equal(top.keys, want.keys.masked_fill(want.scores == -torch.inf, -1))
