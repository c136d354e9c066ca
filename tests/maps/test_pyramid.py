"""Tiles: every level is the reduction of the one below it, and the deepest is the head itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from attnscope.core.dense import steps
from attnscope.core.engine import Native, engine_of
from attnscope.errors import RecordingError
from attnscope.maps import HIDDEN, SIDE, Pyramid, Tile, of_call
from tests.maps.conftest import KINDS, SIZES

CASES = [
    ("square", "causal"), ("square", "padded"), ("square", "rule"), ("low", "causal"), ("low", "documents"),
    ("low", "window"), ("one row", "causal"), ("tall", "full"), ("square", "sinks"),
    ("square", "first and near"),
]  # fmt: skip
Drawn = Callable[..., tuple[Tensor, Tensor]]


@pytest.fixture(params=[2_048, 128], ids=["cells are kept", "squares are kept"])
def small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many pixels a side are kept: with fewer, the finest levels are computed as those of a long text."""
    monkeypatch.setattr("attnscope.maps.geometry.SMALL", request.param)
    return int(request.param)


def every_tile(pyramid: Pyramid, level: int) -> Iterator[Tile]:
    rows, cols = pyramid.geometry.tiles(level)
    return (pyramid.tile(level, row, col) for row in range(rows) for col in range(cols))


def whole(pyramid: Pyramid, level: int) -> dict[str, Tensor]:
    """A level put together from its tiles."""
    found = {name: torch.full(pyramid.geometry.pixels(level), -7.0) for name in ("sum", "mean", "max")}
    found["seen"] = torch.full(pyramid.geometry.pixels(level), -7)
    for tile in every_tile(pyramid, level):
        high, wide = tile.shape
        here = slice(tile.row * SIDE, tile.row * SIDE + high), slice(tile.col * SIDE, tile.col * SIDE + wide)
        found["seen"][here] = tile.seen
        for name in ("sum", "mean", "max"):
            found[name][here] = tile.values(name)
    return found


def squares(x: Tensor, cells: int, fill: float) -> Tensor:
    """x in squares: (rows of them, columns of them, cells of each)."""
    short = (0, -x.shape[1] % cells, 0, -x.shape[0] % cells)
    x = torch.nn.functional.pad(x, short, value=fill)
    x = x.view(x.shape[0] // cells, cells, x.shape[1] // cells, cells)
    return x.transpose(1, 2).flatten(2)


@pytest.mark.parametrize(("size", "kind"), CASES)
def test_every_level_reduces_the_dense_grid_in_float64(
    size: str, kind: str, small: int, drawn: Drawn
) -> None:
    tq, tk = SIZES[size]
    q, k = drawn(tq, tk)
    scoring = KINDS[kind](tq, tk)
    exact = steps(q.double(), k.double(), k.double(), scoring).weights[0, 1]
    bound = scoring.bind(q, k)
    seen = bound.visible.tile(slice(0, tq), slice(0, tk), heads=slice(1, 2))[0, 0].expand(tq, tk)
    pyramid = Pyramid(of_call(q, k, scoring, head=1))
    assert (pyramid.geometry.base > 1) == (small == 128)
    for level in range(pyramid.geometry.depth + 1):
        cells, got = pyramid.geometry.cells(level), whole(pyramid, level)
        count = squares(seen.long(), cells, 0).sum(dim=-1)
        total, largest = squares(exact, cells, 0).sum(dim=-1), squares(exact, cells, 0).amax(dim=-1)
        assert torch.equal(got["seen"], count)
        for name, want in (("sum", total), ("mean", total / count), ("max", largest)):
            want = want.masked_fill(count == 0, HIDDEN).float()
            torch.testing.assert_close(got[name], want, rtol=2e-5, atol=1e-7)


@pytest.mark.parametrize("kind", ["causal", "padded", "rule"])
def test_a_tile_is_the_reduction_of_the_four_below_it(kind: str, small: int, drawn: Drawn) -> None:
    tq, tk = SIZES["square"]
    native = isinstance(engine_of(KINDS[kind](tq, tk).bind(*drawn(tq, tk))), Native)
    near = 1e-6 if native else 5e-6  # the torch engine has other last bits of scores up to 80
    pyramid = Pyramid(of_call(*drawn(tq, tk), KINDS[kind](tq, tk)))
    levels = [whole(pyramid, level) for level in range(pyramid.geometry.depth + 1)]
    for at, (coarse, fine) in enumerate(pairwise(levels)):
        count = squares(fine["seen"], 2, 0).sum(dim=-1)
        total = squares(fine["sum"].clamp(min=0), 2, 0).sum(dim=-1)
        largest = squares(fine["max"], 2, HIDDEN).amax(dim=-1)
        assert torch.equal(coarse["seen"], count)
        torch.testing.assert_close(coarse["sum"], total.masked_fill(count == 0, HIDDEN), rtol=near, atol=0)
        torch.testing.assert_close(coarse["mean"] * count, total.where(count > 0, -0.0), rtol=near, atol=0)
        from_kept = pyramid.geometry.cells(at + 1) >= max(2, pyramid.geometry.base)
        same = from_kept or native
        torch.testing.assert_close(coarse["max"], largest, rtol=0 if same else near, atol=0)


def test_a_level_or_tile_that_is_not_there_is_refused(drawn: Drawn) -> None:
    pyramid = Pyramid(of_call(*drawn(301, 1_100), KINDS["causal"](301, 1_100)))
    assert [pyramid.geometry.tiles(level) for level in range(4)] == [(1, 1), (1, 2), (1, 3), (2, 5)]
    with pytest.raises(RecordingError, match=r"There is no level 4. 0 to 3"):
        pyramid.tile(4, 0, 0)
    with pytest.raises(RecordingError, match=r"Level 1 has no tile \(1, 0\). Rows 0 to 0 and columns 0 to 1"):
        pyramid.tile(1, 1, 0)
    with pytest.raises(RecordingError, match=r"reduction='least'. sum, mean, max"):
        pyramid.tile(0, 0, 0).values("least")  # type: ignore[arg-type]
