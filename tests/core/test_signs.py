"""Sums over rows, with vectors of signs and of squares: the same as of a whole tensor in float64."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.linalg import vector_norm

from attnscope.core.signs import evening_of, row_sums, signs_of

SIZES = [(2, 3, 7, 5), (1, 2, 4_099, 11), (3, 1, 1, 13), (2, 5, 0, 3), (0, 2, 3, 5), (1, 0, 3, 5)]
"""(b h t d): less than one piece, several with a ragged end, one row, and none."""


@pytest.fixture
def own() -> torch.Generator:
    return torch.Generator().manual_seed(5)


@pytest.fixture(params=SIZES, ids=str)
def x(request: pytest.FixtureRequest, own: torch.Generator) -> Tensor:
    b, h, t, d = request.param
    return torch.randn(b, t, h, d, generator=own).transpose(1, 2)  # as models give them


def same(found: Tensor, want: Tensor, within: float = 1e-12) -> None:
    assert found.dtype == torch.float64
    torch.testing.assert_close(found, want, rtol=within, atol=1e-50, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("count", [1, 4])
def test_rows_on_signs_are_products_in_float64(x: Tensor, count: int, dtype: torch.dtype) -> None:
    signs = signs_of(torch.rand(x.shape[1], x.shape[-1]) + 0.5, count, seed=3)
    wide = x.to(dtype).double()
    found = row_sums(x.to(dtype), signs, squares=True, places=True)
    same(found.on_signs, wide @ signs.mT)
    same(found.squares.sqrt(), vector_norm(wide * signs[:, -1:], dim=-1))
    same(found.places, wide.square().sum(dim=2))
    alone = row_sums(x.to(dtype), signs)
    assert torch.equal(alone.on_signs, found.on_signs)
    assert not alone.squares.numel() and not alone.places.numel()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_squares_of_rows_are_those_of_float64(x: Tensor, dtype: torch.dtype) -> None:
    same(row_sums(x.to(dtype), squares=True).squares, x.to(dtype).double().square().sum(dim=-1), within=1e-6)


@pytest.mark.parametrize("size", [0.0, 1e-30, 1e-21, 1e21, 1e30])
def test_squares_that_float32_has_no_place_for_are_summed(size: float) -> None:
    x = torch.ones(1, 1, 3, 4) * torch.tensor([1.0, size, 2.0])[:, None]
    same(row_sums(x, squares=True).squares, x.double().square().sum(dim=-1))


def test_a_row_that_is_no_number_is_no_number_alone(own: torch.Generator) -> None:
    x = torch.randn(1, 2, 3_000, 8, generator=own)
    x[0, 1, 2_900, 3], x[0, 0, 7, 1] = torch.nan, torch.inf
    found = row_sums(x, signs_of(torch.ones(2, 8), 1, seed=0), squares=True)
    for sums in (found.on_signs[..., 0], found.squares, row_sums(x, squares=True).squares):
        assert (~sums.isfinite()).nonzero().tolist() == [[0, 0, 7], [0, 1, 2_900]]


def test_places_are_evened_out_by_their_size_over_all_rows(own: torch.Generator) -> None:
    out = torch.randn(2, 6, 2_501, 5, generator=own) * torch.tensor([1.0, 100.0, 0.0, 3.0, 1e-3])
    out[1, 4, 9, 1], out[0, 0, 3, 0] = torch.nan, torch.inf  # neither counts
    clean = out.double().nan_to_num(0.0, 0.0, 0.0).view(2, 3, 2 * 2_501, 5)
    size = vector_norm(clean, dim=(0, 2))
    size = size + size.mean(dim=-1, keepdim=True) / 8
    same(evening_of(out, 3), size.mean(dim=-1, keepdim=True) / size)


def test_nothing_to_even_out_is_left_as_it_is() -> None:
    same(evening_of(torch.zeros(1, 2, 3, 4), 2), torch.ones(2, 4).double())
    same(evening_of(torch.zeros(1, 2, 0, 4), 2), torch.ones(2, 4).double())
