"""The second picture of a head: weight times length of value, exact at every level of its map."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from attnscope.core.dense import steps
from attnscope.errors import NotKept, ShapeError
from attnscope.listen import record
from attnscope.maps import HIDDEN, SIDE, Maps, Pyramid, largest_cells, mixed, of_call, of_site, part_of
from attnscope.nn import CausalSelfAttention
from attnscope.recording import Site
from attnscope.recording.mixes import Lengths, lengths_of
from tests.maps.conftest import KINDS, SIZES
from tests.maps.test_pyramid import CASES, Drawn, small, squares, whole
from tests.recording.conftest import DV, SCORINGS, H, make_site

__all__ = ["make_site", "small"]


def lengths(tk: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """As a head has them: far apart, one of them 0."""
    found = torch.randn(tk, generator=torch.Generator().manual_seed(3), dtype=dtype).mul(2).exp()
    found[tk // 2] = 0.0
    return found


def with_lengths(site: Site) -> Site:
    """The site with what a recording tells of its values."""
    weight = torch.randn(7, H * DV, generator=torch.Generator().manual_seed(2))
    known = Lengths(lengths_of(site.v, weight, range(H)), "layers.0.o_proj")
    return replace(site, shelf=replace(site.shelf, lengths=known))  # type: ignore[type-var]


def pyramid_of(size: str, kind: str, drawn: Drawn) -> Pyramid:
    tq, tk = SIZES[size]
    return Pyramid(mixed(of_call(*drawn(tq, tk), KINDS[kind](tq, tk), head=1), lengths(tk)))


@pytest.mark.parametrize(("size", "kind"), CASES)
def test_every_level_reduces_the_stretched_dense_grid_in_float64(
    size: str, kind: str, small: int, drawn: Drawn
) -> None:
    tq, tk = SIZES[size]
    q, k = drawn(tq, tk)
    exact = (
        steps(q.double(), k.double(), k.double(), KINDS[kind](tq, tk)).weights[0, 1] * lengths(tk).double()
    )
    pyramid = pyramid_of(size, kind, drawn)
    assert (pyramid.geometry.base > 1) == (small == 128)
    for level in range(pyramid.geometry.depth + 1):
        cells, got = pyramid.geometry.cells(level), whole(pyramid, level)
        count = got["seen"]
        total, largest = squares(exact, cells, 0).sum(dim=-1), squares(exact, cells, 0).amax(dim=-1)
        for name, want in (("sum", total), ("mean", total / count), ("max", largest)):
            want = want.masked_fill(count == 0, HIDDEN).float()
            torch.testing.assert_close(got[name], want, rtol=2e-5, atol=1e-6)
    torch.testing.assert_close(pyramid.sides.received, exact.sum(dim=0).float(), rtol=2e-5, atol=1e-6)
    torch.testing.assert_close(pyramid.sides.largest, exact.amax(dim=1).float(), rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["causal", "padded", "rule"])
def test_a_tile_is_the_reduction_of_the_four_below_it(kind: str, small: int, drawn: Drawn) -> None:
    pyramid = pyramid_of("square", kind, drawn)
    levels = [whole(pyramid, level) for level in range(pyramid.geometry.depth + 1)]
    for coarse, fine in pairwise(levels):
        count = squares(fine["seen"], 2, 0).sum(dim=-1)
        total = squares(fine["sum"].clamp(min=0), 2, 0).sum(dim=-1)
        assert torch.equal(coarse["seen"], count)
        torch.testing.assert_close(coarse["sum"], total.masked_fill(count == 0, HIDDEN), rtol=1e-6, atol=0)
        torch.testing.assert_close(coarse["mean"] * count, total.where(count > 0, -0.0), rtol=1e-6, atol=0)
        assert torch.equal(coarse["max"], squares(fine["max"], 2, HIDDEN).amax(dim=-1))


@pytest.mark.parametrize("kind", ["causal", "window", "rule"])
def test_the_bars_are_the_entropy_of_the_weights_and_what_a_key_gives_in_all(kind: str, drawn: Drawn) -> None:
    tq, tk = SIZES["square"]
    plain = Pyramid(of_call(*drawn(tq, tk), KINDS[kind](tq, tk), head=1)).sides
    second = pyramid_of("square", kind, drawn).sides
    torch.testing.assert_close(second.entropy, plain.entropy, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(second.received, plain.received * lengths(tk), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("name", sorted(SCORINGS))
def test_the_deepest_level_is_what_mixes_gives_bit_for_bit(
    name: str, eager: bool, make_site: Callable[..., Site]
) -> None:
    site = with_lengths(make_site(name, eager=eager))
    for batch, head in ((0, 0), (1, 5)):
        pyramid = Pyramid(of_site(site, head, batch=batch, values=True))
        tile = pyramid.tile(pyramid.geometry.depth, 0, 0)
        mixes, seen = site.mixes(head, batch=batch).values, site.visible(head, batch=batch)
        assert torch.equal(tile.values("max"), torch.where(seen, mixes, HIDDEN))
        top = largest_cells(pyramid, 3)
        assert [cell.weight for cell in top] == mixes.flatten().topk(3).values.tolist()
        assert all(cell.weight == float(mixes[cell.i, cell.j]) for cell in top)


def test_the_largest_cells_are_those_of_the_stretched_grid(small: int, drawn: Drawn) -> None:
    pyramid = pyramid_of("square", "causal", drawn)
    every = pyramid.head.weights(slice(0, 613), slice(0, 613))
    assert [cell.weight for cell in largest_cells(pyramid, 40)] == every.flatten().topk(40).values.tolist()


def test_a_value_that_is_no_number_does_not_reach_rows_that_do_not_see_it(drawn: Drawn) -> None:
    tq, tk = SIZES["square"]
    broken = lengths(tk)
    broken[300] = torch.inf
    broken[400] = torch.nan
    pyramid = Pyramid(mixed(of_call(*drawn(tq, tk), KINDS["causal"](tq, tk), head=1), broken))
    tile = pyramid.tile(pyramid.geometry.depth, 0, 1).values("max")
    assert torch.equal(tile[:, 300 - SIDE] == HIDDEN, torch.arange(SIDE) < 300)
    assert not tile[:, 400 - SIDE].isnan().any()
    below = pyramid.tile(pyramid.geometry.depth, 1, 1).values("max")
    assert below[400 - SIDE :, 400 - SIDE].isnan().all() and not below[: 400 - SIDE].isnan().any()


def test_both_pictures_of_a_head_are_kept_apart(make_site: Callable[..., Site]) -> None:
    maps = Maps([with_lengths(make_site())])
    first, second = maps.pyramid(0, 1), maps.pyramid(0, 1, values=True)
    assert first is not second
    assert maps.pyramid(0, 1) is first and maps.pyramid(0, 1, values=True) is second
    assert first.head.lengths is None and second.head.lengths is not None


def test_lengths_that_are_not_known_are_said_with_their_reason(make_site: Callable[..., Site]) -> None:
    site = make_site()
    with pytest.raises(NotKept, match=r"layers.* has no lengths of values: the recording is from before"):
        of_site(site, 1, values=True)
    head = of_site(site, 1)
    with pytest.raises(ShapeError, match=r"lengths is \(3,\). One number for each key"):
        mixed(head, torch.ones(3))


@pytest.mark.parametrize("seed", range(3))
def test_a_block_of_a_model_is_softmax_times_the_length_of_v_w_o_in_float64(seed: int) -> None:
    torch.manual_seed(seed)
    layer = CausalSelfAttention(24, 3)
    with record(layer) as recording, torch.no_grad():
        layer(torch.randn(1, 701, 24).mul(2))
    site, head = recording.site(0), 2
    q, k, v = (one[0, head].double() for one in (site.q, site.k, site.v))
    dv = v.shape[-1]
    w_o = layer.out.weight.detach().double()[:, head * dv : (head + 1) * dv]
    scores = (q @ k.T / q.shape[-1] ** 0.5).masked_fill(torch.ones(701, 701).triu(1).bool(), -torch.inf)
    exact = scores.softmax(-1) * (v @ w_o.T).norm(dim=-1)
    i = int(torch.randint(0, 701 - 64, ()))
    j = int(torch.randint(0, i + 1, ()))
    rows, cols = slice(i, i + 64), slice(j, j + 64)
    part = part_of(Pyramid(of_site(site, head, values=True)), rows, cols)
    assert part.cells == 1 and part.values.shape == (64, 64)
    torch.testing.assert_close(part.values.double().clamp(min=0), exact[rows, cols], rtol=5e-5, atol=1e-8)
    assert torch.equal(part.values == HIDDEN, exact[rows, cols] == 0)
    assert float(exact[rows, cols].amax()) > 1e-3
