"""The roundings of an eager model are found by the grid it returned; what nothing explains is said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from attnscope.core.masks import causal
from attnscope.core.scoring import Scoring
from attnscope.listen.arithmetic import match
from attnscope.listen.call import Call

B, H, T, D = 2, 4, 41, 16
SCALE = 0.3
Steps = Callable[[Tensor, Tensor], Tensor]


def scores_of(q: Tensor, k: Tensor) -> Tensor:
    hidden = torch.ones(T, T, dtype=torch.bool).triu(1)
    return (q @ k.transpose(2, 3) * SCALE).masked_fill(hidden, torch.finfo(q.dtype).min)


def softmax_in_float32(q: Tensor, k: Tensor) -> Tensor:
    return torch.softmax(scores_of(q, k), dim=-1, dtype=torch.float32).to(q.dtype)


def softmax_in_its_own_dtype(q: Tensor, k: Tensor) -> Tensor:
    return torch.softmax(scores_of(q, k), dim=-1)


def maximum_taken_off_first(q: Tensor, k: Tensor) -> Tensor:
    scores = scores_of(q, k)
    return torch.softmax(scores - scores.amax(dim=-1, keepdim=True), dim=-1)


def scale_on_q(q: Tensor, k: Tensor) -> Tensor:
    hidden = torch.ones(T, T, dtype=torch.bool).triu(1)
    scores = ((q * SCALE) @ k.transpose(2, 3)).masked_fill(hidden, torch.finfo(q.dtype).min)
    return torch.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)


def scores_in_float32(q: Tensor, k: Tensor) -> Tensor:
    hidden = torch.ones(T, T, dtype=torch.bool).triu(1)
    scores = (q @ k.transpose(2, 3)).float() * SCALE
    return torch.softmax(scores.masked_fill(hidden, torch.finfo(torch.float32).min), dim=-1).to(q.dtype)


def products_in_float32(q: Tensor, k: Tensor) -> Tensor:
    """GPT-J: queries and keys are widened before they meet."""
    hidden = torch.ones(T, T, dtype=torch.bool).triu(1)
    scores = torch.matmul(q.float(), k.float().transpose(2, 3)) * SCALE
    return torch.softmax(scores.masked_fill(hidden, torch.finfo(torch.float32).min), dim=-1).to(q.dtype)


def call_with(steps: Steps, dtype: torch.dtype) -> Call:
    q, k, v = ((3 * torch.randn(B, T, H, D)).to(dtype).transpose(1, 2) for _ in range(3))
    grid = steps(q, k)
    return Call(nn.Identity(), "huggingface/eager", q, k, v, grid @ v, SCALE, causal=True, grid=grid)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    ("steps", "found"),
    [
        (softmax_in_float32, {"softmax": torch.float32, "subtract_max": False, "scale_q": False}),
        (softmax_in_its_own_dtype, {"subtract_max": False}),  # on a CPU the same bits as in float32
        (maximum_taken_off_first, {"softmax": torch.bfloat16, "subtract_max": True}),
        (scale_on_q, {"softmax": torch.float32, "scale_q": True}),
        (products_in_float32, {"products": torch.float32, "scores": torch.float32}),
        (scores_in_float32, {"scores": torch.float32, "softmax": torch.float32}),
    ],
)
def test_the_steps_of_each_family_are_told_apart(
    steps: Steps, found: dict[str, object], dtype: torch.dtype
) -> None:
    matched = match(call_with(steps, dtype), Scoring(causal(), scale=SCALE, offset=0))
    assert matched.bit_exact is True and matched.reach is not None
    if dtype == torch.bfloat16:  # in float32 several of them are the same
        assert {name: getattr(matched.arithmetic, name) for name in found} == found


def test_a_grid_that_no_steps_explain_is_not_bit_exact() -> None:
    call = call_with(softmax_in_float32, torch.bfloat16)
    assert call.grid is not None
    grid = call.grid.clone()
    grid[1, 3, 40, 7] += 0.01  # one cell of the last row of the last head
    scoring = Scoring(causal(), scale=SCALE, offset=0)
    matched = match(replace(call, grid=grid), scoring)
    assert matched.bit_exact is False
    assert matched.arithmetic is not None and matched.arithmetic.softmax == torch.float32
    wrong_scale = match(call, replace(scoring, scale=SCALE * 1.02))
    assert wrong_scale.bit_exact is False


def test_without_a_grid_or_with_dropout_nothing_is_claimed() -> None:
    call = call_with(softmax_in_float32, torch.float32)
    scoring = Scoring(causal(), scale=SCALE, offset=0)
    assert match(replace(call, grid=None), scoring).bit_exact is None
    dropped = match(replace(call, dropout=0.2), scoring)
    assert dropped.bit_exact is None and dropped.arithmetic is not None and dropped.arithmetic.dropout == 0.2


def test_rows_that_see_nothing_are_left_out() -> None:
    from attnscope.core.masks import padding

    call = call_with(softmax_in_float32, torch.float32)
    assert call.grid is not None
    hidden = torch.ones(T, T, dtype=torch.bool).triu(1)
    hidden[:, :5] = True
    scores = (call.q @ call.k.transpose(2, 3) * SCALE).masked_fill(hidden, torch.finfo(torch.float32).min)
    grid = torch.softmax(scores, dim=-1)
    assert grid[0, 0, 2].eq(1 / T).all()  # the model spreads such a row over all keys
    scoring = Scoring(causal() & padding(torch.arange(T)[None].expand(B, -1) >= 5), scale=SCALE, offset=0)
    assert match(replace(call, grid=grid), scoring).bit_exact is True
