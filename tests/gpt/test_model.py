"""The language model: its sizes, its causality, its cache."""

from __future__ import annotations

import pytest
import torch

from attnscope.errors import EmptyText, ShapeError, TextTooLong
from attnscope.gpt import GPT, CharacterTokenizer
from attnscope.gpt.presets import PRESETS
from attnscope.nn import CausalSelfAttention, MultiHeadAttention
from tests.gpt.tiny import WORDS, small

STYLES = ["lesson", "lesson-no-positions", "laptop"]


def test_the_laptop_preset_stays_under_its_budget() -> None:
    preset = PRESETS["laptop"]
    assert GPT(preset.config(65), CharacterTokenizer("".join(map(chr, range(65))))).parameter_count <= 810_000
    assert (preset.recipe.steps, preset.recipe.batch, preset.context) == (2000, 12, 64)


def test_the_lesson_preset_is_four_layers_of_the_lessons_module() -> None:
    model = GPT(PRESETS["lesson"].config(7), WORDS)
    found = [module for module in model.modules() if isinstance(module, CausalSelfAttention)]
    assert [(module.d_model, module.n_heads) for module in found] == [(64, 4)] * 4
    assert model.position is not None
    assert model.position.weight.shape == (64, 64)


def test_the_lesson_without_positions_differs_in_the_position_table_alone() -> None:
    with_table = GPT(PRESETS["lesson"].config(7), WORDS)
    without = GPT(PRESETS["lesson-no-positions"].config(7), WORDS)
    assert set(with_table.state_dict()) - set(without.state_dict()) == {"position.weight"}


def test_the_modern_style_rotates_and_normalises() -> None:
    found = [
        m for m in GPT(PRESETS["embedded"].config(7), WORDS).modules() if isinstance(m, MultiHeadAttention)
    ]
    assert [(m.n_heads, m.rotary, type(m.q_norm).__name__) for m in found] == [(6, "half", "RMSNorm")] * 6


def test_the_same_seed_gives_the_same_weights_and_leaves_the_global_generator_alone() -> None:
    torch.manual_seed(3)
    before = torch.random.get_rng_state()
    one, other, third = (GPT(PRESETS["lesson"].config(7), WORDS, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.equal(one.embedding.weight, other.embedding.weight)
    assert not torch.equal(one.embedding.weight, third.embedding.weight)


@pytest.mark.parametrize("style", STYLES)
def test_logits_depend_on_nothing_that_comes_later(style: str) -> None:
    model, ids = small(style), torch.tensor([[0, 3, 1, 6, 2, 5, 4]])
    changed = ids.clone()
    changed[0, 5] = 0
    before, after = model(ids), model(changed)
    assert before.shape == (1, 7, 7)
    torch.testing.assert_close(before[:, :5], after[:, :5], rtol=0, atol=1e-13)
    assert not torch.allclose(before[:, 5:], after[:, 5:])


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("first", range(1, 11))
def test_a_text_read_in_two_parts_gives_the_same_logits(style: str, first: int) -> None:
    model, ids = small(style), torch.tensor([[0, 3, 1, 6, 2, 5, 4, 4, 1, 0, 2]])
    caches = model.new_caches()
    parts = [model(ids[:, :first], caches=caches), model(ids[:, first:], caches=caches)]
    torch.testing.assert_close(torch.cat(parts, dim=1), model(ids), rtol=0, atol=1e-12)


def test_a_text_past_the_context_is_refused_with_both_numbers() -> None:
    model = small("lesson")
    with pytest.raises(TextTooLong, match="12 characters, and this model reads at most 11") as caught:
        model(torch.zeros(1, 12, dtype=torch.long))
    assert (caught.value.length, caught.value.limit) == (12, 11)


def test_a_cache_past_the_context_is_refused_too() -> None:
    model = small("laptop")
    caches = model.new_caches()
    model(torch.zeros(1, 9, dtype=torch.long), caches=caches)
    with pytest.raises(TextTooLong):
        model(torch.zeros(1, 3, dtype=torch.long), caches=caches)


def test_an_empty_text_and_a_flat_one_are_refused() -> None:
    with pytest.raises(EmptyText, match="At least one"):
        small("laptop")(torch.zeros(1, 0, dtype=torch.long))
    with pytest.raises(ShapeError, match=r"ids is \(3,\)\. \(batch, tokens\)"):
        small("laptop")(torch.zeros(3, dtype=torch.long))


def test_a_vocabulary_of_another_size_is_refused() -> None:
    with pytest.raises(ShapeError, match="A vocabulary of 7 characters and a model of 8"):
        GPT(PRESETS["lesson"].config(8), WORDS)
