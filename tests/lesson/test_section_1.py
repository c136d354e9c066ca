"""Section 1, words without context: per-token layers against attention, and what a late word can change."""

from __future__ import annotations

import json

import pytest
import torch

from attnscope import lesson
from attnscope.core.dense import steps
from attnscope.core.masks import causal
from attnscope.errors import LessonError
from attnscope.lesson.context import Context, attended, attention_layer
from attnscope.lesson.late_word import LateWord


@pytest.fixture(scope="module")
def bank() -> Context:
    found: Context = lesson.context()
    return found


@pytest.fixture(scope="module")
def late() -> LateWord:
    found: LateWord = lesson.late_word()
    return found


def test_through_per_token_layers_the_two_vectors_of_bank_are_bit_equal(bank: Context) -> None:
    assert bank.sentences == ("the river bank", "money in the bank")
    assert bank.places == (2, 3)
    for after in zip(*bank.token_by_token, strict=True):
        assert torch.equal(after[0][2], after[1][3])
    assert bank.token_by_token_differences == (0.0, 0.0, 0.0)
    assert bank.bit_equal
    assert not torch.equal(bank.token_by_token[0][-1][2], bank.embedded[0][2])  # the layers do something


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("layers", [1, 5])
def test_they_are_bit_equal_through_any_stack_and_differ_through_attention(seed: int, layers: int) -> None:
    found = lesson.context(seed=seed, layers=layers)
    assert found.bit_equal and set(found.token_by_token_differences) == {0.0}
    assert found.bidirectional_difference > 0.01 and found.causal_difference > 0.01


def test_the_same_word_the_has_the_same_vector_too_until_attention_comes(bank: Context) -> None:
    (one, two), (i, j) = bank.token_by_token, (0, 2)
    assert bank.words[0][i] == bank.words[1][j] == "the"
    assert torch.equal(one[-1][i], two[-1][j])
    assert not torch.allclose(bank.bidirectional[0][i], bank.bidirectional[1][j])


def test_the_attention_of_section_1_is_that_of_the_dense_steps() -> None:
    torch.manual_seed(3)
    layer, x = attention_layer(8).double(), torch.randn(4, 8, dtype=torch.float64)
    for masked in (False, True):
        out, weights = attended(layer, x, causal=masked)
        found = steps(*layer.project(x[None]), causal() if masked else None)
        assert torch.equal(weights, found.weights[0, 0])
        assert torch.allclose(out, x + layer.out_proj(found.out[0, 0]), atol=1e-12)


def test_in_a_bidirectional_layer_the_last_word_changes_the_vector_of_it(late: LateWord) -> None:
    assert late.start[late.place] == "it" and late.endings == ("tired", "wide")
    assert late.bidirectional_change[late.place] > 1
    assert bool((late.bidirectional_change > 0).all())
    assert float(late.bidirectional_change[late.place]) == pytest.approx(2.059, abs=5e-4)


def test_in_a_causal_layer_the_last_word_changes_it_by_exactly_zero(late: LateWord) -> None:
    assert late.causal_change[:-1].tolist() == [0.0] * 10
    assert torch.equal(late.causal[0, :-1], late.causal[1, :-1])
    assert late.causal_change[-1] > 0
    assert late.looks_causal[:, late.place + 1 :].eq(0).all()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("width", [3, 8, 31])
def test_a_late_word_never_changes_what_stands_before_it_in_a_causal_layer(seed: int, width: int) -> None:
    found = lesson.late_word(seed=seed, width=width)
    assert found.causal_change[:-1].eq(0).all() and found.token_by_token_change[:-1].eq(0).all()
    assert found.bidirectional_change[found.place] > 0


def test_the_tables_and_figures_of_section_1_hold_these_numbers(bank: Context, late: LateWord) -> None:
    shown = [row for table in bank.tables() for row in table.rows]
    assert [row[-1] for row in shown[:4]] == ["0", "0", "0", "0"]
    assert shown[4][-1] == "1.004" == f"{bank.bidirectional_difference:.3f}"
    changes = {row[0]: row[1:] for row in late.tables()[0].rows}
    assert changes["it"] == ("0", "2.059", "0")
    axes = bank.plot().axes
    heights = [bar.get_height() for bar in axes[1].patches]
    expected = [*bank.bidirectional[0][2].tolist(), *bank.bidirectional[1][3].tolist()]
    assert heights == pytest.approx(expected)
    bars = [bar.get_height() for bar in late.plot().axes[0].patches]
    assert bars == pytest.approx([*late.bidirectional_change.tolist(), *late.causal_change.tolist()])


def test_section_1_is_json_and_leaves_the_random_state_alone() -> None:
    state = torch.get_rng_state()
    for found in (lesson.context(), lesson.late_word()):
        assert len(json.dumps(found.to_dict(), allow_nan=False)) < 40_000
    assert torch.equal(state, torch.get_rng_state())


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"sentences": ("the river bank",)}, "Two are wanted, each with the word 'bank'"),
        ({"word": "river"}, "each with the word 'river'"),
        ({"width": 0}, "width=0"),
        ({"layers": 0}, "layers=0"),
    ],
)
def test_two_sentences_with_the_word_are_asked_for(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(LessonError, match=said):
        lesson.context(**wrong)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"endings": ("tired", "tired")}, "Two different words"),
        ({"endings": ("tired",)}, "Two different words"),
        ({"endings": ("very tired", "wide")}, "Two different words"),
        ({"word": "she"}, "is not in"),
        ({"width": 0}, "width=0"),
    ],
)
def test_two_endings_and_a_word_before_them_are_asked_for(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(LessonError, match=said):
        lesson.late_word(**wrong)
