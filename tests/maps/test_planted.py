"""A head with planted structure: found by top-k and by the list, seen at level 0, exact at the cell."""

from __future__ import annotations

import pytest
import torch

from attnscope.core.fold import summarize
from attnscope.core.masks import causal
from attnscope.maps import Pyramid, largest_cells, of_call
from benchmarks.planted import Planted, exact_weight, plant

T = 8_192


@pytest.fixture(scope="module")
def planted() -> Planted:
    return plant(T)


@pytest.fixture(scope="module")
def pyramid(planted: Planted) -> Pyramid:
    return Pyramid(of_call(planted.q, planted.k, causal()))


def test_the_needle_is_in_the_top_of_its_row(planted: Planted) -> None:
    row = slice(planted.needle[0], planted.needle[0] + 1)
    summary = summarize(planted.q, planted.k, causal(), rows=row)
    assert int(summary.top_keys[0, 0, 0, 0]) == planted.needle[1]


def test_the_needle_leads_the_list_of_largest_cells(planted: Planted, pyramid: Pyramid) -> None:
    far = largest_cells(pyramid, 5, skip_first=True, near=2)
    assert (far[0].i, far[0].j) == planted.needle
    assert far[0].weight > 0.8 > 8 * far[1].weight
    near = largest_cells(pyramid, 50, skip_first=True, near=1)
    assert {(cell.i, cell.j) for cell in near} >= {planted.needle}
    assert all(cell.i - cell.j == 1 for cell in near if (cell.i, cell.j) != planted.needle)


def test_the_needle_stripe_and_sink_are_seen_at_level_0(planted: Planted, pyramid: Pyramid) -> None:
    largest = pyramid.tile(0, 0, 0).values("max")
    cells, (i, j) = pyramid.geometry.cells(0), planted.needle
    assert largest[i // cells, j // cells] > 0.8
    around = largest[i // cells - 2 : i // cells + 3, j // cells - 2 : j // cells + 3].flatten()
    assert around.sort().values[-2] < 0.1
    assert largest.diagonal().min() > 0.3 and largest[1:, 0].min() > 0.1


@pytest.mark.parametrize("place", ["needle", "stripe", "sink"])
def test_a_cell_is_exact(place: str, planted: Planted, pyramid: Pyramid) -> None:
    i, j = {"needle": planted.needle, "stripe": (T - 2, T - 3), "sink": (T // 3, 0)}[place]
    tile = pyramid.tile(pyramid.geometry.depth, i // 256, j // 256)
    shown = float(tile.values("max")[i % 256, j % 256])
    assert shown == float(pyramid.head.weights(slice(i, i + 1), slice(j, j + 1)))
    assert shown == pytest.approx(exact_weight(planted, i, j), rel=2e-5)


def test_the_first_key_takes_what_was_planted(planted: Planted, pyramid: Pyramid) -> None:
    share = float(pyramid.sides.received[0] / pyramid.sides.received.sum())
    assert 0.1 < share < 0.5
    assert torch.allclose(pyramid.sides.received.sum(), torch.tensor(float(T)), rtol=1e-4)
