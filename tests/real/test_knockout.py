"""A trained model's induction heads matter where a text repeats itself; another head of a layer does not."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
import torch

from attnscope.knocking import Bench, Cut
from attnscope.knocking.running import _forward, text_of

from .loaders import open_model
from .test_heads import INDUCTION

HALF = 64
Measure = Callable[[str, str, str], None]


@pytest.mark.real
def test_an_induction_head_carries_the_second_copy_of_a_text(measure: Measure) -> None:
    model, _ = open_model("smollm2")
    half = torch.randint(1000, 40_000, (1, HALF), generator=torch.Generator().manual_seed(1))
    given = {"input_ids": half.repeat(1, 2)}
    bench = Bench(model, _forward(model, given), text_of(given))
    assert bench.nothing.bit_equal

    def second(*heads: tuple[int, int]) -> float:
        """How the log-probability of the tokens of the second copy changes, in the mean."""
        begun = time.perf_counter()
        found = bench.without(*(Cut(f"model.layers.{layer}.self_attn", head) for layer, head in heads))
        assert found.moved is not None and found.moved.realised is not None
        change = found.moved.realised[0]
        assert abs(float(change[: HALF - 1].mean())) < 0.1  # the first copy is nothing to be carried on
        mean = float(change[HALF - 1 : -1].mean())
        seconds = time.perf_counter() - begun
        measure(
            "smollm2 knock-out",
            str(heads[0] if len(heads) == 1 else "all five"),
            f"{mean:.2f}, {seconds:.1f} s",
        )
        return mean

    one, other, every = second((18, 6)), second((18, 2)), second(*INDUCTION)
    assert one < -1 < -0.5 < other
    assert every < 3 * one
