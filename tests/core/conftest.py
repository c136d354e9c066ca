"""What the tests of the mechanism share: small inputs whose sizes are different primes, and every path to
`out`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

import jaxtyping
import pytest
import torch
from torch import Tensor

from attnscope.core import walk
from attnscope.core.attention import attention
from attnscope.core.dense import steps
from attnscope.core.engine import using
from attnscope.core.mask import Mask
from attnscope.core.native.library import Library, library
from attnscope.core.scoring import Scoring, as_scoring
from attnscope.core.tiled import by_tiles

OutOf = Callable[[Tensor, Tensor, Tensor, Scoring | Mask | None], Tensor]


class Inputs(NamedTuple):
    q: Tensor
    k: Tensor
    v: Tensor


def engines_here() -> list[str]:
    """The torch engine, and the native one where it was compiled and ATTNSCOPE_ENGINE does not say torch."""
    native = isinstance(library(), Library) and os.environ.get("ATTNSCOPE_ENGINE") != "torch"
    return ["torch", "native"] if native else ["torch"]


@pytest.fixture(scope="module", params=engines_here())
def each_engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every engine in turn."""
    with using(request.param):
        yield request.param


@pytest.fixture
def make() -> Callable[..., Inputs]:
    """q (b h tq d), k (b hk tk d) and v (b hk tk dv) from a normal distribution."""

    def inputs(
        b: int = 2, h: int = 6, hk: int | None = None, tq: int = 13, tk: int | None = None, d: int = 5, dv:
        int = 3, *, dtype: torch.dtype = torch.float32, seed: int = 7,
    ) -> Inputs:  # fmt: skip
        hk, tk = h if hk is None else hk, tq if tk is None else tk
        draw = torch.Generator().manual_seed(seed)
        shapes = ((b, h, tq, d), (b, hk, tk, d), (b, hk, tk, dv))
        return Inputs(
            *(torch.randn(shape, generator=draw, dtype=torch.float64).to(dtype) for shape in shapes)
        )

    return inputs


@pytest.fixture
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of 5 rows and 6 columns, so that small inputs take several each way."""
    monkeypatch.setattr(walk, "TILE_ROWS", 5)
    monkeypatch.setattr(walk, "LEAST_COLUMNS", 6)
    monkeypatch.setattr(walk, "TILE_CELLS", 1)
    monkeypatch.setattr(walk, "SHORT_GAP", 0)


@pytest.fixture(params=["dense", "tiles", "attention"])
def out_of(request: pytest.FixtureRequest, small_tiles: None) -> OutOf:
    """Every way to `out`: the grid, our tiles, and the face that chooses."""

    def tiles(q: Tensor, k: Tensor, v: Tensor, scoring: Scoring | Mask | None = None) -> Tensor:
        return by_tiles(as_scoring(scoring).bind(q, k), v)

    def dense(q: Tensor, k: Tensor, v: Tensor, scoring: Scoring | Mask | None = None) -> Tensor:
        return steps(q, k, v, scoring).out

    def native(q: Tensor, k: Tensor, v: Tensor, scoring: Scoring | Mask | None = None) -> Tensor:
        return attention(q, k, v, scoring)

    paths: dict[str, OutOf] = {"dense": dense, "tiles": tiles, "attention": native}
    return paths[request.param]


@pytest.fixture
def as_a_user() -> Iterator[None]:
    """Without the shape checks of the test run, so that our own sentences are what is seen."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
