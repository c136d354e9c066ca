"""The largest cells: the exact ones, in order, whatever is left out."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from attnscope.errors import RecordingError
from attnscope.maps import Head, Pyramid, largest_cells, of_call
from tests.maps.conftest import KINDS, SIZES

Drawn = Callable[..., tuple[Tensor, Tensor]]


@pytest.fixture(params=[2_048, 128], ids=["cells are kept", "squares are kept"], autouse=True)
def _small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attnscope.maps.geometry.SMALL", request.param)


def expected(head: Head, n: int, *, first: int | None, near: int) -> list[tuple[float, int, int]]:
    """The list by sorting every cell."""
    grid = head.weights(slice(0, head.tq), slice(0, head.tk)).clone()
    if first is not None:
        grid[:, first] = 0
    i, j = torch.arange(head.tq)[:, None], torch.arange(head.tk)
    grid[(i + (head.offset or 0) - j).abs() < near] = 0
    order = grid.flatten().sort(descending=True, stable=True).indices[:n].tolist()
    cells = [(float(grid.flatten()[at]), at // head.tk, at % head.tk) for at in order]
    return [cell for cell in cells if cell[0] > 0]


@pytest.mark.parametrize(("skip_first", "near"), [(False, 0), (True, 0), (False, 2), (True, 40)])
@pytest.mark.parametrize(("size", "kind"), [("square", "padded"), ("low", "causal"), ("square", "rule")])
def test_the_list_is_that_of_all_cells_sorted(
    size: str, kind: str, skip_first: bool, near: int, drawn: Drawn
) -> None:
    tq, tk = SIZES[size]
    head = of_call(*drawn(tq, tk), KINDS[kind](tq, tk), head=1)
    got = largest_cells(Pyramid(head), 23, skip_first=skip_first, near=near)
    want = expected(head, 23, first=0 if skip_first else None, near=near)
    assert [(cell.weight, cell.i, cell.j) for cell in got] == want


def test_a_short_list_ends_with_the_last_visible_cell(drawn: Drawn) -> None:
    head = of_call(*drawn(3, 3), KINDS["causal"](3, 3))
    assert [(cell.i, cell.j) for cell in largest_cells(Pyramid(head), 50, near=1)] == [
        (cell[1], cell[2]) for cell in expected(head, 50, first=None, near=1)
    ]
    assert len(largest_cells(Pyramid(head), 50)) == 6
    assert largest_cells(Pyramid(head), 50, near=3) == []


def test_a_row_of_nan_is_no_large_cell_and_hides_none(drawn: Drawn) -> None:
    q, k = drawn(613, 613)
    q[0, 0, 100] = torch.nan
    head = of_call(q, k, KINDS["causal"](613, 613))
    got = largest_cells(Pyramid(head), 400)
    assert all(cell.i != 100 for cell in got)
    assert len({(cell.i, cell.j) for cell in got}) == 400
    grid = head.weights(slice(0, 613), slice(0, 613)).nan_to_num(-1)
    assert [cell.weight for cell in got] == grid.flatten().topk(400).values.tolist()


def test_what_cannot_be_counted_is_refused(drawn: Drawn) -> None:
    pyramid = Pyramid(of_call(*drawn(5, 5), KINDS["causal"](5, 5)))
    with pytest.raises(RecordingError, match=r"n=0. 1 to 10,000 cells"):
        largest_cells(pyramid, 0)
    with pytest.raises(RecordingError, match=r"near=-1. 0 or more"):
        largest_cells(pyramid, 3, near=-1)
