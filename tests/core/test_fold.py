"""The summary equals what the whole grid says, over any scoring, and its states merge over any split."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from unittest import mock

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from attnscope.core import masks, walk
from attnscope.core.bias import KeyBias, RelativeBias, TensorBias
from attnscope.core.certificate import certify
from attnscope.core.dense import Steps, steps
from attnscope.core.engine import normaliser, normaliser_of
from attnscope.core.fold import Summary, summarize
from attnscope.core.keystats import KeyStats
from attnscope.core.mask import Mask
from attnscope.core.room import Room
from attnscope.core.rowstats import RowStats, first_keys, no_rows_seen, row_stats
from attnscope.core.scoring import Bound, Scoring
from attnscope.core.tile import Normaliser, weighed
from attnscope.core.top import top_of

pytestmark = pytest.mark.usefixtures("each_engine")

TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5}


@contextmanager
def tiles(rows: int, cols: int) -> Iterator[None]:
    """Tiles of so many rows and columns, so that small inputs take many of them."""
    small = {"TILE_ROWS": rows, "LEAST_COLUMNS": cols, "TILE_CELLS": 1, "SHORT_GAP": 0}
    with mock.patch.multiple(walk, **small):
        yield


# --- the oracle: the same figures from the whole grid


def dense(found: Steps, *, offset: int, block: int, first: Tensor) -> dict[str, Tensor]:
    """Every field of a summary from the grid of weights, in float64."""
    w, seen = found.weights.double(), found.visible
    tq, tk = w.shape[-2:]
    mass = w.sum(dim=-1)
    distance = (torch.arange(tq).double()[:, None] + offset - torch.arange(tk)).abs()
    mean = (w * distance).sum(dim=-1) / mass
    spread = ((w * (distance - mean[..., None]).square()).sum(dim=-1) / mass).sqrt()
    keys = seen.sum(dim=-2)
    grid = torch.zeros(*w.shape[:2], -(-tq // block), -(-tk // block)).double()
    result = {"block_sum": grid, "block_max": grid.clone(), "block_seen": grid.clone()}
    for m in range(grid.shape[2]):
        for n in range(grid.shape[3]):
            cut = (..., slice(m * block, (m + 1) * block), slice(n * block, (n + 1) * block))
            result["block_sum"][..., m, n] = w[cut].sum(dim=(-2, -1))
            result["block_max"][..., m, n] = w[cut].amax(dim=(-2, -1))
            result["block_seen"][..., m, n] = seen[cut].sum(dim=(-2, -1))
    bins = torch.tensor([bin_by_hand(d) for d in range(int(distance.max()) + 1)])
    of_cell = torch.nn.functional.one_hot(bins[distance.long()]).double()  # (tq tk bins)
    result["mass_by_distance"] = torch.einsum("bhij,ijn->bhn", w, of_cell)
    where = first.clamp(max=tk - 1)  # past the last key where no row sees any, and then all weights are 0
    at_first = w.gather(-1, where[:, None, None, None].expand(*w.shape[:3], 1))[..., 0]
    lse, lse_keys = found.normaliser, found.lse_keys
    return result | {
        "entropy": -torch.special.xlogy(w, w).sum(dim=-1),
        "largest": w.amax(dim=-1),
        "distance": mean,
        "distance_spread": spread,
        "first": at_first,
        "sink": 1 - (lse_keys.double() - lse.peak.double() - lse.logsum.double()).exp(),
        "received": w.sum(dim=-2),
        "received_mean": w.sum(dim=-2) / keys,
        "seen": keys,
        "empty_rows": (~seen.any(dim=-1)).sum(dim=-1),
    }


def bin_by_hand(distance: int) -> int:
    """0 .. 64 each alone, then 65 to 128, 129 to 256 ..."""
    return distance if distance <= 64 else 64 + math.ceil(math.log2(distance / 64))


def by_hand(found: Steps, top: int) -> tuple[Tensor, Tensor]:
    """The weights and keys of the largest scores: the lowest key on ties, -1 where there is none."""
    order = torch.sort(found.scores, dim=-1, descending=True, stable=True)
    keys = order.indices.masked_fill(order.values == -torch.inf, -1)[..., :top]
    weights = found.weights.gather(-1, order.indices)[..., :top]
    short = top - keys.shape[-1]
    return torch.nn.functional.pad(weights, (0, short)), torch.nn.functional.pad(keys, (0, short), value=-1)


def hold(summary: Summary, found: Steps, scoring: Scoring, bound: Bound, dtype: torch.dtype) -> None:
    """Asserts that a summary says what the grid says."""
    assert summary.block is not None
    want = dense(found, offset=bound.offset, block=summary.block, first=first_keys(bound.visible))
    if scoring.sinks is None:
        want["sink"] = torch.zeros_like(want["sink"])
    close = TOLERANCE[dtype]
    for name, tensor in want.items():
        got = getattr(summary, name).double()
        if name in ("seen", "block_seen"):
            got = got.expand_as(tensor)
        room, share = close * bound.shape.tk if name.startswith("distance") else close, close
        if name == "distance_spread":  # squares of distances cancel: its own square is as exact as they are
            got, tensor, share = got.square(), tensor.double().square(), 2 * close
            room = 4 * torch.finfo(dtype).eps * bound.shape.tk**2
        if name == "mass_by_distance":  # bins past the farthest visible pair are 0
            tensor = torch.nn.functional.pad(tensor, (0, got.shape[-1] - tensor.shape[-1]))
        torch.testing.assert_close(
            got, tensor.double(), rtol=share, atol=room, equal_nan=True, msg=lambda m, n=name: f"{n}: {m}"
        )
    weights, keys = by_hand(found, summary.top_keys.shape[-1])
    torch.testing.assert_close(summary.top_weights, weights, rtol=close, atol=close)
    assert torch.equal(summary.largest_key, keys[..., 0])
    assert torch.equal(summary.top_keys, keys)
    assert summary.entropy.dtype == dtype and summary.received.dtype == dtype


# --- any scoring


@st.composite
def calls(draw: st.DrawFn) -> tuple[Tensor, Tensor, Scoring]:
    """q and k of whole numbers (products are exact, ties are frequent) and a scoring of any kind."""
    whole = lambda least, most: draw(st.integers(least, most))  # noqa: E731
    b, hk, group, tq, tk, d = whole(1, 2), whole(1, 2), whole(1, 2), whole(1, 9), whole(1, 11), whole(1, 3)
    own = torch.Generator().manual_seed(whole(0, 2**20))
    dtype = draw(st.sampled_from([torch.float64, torch.float32]))
    h = hk * group
    q = torch.randint(-2, 3, (b, h, tq, d), generator=own).to(dtype)
    k = torch.randint(-2, 3, (b, hk, tk, d), generator=own).to(dtype)
    offset = whole(-2, 6)
    mask = _mask(draw(st.sampled_from(KINDS)), own, (b, h, tq, tk))
    if draw(st.booleans()):
        mask = mask & masks.padding(torch.rand(b, tk, generator=own) < 0.7)
    bias = {
        "none": None,
        "relative": RelativeBias(torch.randint(-3, 4, (h, tq + tk + 20), generator=own) / 2, -tq - 9),
        "key": KeyBias(torch.randint(-3, 4, (b, h, tk), generator=own) / 2),
        "tensor": TensorBias(torch.randint(-3, 4, (1, h, tq, tk), generator=own) / 2),
    }[draw(st.sampled_from(["none", "relative", "key", "tensor"]))]
    sinks = torch.randn(h, generator=own) if draw(st.booleans()) else None
    scale = draw(st.sampled_from([0.5, 2.0, 0.0, -0.25, 40.0]))
    return q, k, Scoring(mask, scale=scale, bias=bias, sinks=sinks, offset=offset)


KINDS = ("full", "causal", "window", "chunks", "prefix", "spans", "tensor", "rule")


def _mask(kind: str, own: torch.Generator, sizes: tuple[int, int, int, int]) -> Mask:
    b, h, tq, tk = sizes
    if kind == "spans":
        lo = torch.randint(0, tk + 1, (b, h, tq, 2), generator=own)
        return masks.spans(lo, lo + torch.randint(0, 4, lo.shape, generator=own))
    if kind == "tensor":
        return masks.from_tensor(torch.rand(b, h, tq, tk, generator=own) < 0.5)
    if kind == "rule":
        return masks.rule(lambda b, h, i, j: (i + j) % 3 != 0)
    plain = {"full": masks.full(), "causal": masks.causal(), "window": masks.window(2, 1)}
    return (plain | {"chunks": masks.chunks(3), "prefix": masks.prefix(2)})[kind]


@given(calls(), st.integers(1, 4), st.integers(1, 5), st.integers(1, 5))
def test_a_summary_says_what_the_whole_grid_says(
    call: tuple[Tensor, Tensor, Scoring], block: int, rows: int, cols: int
) -> None:
    q, k, scoring = call
    v = torch.zeros(*k.shape[:3], 1, dtype=q.dtype)
    found, bound = steps(q, k, v, scoring), scoring.bind(q, k)
    with tiles(rows, cols):
        summary = summarize(q, k, scoring, block=block, top=3)
    hold(summary, found, scoring, bound, q.dtype)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("softcap", [None, 5.0])
def test_a_summary_of_real_numbers_in_real_tiles_says_what_the_grid_says(
    dtype: torch.dtype, softcap: float | None
) -> None:
    own = torch.Generator().manual_seed(3)
    q, k, v = (torch.randn(2, h, t, 16, generator=own).to(dtype) for h, t in ((6, 331), (3, 397), (3, 397)))
    scoring = Scoring(
        masks.causal(), softcap=softcap, sinks=torch.randn(6, generator=own), offset=66, scale=1.0
    )
    found, bound = steps(q, k, v, scoring), scoring.bind(q, k)
    hold(summarize(q, k, scoring, block=48), found, scoring, bound, dtype)


def test_rows_that_see_nothing_are_counted_and_never_nan_where_a_number_is_meant() -> None:
    q, k = torch.randn(1, 2, 7, 3), torch.randn(1, 2, 7, 3)
    mask = masks.causal() & masks.padding(torch.arange(7)[None] >= 3)
    summary = summarize(q, k, mask, top=2)
    assert summary.empty_rows.tolist() == [[3, 3]]
    for name in ("entropy", "largest", "first", "sink"):
        assert torch.equal(getattr(summary, name)[:, :, :3], torch.zeros(1, 2, 3)), name
    assert (summary.largest_key[:, :, :3] == -1).all() and (summary.top_keys[:, :, :3] == -1).all()
    assert summary.distance[:, :, :3].isnan().all() and summary.distance_spread[:, :, :3].isnan().all()
    assert summary.received_mean[:, :, :3].isnan().all() and (summary.received[:, :, :3] == 0).all()
    assert (summary.first[:, :, 3] == 1).all()  # the first token is key 3, past the padding


def test_nothing_at_all_is_an_empty_summary() -> None:
    for tq, tk in ((0, 5), (5, 0), (0, 0)):
        q, k = torch.randn(1, 2, tq, 3), torch.randn(1, 2, tk, 3)
        summary = summarize(q, k, block=2)
        assert summary.entropy.shape == (1, 2, tq) and summary.received.shape == (1, 2, tk)
        assert summary.empty_rows.tolist() == [[tq if tk == 0 else 0] * 2]


def test_a_row_that_goes_to_its_sink_alone_says_so() -> None:
    q, k = torch.ones(1, 1, 3, 2), -100 * torch.ones(1, 1, 3, 2)
    summary = summarize(q, k, Scoring(masks.causal(), sinks=torch.tensor([50.0])))
    assert torch.equal(summary.sink, torch.ones(1, 1, 3))
    assert torch.equal(summary.entropy, torch.zeros(1, 1, 3))
    assert summary.distance.isnan().all() and summary.empty_rows.tolist() == [[0]]
    assert summary.largest_key.tolist() == [[[0, 0, 0]]]


def test_nan_in_a_key_that_no_row_sees_reaches_nothing_and_in_one_it_sees_shows() -> None:
    q, k = torch.randn(1, 1, 5, 3), torch.randn(1, 1, 5, 3)
    clean = summarize(q, k, masks.causal() & masks.padding(torch.arange(5)[None] < 4))
    k[0, 0, 4] = torch.nan
    hidden = summarize(q, k, masks.causal() & masks.padding(torch.arange(5)[None] < 4))
    assert torch.equal(clean.entropy, hidden.entropy) and torch.equal(clean.received, hidden.received)
    shown = summarize(q, k, masks.causal())
    assert shown.entropy[0, 0].isnan().tolist() == [False] * 4 + [True]
    assert shown.largest[0, 0].isnan().tolist() == [False] * 4 + [True]


def test_ties_go_to_the_lowest_key_in_wide_rows() -> None:
    scores = torch.randint(0, 4, (2, 3, 5, 700)).float()
    scores[0, 0, 0] = 1.0
    scores[1, 1, 1, 5:] = -torch.inf
    order = torch.sort(scores, dim=-1, descending=True, stable=True)
    for size in (1, 2, 8, 31):
        top = top_of(scores, size, first=10)
        assert torch.equal(top.scores, order.values[..., :size])
        keys = (order.indices[..., :size] + 10).masked_fill(order.values[..., :size] == -torch.inf, -1)
        assert torch.equal(top.keys, keys)


def test_a_slice_of_rows_is_the_summary_of_those_rows() -> None:
    q, k, v = torch.randn(1, 2, 23, 4), torch.randn(1, 2, 23, 4), torch.randn(1, 2, 23, 4)
    out = steps(q, k, v, masks.causal()).out
    part = summarize(q, k, masks.causal(), rows=slice(7, 19), v=v, out=out, block=4)
    whole = summarize(q[:, :, 7:19], k, Scoring(masks.causal(), offset=7), block=4)
    for name in ("entropy", "distance", "received", "block_sum", "top_weights"):
        torch.testing.assert_close(getattr(part, name), getattr(whole, name))
    assert torch.equal(part.seen, whole.seen) and part.start == 7
    assert part.certificate is not None and part.certificate.rows.tolist() == [[12, 12]]
    assert part.certificate.passed(0, 1)


def test_a_given_normaliser_changes_nothing() -> None:
    q, k = torch.randn(1, 2, 23, 4), torch.randn(1, 2, 23, 4)
    own = summarize(q, k, masks.causal())
    for rows in (None, slice(3, 9)):
        given_ = summarize(q, k, masks.causal(), normaliser=normaliser(q, k, masks.causal(), rows), rows=rows)
        want = own.entropy[:, :, rows or slice(None)]
        torch.testing.assert_close(given_.entropy, want, rtol=0, atol=0 if rows is None else 1e-6)


def test_a_summary_with_v_and_out_carries_the_certificate_of_the_call() -> None:
    q, k, v = torch.randn(1, 2, 23, 4), torch.randn(1, 2, 23, 4), torch.randn(1, 2, 23, 4)
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    found, want = (
        summarize(q, k, masks.causal(), v=v, out=out).certificate,
        certify(q, k, v, out, masks.causal()),
    )
    assert found is not None and torch.equal(found.z, want.z) and found.verdict == want.verdict
    assert summarize(q, k, masks.causal()).certificate is None


def test_tiles_outside_the_visible_spans_are_never_computed(each_engine: str) -> None:
    if each_engine != "torch":
        pytest.skip("it makes no tiles of torch")
    q, k = torch.randn(1, 1, 4096, 4), torch.randn(1, 1, 4096, 4)
    cells = 0
    plain = Bound.tile

    def counting(self: Bound, rows: slice, cols: slice, **more: slice | None) -> object:
        nonlocal cells
        cells += (rows.stop - rows.start) * (cols.stop - cols.start)
        return plain(self, rows, cols, **more)

    with mock.patch.object(Bound, "tile", counting):
        summarize(q, k, masks.window(31), normaliser=normaliser(q, k, masks.window(31)))
    assert cells < 2 * 4096 * (256 + 32)  # once for the normaliser, once for the summary


# --- laws of the states


def halves(
    call: tuple[Tensor, Tensor, Scoring], cut: int, own: bool
) -> tuple[Bound, Normaliser, list[RowStats]]:
    """The states of the keys before and from `cut`, each on its own normaliser or both on the final one."""
    q, k, scoring = call
    bound = scoring.bind(q, k)
    last = normaliser_of(bound)
    states, first = [], first_keys(bound.visible)
    for cols in (slice(0, cut), slice(cut, k.shape[2])):
        if cols.stop == cols.start:
            states.append(no_rows_seen(bound, q.shape[2], 2))
            continue
        tile = bound.tile(slice(0, q.shape[2]), cols)
        peak = tile.scores.amax(dim=-1)
        total = (tile.scores - peak.masked_fill(peak == -torch.inf, 0)[..., None]).exp().sum(dim=-1)
        mine = Normaliser(peak, total.masked_fill(peak == -torch.inf, 1).log()) if own else last
        top = top_of(tile.scores, 2, cols.start)
        seen, wide = weighed(bound, tile, mine, Room()), in_float64(mine)
        states.append(row_stats(bound, tile, seen, wide, first=first, top=top))
    return bound, last, states


def in_float64(normaliser: Normaliser) -> Normaliser:
    return Normaliser(normaliser.peak.double(), normaliser.logsum.double())


def same(one: RowStats, two: RowStats) -> None:
    for field in fields(RowStats):
        if field.name == "top":
            assert torch.equal(one.top.keys, two.top.keys)
            continue
        torch.testing.assert_close(getattr(one, field.name), getattr(two, field.name), rtol=2e-5, atol=2e-5)


@given(calls(), st.integers(0, 11), st.booleans(), st.booleans())
def test_halves_of_the_keys_merge_to_the_whole_whatever_normaliser_each_stands_on(
    call: tuple[Tensor, Tensor, Scoring], cut: int, own: bool, swapped: bool
) -> None:
    _, last, (one, two) = halves(call, min(cut, call[1].shape[2]), own)
    _, _, (whole, _) = halves(call, call[1].shape[2], own=False)
    merged = two.merge(one) if swapped else one.merge(two)
    same(
        merged.relative_to(last.peak.double(), last.logsum.double()),
        whole.relative_to(last.peak.double(), last.logsum.double()),
    )


@given(calls(), st.integers(0, 11), st.booleans())
def test_a_state_that_has_seen_nothing_changes_nothing(
    call: tuple[Tensor, Tensor, Scoring], cut: int, own: bool
) -> None:
    bound, _, states = halves(call, min(cut, call[1].shape[2]), own)
    for state in states:
        nothing = no_rows_seen(bound, call[0].shape[2], 2)
        same(state.merge(nothing), state)
        same(nothing.merge(state), state)


@given(calls(), st.integers(1, 4), st.integers(1, 4))
def test_merging_is_associative(call: tuple[Tensor, Tensor, Scoring], one: int, two: int) -> None:
    _, last, (first, _) = halves(call, min(one, call[1].shape[2]), own=True)
    _, _, (start, end) = halves(call, min(one + two, call[1].shape[2]), own=True)
    parts = [first, start, end]  # keys that overlap merge as associatively as any
    left = parts[0].merge(parts[1]).merge(parts[2])
    right = parts[0].merge(parts[1].merge(parts[2]))
    peak, logsum = last.peak.double(), last.logsum.double()
    a, b = left.relative_to(peak, logsum), right.relative_to(peak, logsum)
    same(replace(a, top=b.top), b)


@given(calls(), st.integers(0, 9), st.integers(1, 3))
def test_what_keys_receive_adds_over_rows(call: tuple[Tensor, Tensor, Scoring], cut: int, block: int) -> None:
    q, k, scoring = call
    bound = scoring.bind(q, k)
    last, span = normaliser_of(bound), slice(0, q.shape[2])
    keys = KeyStats(bound, rows=span, start=0, block=block)
    for rows in (slice(0, min(cut, q.shape[2])), slice(min(cut, q.shape[2]), q.shape[2])):
        if rows.stop > rows.start:
            tile = bound.tile(rows, slice(0, k.shape[2]))
            keys.take(tile, weighed(bound, tile, last.of_rows(rows), Room()))
    whole, (sums, largest) = summarize(q, k, scoring, block=block), keys.blocks
    torch.testing.assert_close(keys.received.to(q.dtype), whole.received, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(sums.to(q.dtype), whole.block_sum, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(largest.to(q.dtype), whole.block_max, rtol=1e-5, atol=1e-6)
    assert torch.equal(keys.seen, whole.seen)
