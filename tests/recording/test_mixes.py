"""Weight times the length of the value: blocks held against the whole grid of vectors."""
# ruff: noqa: F811 - fixtures of another conftest are arguments here

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from attnscope import record
from attnscope.errors import NotKept, ShapeError
from tests.listen.conftest import inputs, plain, tiny  # noqa: F401 - fixtures

T = 19


def by_hand(weights: Tensor, v: Tensor, part: Tensor) -> Tensor:
    """(r c): the length of every weighed value as a vector of its own."""
    vectors = weights[:, :, None].double() * v[None].double()  # (r c dv)
    return (vectors @ part.T.double()).norm(dim=-1)


@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("heads", [None, [1, 5]])
def test_a_block_is_that_of_the_whole_grid_of_vectors(
    tiny: Callable[..., Any],
    inputs: Callable[..., Any],
    given: bool,
    heads: Any,
) -> None:
    model = tiny("llama", dtype=torch.float64)  # 6 query heads on 2 key heads
    with torch.no_grad(), record(model, heads=heads) as recording:
        model(**inputs("llama", t=T))
    site = recording.site(1)
    weight = model.model.layers[1].self_attn.o_proj.weight.detach()
    for head in heads or (0, 3, 5):
        found = site.mixes(head, slice(4, 17), slice(2, 9), batch=1, projection=weight if given else None)
        assert found.through == (None if given else "model.layers.1.self_attn.o_proj")
        v = site.v[1, site.head_at(head) // (1 if heads else 3), 2:9]
        part = weight[:, head * 8 : head * 8 + 8]
        wanted = by_hand(site.weights(head, slice(4, 17), slice(2, 9), batch=1), v, part)
        torch.testing.assert_close(found.values, wanted, rtol=0 if given else 1e-6, atol=1e-14)
        assert (found.values == 0).equal(~site.visible(head, slice(4, 17), slice(2, 9), batch=1))


def test_all_that_heads_add_is_made_of_these_vectors(plain: Callable[..., Any]) -> None:
    """Of a single visible key the mix is the length of what the head adds to the stream."""
    model, x = plain().double(), torch.randn(1, T, 40, dtype=torch.float64)
    with torch.no_grad(), record(model, keep="all") as recording:
        model(x)
    site, weight = recording.site(0), model.blocks[0].proj.weight.detach()
    for head in range(5):
        added = site.out[0, head, 0] @ weight[:, head * 8 : head * 8 + 8].T
        found = site.mixes(head, 0, 0, projection=weight).values
        assert float(found) == pytest.approx(float(added.norm()), rel=1e-12)


def test_what_does_not_fit_or_was_not_kept_is_refused(plain: Callable[..., Any]) -> None:
    model, x = plain(), torch.randn(1, T, 40)
    with torch.no_grad(), record(model, keep="qk") as recording:
        model(x)
    with pytest.raises(NotKept, match="v of"):
        recording.site(0).mixes(0, projection=torch.zeros(40, 40))
    with torch.no_grad(), record(model) as recording:
        model(x)
    with pytest.raises(
        ShapeError, match=r"The projection is \(40, 8\)\. \(n, 40\): the weight.*5 heads of 8"
    ):
        recording.site(0).mixes(0, projection=torch.zeros(40, 8))
