"""What is drawn from a seed is the same, whoever else draws meanwhile."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import torch
from torch import Tensor

from attnscope.gpt.chance import drawing


def drawn(seed: int) -> Tensor:
    with drawing(seed):
        return torch.cat([torch.randn(5) for _ in range(300)])


def test_threads_that_draw_at_once_do_not_mix_their_numbers() -> None:
    alone = [drawn(seed) for seed in range(4)]
    start = Barrier(4)

    def together(seed: int) -> Tensor:
        start.wait()
        return drawn(seed)

    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            assert all(torch.equal(*both) for both in zip(pool.map(together, range(4)), alone, strict=True))


def test_the_generator_is_as_it_was() -> None:
    before = torch.get_rng_state()
    drawn(3)
    assert torch.equal(torch.get_rng_state(), before)
