"""What is said of a row of weights must be true: mostly, equally, evenly."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from attnscope.lesson.walk import Sheet, change, evaluate, first_sheet, walk
from attnscope.lesson.walk.looking import look
from attnscope.lesson.walk.values import Values
from tests.lesson.walk.sheets import sheet as random_sheet


def row(*scores: float, causal: bool = False) -> Sheet:
    """A sheet of d = 1 and no scale in which every word's score of word j is the j-th of `scores`."""
    n = len(scores)
    words = tuple(f"w{i}" for i in range(n))
    x = [[float(r == a) for a in range(n)] for r in range(n)]
    keys = [[score] for score in scores]
    return Sheet(words, x, [[1.0]] * n, keys, [[1.0]] * n, causal=causal, scale=False)  # type: ignore[arg-type]


def said(sheet: Sheet, query: int) -> str:
    """What the sentence of an edit says of the word that asks, after the edit."""
    other = replace(sheet, words=tuple(word + "?" for word in sheet.words))
    return change(other, sheet, query).split(". ", 1)[1]


@pytest.mark.parametrize(
    ("scores", "query", "kind", "sentence"),
    [
        ((0, 3, 0), 0, "mostly", "w0 now looks mostly at w1."),
        ((0, 3, 0), 1, "mostly", "w1 now looks mostly at itself."),
        ((0, 0.3, 0), 0, "most", "w0 now looks more at w1 than at any other word."),
        ((0, 0.3, 0), 1, "most", "w1 now looks more at itself than at any other word."),
        ((1, 1, 0), 2, "equally", "w2 now looks most, and equally, at w0 and w1."),
        ((1, 1, 0, 1), 0, "equally", "w0 now looks most, and equally, at itself, w1 and w3."),
        ((4, 4, -9), 2, "equally", "w2 now looks most, and equally, at w0 and w1."),
        ((2, 2, 2, 2), 1, "even", "w1 now looks evenly at the four words it sees."),
        ((0, 0), 1, "even", "w1 now looks evenly at the two words it sees."),
        ((0, 1e-4, 0), 1, "alike", "w1 now looks about evenly at the three words it sees."),
        ((0, 0.05, 0), 1, "about",
         "w1 now looks about evenly at the three words it sees, a little more at itself."),
        ((0, 20, 0), 0, "almost", "w0 now looks almost only at w1."),
        ((0, 2000, 0), 1, "almost", "w1 now looks almost only at itself."),
    ],
)  # fmt: skip
def test_each_kind_of_row_has_its_sentence(
    scores: tuple[float, ...], query: int, kind: str, sentence: str
) -> None:
    sheet = row(*scores)
    assert look(evaluate(sheet), query).kind == kind
    assert said(sheet, query) == sentence


def test_the_first_word_under_a_mask_looks_only_at_itself() -> None:
    sheet = row(0, 5, 5, causal=True)
    assert look(evaluate(sheet), 0).kind == "only"
    assert said(sheet, 0) == "w0 now looks only at itself, the one word it sees."
    last = walk(sheet, 0).steps[-1].text
    assert last.startswith("w0 sees one word only, so that word’s value is its output, [1.000].")


def test_hidden_words_are_not_counted_among_those_that_a_row_looks_at() -> None:
    assert said(row(0, 0, 9, causal=True), 1) == "w1 now looks evenly at the two words it sees."


def test_two_words_that_look_alike_are_told_apart() -> None:
    sheet = replace(row(0, 5), words=("the", "cat", "the"))
    assert evaluate(sheet).labels == ("the first the", "cat", "the second the")
    assert said(sheet, 0) == "the first the now looks mostly at cat."


def test_a_word_that_spells_anothers_label_is_told_apart_too() -> None:
    sheet = replace(row(0, 1, 2), words=("a", "a", "the second a", "c"))
    assert evaluate(sheet).labels == ("a (word 1)", "a (word 2)", "the second a (word 3)", "c (word 4)")


@pytest.mark.parametrize("seed", range(120))
def test_mostly_is_said_only_of_more_than_half(seed: int) -> None:
    sheet = random_sheet(seed)
    values = evaluate(sheet)
    for i in range(sheet.n):
        _hold(values, i)


def _hold(values: Values, i: int) -> None:
    found = look(values, i)
    weights = values.grids["weights"][i]
    visible = weights[values.seen[i]]
    tops = weights[list(found.tops)]
    assert found.sees == int(values.seen[i].sum())
    assert tops.min() >= weights.max() - 0.001
    if found.kind == "mostly":
        assert len(found.tops) == 1
        assert weights[found.tops[0]] > 0.5
    if found.kind in ("most", "equally") and len(found.tops) == 1:
        assert tops.max() <= 0.5 + 1e-9
    if found.kind == "almost":
        assert tops.max() >= 0.9995 - 1e-9
    if found.kind in ("even", "alike"):
        torch.testing.assert_close(visible, visible.mean().expand_as(visible), atol=1e-3, rtol=0)
    if found.kind == "only":
        assert math.isclose(float(tops.max()), 1.0)


def test_the_lessons_own_rows_are_said_as_they_are() -> None:
    values = evaluate(first_sheet())
    assert [look(values, i).kind for i in range(4)] == ["most", "most", "mostly", "mostly"]
