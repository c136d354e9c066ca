"""The replay of an eager model's steps: the same bits as the whole product, from blocks of whole rows."""

from __future__ import annotations

import pytest
import torch

from attnscope.core.arithmetic import Arithmetic
from attnscope.core.masks import causal
from attnscope.core.replay import replay, replay_head, row_blocks
from attnscope.core.scoring import Scoring

SPLITS = [
    (0, []), (1, [1]), (15, [15]), (16, [16]), (23, [23]), (32, [16, 16]), (33, [16, 17]), (47, [16, 31]),
    (48, [16, 16, 16]),
]  # fmt: skip


@pytest.mark.parametrize(("tq", "sizes"), SPLITS)
def test_blocks_start_at_sixteens_and_none_is_short(tq: int, sizes: list[int]) -> None:
    blocks = list(row_blocks(tq))
    assert [rows.stop - rows.start for rows in blocks] == sizes
    assert all(rows.start % 16 == 0 for rows in blocks)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_head_from_any_rows_is_that_of_the_model(dtype: torch.dtype) -> None:
    b, t, h, hk, d = 2, 61, 6, 2, 16
    q, k = ((2 * torch.randn(b, t, n, d)).to(dtype).transpose(1, 2) for n in (h, hk))
    scores = q @ k.repeat_interleave(h // hk, dim=1).transpose(2, 3) * d**-0.5
    hidden = torch.ones(t, t, dtype=torch.bool).triu(1)
    model = torch.softmax(scores.masked_fill(hidden, torch.finfo(dtype).min), -1, dtype=torch.float32).to(
        dtype
    )
    how = Arithmetic(products=dtype, scores=dtype, softmax=torch.float32, weights=dtype)
    bound = Scoring(causal(), arithmetic=how).bind(q, k)
    assert torch.equal(torch.cat([replay(bound, rows) for rows in row_blocks(t)], dim=2), model)
    for rows in (slice(0, t), slice(5, 6), slice(15, 17), slice(60, 61), slice(40, 61)):
        for reach in ("head", "call"):
            ours = replay_head(bound, rows, 4, batch=1, reach=reach)
            assert torch.equal(ours, model[1, 4, rows].float())
    assert replay_head(bound, slice(7, 7), 0).shape == (0, t)
