"""Sums over rows by every instruction set are those of torch in float64, of any size and layout."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from attnscope.core.engine import Native, using
from attnscope.core.native.library import Library, library
from attnscope.core.signs import row_sums

FOUND = library()
pytestmark = pytest.mark.skipif(not isinstance(FOUND, Library), reason=f"the native engine: {FOUND}")


@pytest.fixture(params=FOUND.sets() if isinstance(FOUND, Library) else ["none"])
def native(request: pytest.FixtureRequest) -> Iterator[Native]:
    assert isinstance(FOUND, Library)
    with using("native", isa=request.param):
        yield Native(FOUND)


def draw(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(7))


def hold(native: Native, x: Tensor, signs: Tensor | None) -> None:
    for squares in (False, True):
        for places in (False, True):
            found = native.row_sums(x, signs, squares=squares, places=places)
            wanted = row_sums(x.double(), signs, squares=squares, places=places)
            for one, other in zip(found, wanted, strict=True):
                torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize("width", [1, 3, 16, 17, 64, 80])
@pytest.mark.parametrize("count", [0, 1, 4])
def test_rows_of_any_width_have_the_sums_of_torch(width: int, count: int, native: Native) -> None:
    signs = draw(3, count, width).double() if count else None
    hold(native, draw(2, 3, 41, width), signs)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_as_many_rows_as_threads_share_do(threads: int, native: Native) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        hold(native, draw(1, 3, 4_099, 64), draw(3, 1, 64).double())
    finally:
        torch.set_num_threads(before)


def test_memory_of_any_layout_is_read_as_it_lies(native: Native) -> None:
    signs = draw(3, 1, 8).double()
    hold(native, draw(2, 11, 3, 8).transpose(1, 2), signs)
    hold(native, draw(2, 3, 8, 11).mT, signs)
    hold(native, draw(1, 1, 11, 8).expand(2, 3, -1, -1), signs)
    hold(native, draw(2, 3, 22, 8)[:, :, ::2], signs)
    hold(native, draw(2, 3, 11, 8), draw(1, 1, 8).double().expand(3, -1, -1))
    hold(native, draw(2, 3, 11, 1)[..., [0]].expand(-1, -1, -1, 8), signs)


@pytest.mark.parametrize("shape", [(0, 3, 5, 8), (2, 3, 0, 8), (2, 3, 5, 0)])
def test_nothing_has_sums_of_nothing(shape: tuple[int, ...], native: Native) -> None:
    hold(native, draw(*shape), draw(3, 1, shape[-1]).double())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_other_dtypes_are_summed_by_torch(dtype: torch.dtype, native: Native) -> None:
    hold(native, draw(2, 3, 5, 8).to(dtype), draw(3, 1, 8).double())


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_squares_that_float32_has_no_room_for_are_summed(size: float, native: Native) -> None:
    x = draw(1, 2, 9, 24) * size
    found, wanted = (
        sums(y, squares=True).squares for sums, y in ((native.row_sums, x), (row_sums, x.double()))
    )
    torch.testing.assert_close(found, wanted, rtol=1e-12, atol=0.0)


def test_a_row_that_is_no_number_is_no_number_alone(native: Native) -> None:
    x = draw(1, 2, 300, 24)
    x[0, 1, 290, 3], x[0, 0, 7, 23] = torch.nan, torch.inf
    found = native.row_sums(x, draw(2, 1, 24).double(), squares=True)
    for sums in (found.on_signs[..., 0], found.squares):
        assert (~sums.isfinite()).nonzero().tolist() == [[0, 0, 7], [0, 1, 290]]
