"""The walk: its steps, what they are made of, and what they say where a row is unusual."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
import torch

from attnscope.errors import LessonError
from attnscope.lesson.walk import Sheet, evaluate, first_sheet, walk
from attnscope.lesson.walk.rules import RULES, operands
from attnscope.lesson.walk.sheet import Edit
from tests.lesson.walk.sheets import sheet as random_sheet


def texts(sheet: Sheet, query: int, stage: str) -> list[str]:
    return [step.text for step in walk(sheet, query).steps if step.stage == stage]


@pytest.mark.parametrize("seed", range(0, 60, 5))
def test_n_words_make_6_n_and_5_steps_in_six_stages(seed: int) -> None:
    sheet = random_sheet(seed)
    steps = walk(sheet, sheet.n - 1).steps
    n = sheet.n
    assert list(Counter(step.stage for step in steps).items()) == [
        ("project", 3), ("score", n), ("scale", n), ("mask", n), ("normalise", 2 * n + 1), ("mix", n + 1),
    ]  # fmt: skip
    assert [step.number for step in steps] == list(range(1, 6 * n + 6))
    for step in steps:
        assert 1 <= step.index <= step.of
        assert step.text.strip() == step.text
        assert step.text.endswith(".")
        assert "{" not in step.text or "{i}" in sheet.words


@pytest.mark.parametrize("seed", range(0, 60, 5))
def test_every_number_of_the_row_is_the_result_of_one_step(seed: int) -> None:
    sheet = random_sheet(seed)
    i = sheet.n // 2
    made = Counter(ref for step in walk(sheet, i).steps for ref in step.results)
    assert set(made.values()) == {1}
    n, d = sheet.n, sheet.d
    for grid in ("products", "scaled", "scores", "exps", "weights"):
        assert all((grid, (i, j)) in made for j in range(n))
    assert all(("parts", (i, j, c)) in made for j in range(n) for c in range(d))
    assert all(("out", (i, c)) in made for c in range(d))
    assert all((grid, (j, c)) in made for grid in "kv" for j in range(n) for c in range(d))
    assert ("sums", (i,)) in made


def test_every_operand_of_a_step_is_an_input_or_the_result_of_an_earlier_step() -> None:
    for causal in (False, True):
        made = {("q", (i, c)) for i in range(4) for c in range(2)}
        for step in walk(replace(first_sheet(), causal=causal), 2).steps:
            for ref in step.operands:
                assert ref in made or ref[0] not in RULES, (step.name, ref)
            made |= set(step.results)


def test_a_number_is_traced_to_what_it_came_from() -> None:
    values = evaluate(replace(first_sheet(), causal=True, edited=(Edit("k", 1, 0, 1.0),)))
    assert operands(values, ("products", (2, 1))) == [
        ("q", (2, 0)), ("k", (1, 0)), ("q", (2, 1)), ("k", (1, 1)),
    ]  # fmt: skip
    assert operands(values, ("k", (1, 0))) == []
    assert operands(values, ("k", (1, 1)))[:2] == [("x", (1, 0)), ("wk", (0, 1))]
    assert operands(values, ("scores", (2, 3))) == []
    assert operands(values, ("weights", (2, 1))) == [("exps", (2, 1)), ("sums", (2,))]
    assert operands(values, ("out", (2, 0))) == [("parts", (2, j, 0)) for j in range(4)]
    assert operands(values, ("x", (0, 0))) == []


def test_a_row_far_from_0_is_moved_by_its_largest_score_and_the_weights_stay() -> None:
    sheet = replace(first_sheet(), wk=((0.0, 40.0), (80.0, 0.0), (20.0, 20.0), (0.0, 20.0)))
    values = evaluate(sheet)
    assert values.at("shifts", 2) == values.at("peaks", 2) == pytest.approx(160 / 2**0.5)
    assert values.at("gaps", 2, 1) == 0
    shares = values.grids["exps"] / values.grids["sums"][:, None]
    torch.testing.assert_close(shares, values.grids["weights"], atol=1e-15, rtol=1e-12)
    first = texts(sheet, 2, "normalise")[0]
    assert first.startswith(
        "The row’s largest score, 113.14, is far from 0. It is first taken from every score, "
        "which leaves the weights as they are. e to the power −113.1371 is 7.3e−50."
    )
    assert ("scores", (2, 1)) in operands(values, ("exps", (2, 0)))


def test_a_score_within_30_of_0_is_raised_as_it_is() -> None:
    values = evaluate(replace(first_sheet(), wk=((0.0, 1.0), (21.0, 0.0), (0.5, 0.5), (0.0, 0.5))))
    assert values.at("shifts", 2) == 0
    assert values.at("exps", 2, 1) == pytest.approx(
        torch.tensor(42 / 2**0.5, dtype=torch.float64).exp().item()
    )


def test_a_visible_weight_too_small_to_keep_is_said_to_be_visible() -> None:
    sheet = replace(first_sheet(), wk=((0.0, 1.0), (2000.0, 0.0), (0.5, 0.5), (0.0, 0.5)))
    said = texts(sheet, 2, "normalise")
    assert said[0].endswith(
        "is smaller than any number kept here, so it counts as 0, although the is visible."
    )
    assert said[5] == "0 ÷ 1 is too small to keep: the is visible, and gets 0 all the same."


def test_the_rounded_weights_of_a_row_need_not_make_1_and_the_walk_says_so() -> None:
    assert texts(first_sheet(), 2, "normalise")[-1].endswith(
        "The weights of the row add up to 1; rounded one by one, as they stand here, they make 1.001."
    )
    assert texts(replace(first_sheet(), causal=True), 1, "normalise")[-1].endswith(
        "The weights of the row add up to 1."
    )


def test_a_cell_typed_in_is_said_to_be_loose() -> None:
    sheet = replace(first_sheet(), edited=(Edit("q", 2, 0, 3.0), Edit("k", 0, 0, 1.0), Edit("k", 3, 0, 1.0)))
    query, keys, values = texts(sheet, 2, "project")
    assert query == "sat’s query was typed in by hand: [3, 0]. The typed numbers no longer follow X and Wq."
    assert keys.endswith("Typed in by hand: the and down; those numbers no longer follow X and Wk.")
    assert "Typed" not in values
    assert "Typed" not in texts(sheet, 0, "project")[0]


def test_without_the_scale_the_walk_says_that_nothing_is_divided() -> None:
    sheet = replace(first_sheet(), scale=False)
    assert texts(sheet, 2, "scale")[1] == "The scale is off: nothing is divided, and cat’s score is 4."
    assert not any(step.ask for step in walk(sheet, 2).steps if step.stage == "scale")


def test_a_hidden_key_is_never_asked_about() -> None:
    for step in walk(replace(first_sheet(), causal=True), 0).steps:
        if step.guess and step.guess[0] in ("exps", "weights", "parts"):
            assert step.guess[1][1] == 0


def test_a_guess_is_the_first_result_of_its_step_and_has_a_question() -> None:
    for step in walk(first_sheet(), 2).steps:
        assert bool(step.ask) == (step.guess is not None)
        if step.guess:
            assert step.guess == step.results[0]
            assert step.ask.endswith("?")


@pytest.mark.parametrize("query", [-1, 4, 1.0, True, None])
def test_a_query_that_is_no_position_is_refused(query: int) -> None:
    with pytest.raises(LessonError, match=r"There is no word at position .*\. 0 to 3 is wanted"):
        walk(first_sheet(), query)
