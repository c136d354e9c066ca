"""Which operand of a product is v, and what is out, in each way of writing it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from attnscope.listen.layout import Layout
from attnscope.listen.products import mixed, operands

B, H, TQ, TK, DV = 2, 3, 5, 7, 4
P = torch.rand(B, H, TQ, TK)
V = torch.randn(B, H, TK, DV)


def flat(x: Tensor) -> Tensor:
    return x.reshape(B * H, *x.shape[2:])


Written = tuple[Callable[..., Tensor], tuple[Any, ...], int]

WRITTEN: dict[str, Written] = {
    "matmul": (torch.matmul, (P, V), 0),
    "bmm": (torch.bmm, (flat(P), flat(V)), 0),
    "one key head for all": (torch.matmul, (P, V[:, :1]), 0),
    "one batch of values": (torch.matmul, (P, V[:1]), 0),
    "three axes of values": (torch.matmul, (P, V[0]), 0),
    "transposed": (torch.matmul, (V.mT, P.mT), 1),
    "einsum": (torch.einsum, ("bhij,bhjd->bhid", P, V), 0),
    "einsum of a list": (torch.einsum, ("bnij,jbnd->ibnd", [P, V.permute(2, 0, 1, 3)]), 0),
    "einsum, values first": (torch.einsum, ("bhjd, bhij -> bihd", V, P), 1),
    "einsum, one key head for all": (torch.einsum, ("bhij,bjd->bhid", P, V[:, 0]), 0),
    "einsum, one batch of values": (torch.einsum, ("bhij,hjd->bihd", P, V[0]), 0),
    "einsum with dots": (torch.einsum, ("...ij,...jd->...id", P, V), 0),
    "einsum with folded heads": (torch.einsum, ("nij,njd->nid", flat(P), flat(V)), 0),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_values_and_out_are_found(name: str) -> None:
    function, args, at = WRITTEN[name]
    out = function(*args)
    of = operands(function, args, {})
    found = mixed(function, args, of, at, out, Layout(B, H, TQ, TK))
    assert (
        found is not None
        and found.dtype == torch.float32
        and found.v.shape[0] == B
        and found.v.shape[1] in (1, H)
    )
    torch.testing.assert_close(found.out, P @ found.v, rtol=0, atol=1e-5)


NOT: dict[str, Written] = {
    "a permutation": (torch.einsum, ("bhij->ijbh", P), 0),
    "a sum over heads": (torch.einsum, ("bhij,bhjd->bid", P, V), 0),
    "an outer product": (torch.einsum, ("bhij,bhid->bhijd", P, torch.randn(B, H, TQ, DV)), 0),
    "no arrow": (torch.einsum, ("bhij,bhjd", P, V), 0),
    "another length": (torch.matmul, (P[..., :6], V[:, :, :6]), 0),
    "a vector": (torch.matmul, (P, torch.randn(TK)), 0),
}


@pytest.mark.parametrize("name", NOT)
def test_another_product_is_none(name: str) -> None:
    function, args, at = NOT[name]
    out, of = function(*args), operands(function, args, {})
    assert mixed(function, args, of, at, out, Layout(B, H, TQ, TK)) is None


def test_axes_of_equal_length_are_those_that_the_einsum_names() -> None:
    p, v = torch.rand(B, 5, 5, TK), torch.randn(B, TK, 5, DV)
    read = Layout(B, 5, 5, TK)
    for equation, found in (("bqhk,bkhd->bqhd", False), ("bhqk,bkhd->bqhd", True)):
        args = (equation, p, v)
        one = mixed(torch.einsum, args, [p, v], 0, torch.einsum(*args), read)
        assert (one is not None) == found


def test_operands_by_keyword_are_found() -> None:
    assert [id(x) for x in operands(torch.matmul, (), {"input": P, "other": V})] == [id(P), id(V)]
