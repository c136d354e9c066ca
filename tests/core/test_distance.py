"""Mass by distance: bins that are exact to 64 tokens and then double, and sums along diagonals."""

from __future__ import annotations

import torch

from attnscope.core import masks
from attnscope.core.dense import steps
from attnscope.core.distance import bin_of, diagonals, limits
from attnscope.core.fold import summarize
from attnscope.core.room import Room
from attnscope.core.scoring import Scoring


def test_every_distance_lies_within_the_limits_of_its_bin() -> None:
    distance = torch.arange(140_000)
    bins = bin_of(distance)
    assert torch.equal(bins[:65], distance[:65]) and (bins.diff() >= 0).all() and (bins.diff() <= 1).all()
    edges = limits(int(bins[-1]) + 1)
    assert (edges[bins, 0] <= distance).all() and (distance <= edges[bins, 1]).all()
    assert edges[64:].tolist()[:4] == [[64, 64], [65, 128], [129, 256], [257, 512]]


def test_diagonals_are_those_of_the_grid_whatever_stood_in_the_room() -> None:
    room = Room()
    for rows, cols in ((3, 5), (5, 3), (1, 4), (4, 1), (3, 5)):
        weights = torch.rand(2, 3, rows, cols)
        got = diagonals(weights, room)
        for place in range(rows + cols - 1):
            want = weights.diagonal(place - (rows - 1), dim1=-2, dim2=-1).sum(dim=-1)
            torch.testing.assert_close(got[..., place], want)


def test_mass_by_distance_is_that_of_the_grid_at_lengths_with_wide_bins() -> None:
    q, k = torch.randn(1, 2, 700, 8), torch.randn(1, 2, 900, 8)
    scoring = Scoring(masks.window(600, 90), offset=150)
    w = steps(q, k, k, scoring).weights.double()
    far = (torch.arange(700)[:, None] + 150 - torch.arange(900)).abs()
    summary = summarize(q, k, scoring)
    assert summary.mass_by_distance is not None
    for place, (least, most) in enumerate(limits(summary.mass_by_distance.shape[-1]).tolist()):
        want = (w * ((far >= least) & (far <= most))).sum(dim=(-2, -1))
        torch.testing.assert_close(summary.mass_by_distance[..., place].double(), want, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(summary.mass_by_distance.sum(-1), summary.received.sum(-1))
