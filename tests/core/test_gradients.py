"""Gradients: every path has those of the grid, and hidden NaNs are in none of them. Case 29."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from attnscope.core import masks
from attnscope.core.arithmetic import Arithmetic
from attnscope.core.bias import KeyBias, RelativeBias, TensorBias
from attnscope.core.dense import steps
from attnscope.core.scoring import Scoring
from attnscope.core.tiled import by_tiles
from attnscope.errors import ScoringError

pytestmark = pytest.mark.usefixtures("as_a_user")  # finite differences call each path very often
SINKS = torch.tensor([0.3, -0.7], dtype=torch.float64)
SCORINGS: dict[str, Scoring] = {
    "full": Scoring(),
    "causal": Scoring(mask=masks.causal()),
    "window": Scoring(mask=masks.window(2)),
    "window and sink keys": Scoring(
        mask=masks.window(1)
        | masks.spans(torch.zeros(5, dtype=torch.int64), torch.ones(5, dtype=torch.int64))
    ),
    "padding": Scoring(mask=masks.padding(torch.tensor([True, False, True, True, False]))),
    "an empty row": Scoring(
        mask=masks.causal() & masks.padding(torch.tensor([False, False, True, True, True]))
    ),
    "rule": Scoring(mask=masks.rule(lambda b, h, i, j: (i + j + h) % 2 == 0)),
    "softcap": Scoring(mask=masks.causal(), softcap=0.8),
    "sinks": Scoring(mask=masks.causal(), sinks=SINKS),
    "negative scale": Scoring(mask=masks.causal(), scale=-0.4),
}


@pytest.mark.parametrize("name", SCORINGS)
def test_gradients_are_those_of_finite_differences(make, out_of, name: str) -> None:
    """Cases 1 and 29."""
    inputs = make(b=1, h=2, hk=1, tq=5, d=3, dv=2, dtype=torch.float64)
    for x in inputs:
        x.requires_grad_()
    assert gradcheck(lambda q, k, v: out_of(q, k, v, SCORINGS[name]), tuple(inputs), fast_mode=True)


@pytest.mark.parametrize("kind", ["sinks", "relative", "key", "tensor"])
def test_learned_parts_of_a_scoring_get_their_gradients(make, out_of, kind: str) -> None:
    """Case 29."""
    q, k, v = make(b=1, h=2, tq=5, d=3, dv=2, dtype=torch.float64)
    shapes = {"sinks": (2,), "relative": (2, 9), "key": (1, 2, 5), "tensor": (2, 5, 5)}
    learned = torch.randn(shapes[kind], dtype=torch.float64, requires_grad=True)

    def scoring(x: Tensor) -> Scoring:
        if kind == "sinks":
            return Scoring(mask=masks.causal(), sinks=x)
        bias = {
            "relative": lambda: RelativeBias(x, -4),
            "key": lambda: KeyBias(x),
            "tensor": lambda: TensorBias(x),
        }
        return Scoring(mask=masks.window(3), bias=bias[kind]())

    assert gradcheck(lambda x: out_of(q, k, v, scoring(x)), (learned,), fast_mode=True)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize(
    "scoring",
    [
        Scoring(mask=masks.padding(torch.arange(13) != 8)),
        Scoring(mask=masks.padding(torch.arange(13) != 8), softcap=2.0),
        Scoring(mask=masks.padding(torch.arange(13) != 8) & masks.causal()),
    ],
)
def test_a_hidden_bad_key_or_value_is_in_no_gradient(make, out_of, scoring: Scoring, bad: float) -> None:
    """Case 37: 0 * NaN would carry it into the gradient of every row."""
    inputs = make(h=6, hk=3)
    clean = gradients(out_of, inputs, scoring)
    inputs.k[:, :, 8, 0] = bad
    inputs.v[:, :, 8, 1] = bad
    for got, want in zip(gradients(out_of, inputs, scoring), clean, strict=True):
        torch.testing.assert_close(got, want)


def test_a_bad_key_that_later_rows_see_is_in_no_gradient_of_the_earlier_ones(make, out_of) -> None:
    """Case 37."""
    inputs = make()
    inputs.k[:, :, 8, 0] = math.nan
    leaves = [x.requires_grad_() for x in inputs]
    out = out_of(*leaves, masks.causal())
    got, _, _ = torch.autograd.grad(out[:, :, :8].sum(), leaves)
    assert got[:, :, :8].isfinite().all()


def test_a_second_derivative_through_tiles_is_refused_and_never_wrong(make) -> None:
    q, k, v = (x.requires_grad_() for x in make())
    out = by_tiles(Scoring(mask=masks.window(3)).bind(q, k), v)
    with pytest.raises(ScoringError, match=r"second derivative.*steps"):
        torch.autograd.grad(out.sum(), q, create_graph=True)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_gradients_come_in_the_dtype_of_their_input(make, out_of, dtype: torch.dtype) -> None:
    for gradient in gradients(out_of, make(dtype=dtype), Scoring(mask=masks.window(3))):
        assert gradient.dtype == dtype and gradient.isfinite().all()


def test_tiles_and_grid_have_the_same_gradients_where_the_model_rounds(make, out_of) -> None:
    inputs = make()
    scoring = Scoring(
        mask=masks.causal(), arithmetic=Arithmetic(scores=torch.bfloat16, weights=torch.bfloat16)
    )
    want = gradients(lambda q, k, v, s: steps(q, k, v, s).out, inputs, scoring)
    for got, right in zip(gradients(out_of, inputs, scoring), want, strict=True):
        torch.testing.assert_close(got, right, rtol=0.02, atol=0.02)


def gradients(
    out_of: Callable[..., Tensor], inputs: tuple[Tensor, ...], scoring: Scoring
) -> tuple[Tensor, ...]:
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    out = out_of(*leaves, scoring)
    draw = torch.Generator().manual_seed(1)
    pull = torch.randn(out.shape, generator=draw, dtype=torch.float64).to(out.dtype)
    return torch.autograd.grad(out, leaves, pull)
