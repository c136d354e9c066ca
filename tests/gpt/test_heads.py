"""Untrained and trained heads of the same model on the same line: section 9 of the lesson."""

from __future__ import annotations

import pytest
import torch

from attnscope.gpt import GPT, load_shipped
from attnscope.gpt.presets import PRESETS
from attnscope.nn.heads import join_heads
from tests.gpt.tiny import small

LINE = "ROMEO:\nBut, soft! what light"


def last_rows(model: GPT) -> torch.Tensor:
    """The largest weight of the last row of each head, (layers heads)."""
    ids = torch.tensor([model.tokenizer.encode(LINE)])
    return torch.stack([seen.weights[0, :, -1].amax(-1) for seen in model.steps(ids)])


def test_the_line_has_28_characters() -> None:
    assert len(LINE) == 28


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_an_untrained_head_is_a_triangle_with_a_largest_weight_several_times_the_even_share(
    seed: int,
) -> None:
    tokenizer = load_shipped("lesson").tokenizer
    model = GPT(PRESETS["lesson"].config(65), tokenizer, seed=seed)
    for seen in model.steps(torch.tensor([tokenizer.encode(LINE)])):
        assert seen.weights.shape == (1, 4, 28, 28)
        assert not seen.weights.triu(1).any()
    assert last_rows(model).max() > 3 / 28
    assert last_rows(model).median() < 8 / 28


def test_the_same_model_trained_looks_harder() -> None:
    trained = load_shipped("lesson")
    untrained = GPT(trained.config, trained.tokenizer, seed=1)
    assert last_rows(trained).median() > 1.5 * last_rows(untrained).median()


@pytest.mark.parametrize("style", ["lesson", "lesson-no-positions", "laptop"])
def test_the_steps_are_those_of_the_forward_pass(style: str) -> None:
    model, ids = small(style), torch.tensor([[0, 3, 1, 6, 2, 5, 4]])
    outs: list[torch.Tensor] = []
    for layer in model.layers:
        projection = layer.attention.out if style.startswith("lesson") else layer.attention.out_proj
        projection.register_forward_pre_hook(lambda module, args: outs.append(args[0]))
    model(ids)
    found = model.steps(ids)
    assert len(found) == 2
    for step, out in zip(found, outs[:2], strict=True):
        torch.testing.assert_close(join_heads(step.out), out, rtol=0, atol=1e-13)
