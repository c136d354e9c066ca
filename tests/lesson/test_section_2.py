"""Section 2, four words by hand: every figure, without a mask, under a causal one, and after an edit."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch

from attnscope import lesson
from attnscope.core.dense import steps
from attnscope.core.masks import causal
from attnscope.errors import LessonError
from attnscope.lesson.four_words import FourWords, of_sheet
from attnscope.lesson.walk import Sheet, change, first_sheet, walk
from attnscope.lesson.walk.sheet import Edit

WORDS = ("the", "cat", "sat", "down")
Q = [[0, 1], [0, 1], [2, 0], [2, 0.5]]
K = [[0, 1], [2, 0], [0.5, 0.5], [0, 0.5]]
V = [[1, 0], [0, 1], [1, 1], [0.5, 0.5]]
PRODUCTS = [[1, 0, 0.5, 0.5], [1, 0, 0.5, 0.5], [0, 4, 1, 0], [0.5, 4, 1.25, 0.25]]
WEIGHTS = [[0.345, 0.170, 0.242, 0.242]] * 2 + [[0.048, 0.808, 0.097, 0.048], [0.065, 0.771, 0.110, 0.054]]
OUTPUTS = [[0.709, 0.534], [0.709, 0.534], [0.168, 0.928], [0.202, 0.908]]
CAUSAL_WEIGHTS = [[1, 0, 0, 0], [0.670, 0.330, 0, 0], [0.050, 0.848, 0.102, 0], [0.065, 0.771, 0.110, 0.054]]
CAUSAL_OUTPUTS = [[1, 0], [0.670, 0.330], [0.152, 0.950], [0.202, 0.908]]
CATS_KEY = (Edit("k", 1, 0, 0.0), Edit("k", 1, 1, 2.0))


@pytest.fixture(scope="module")
def four() -> FourWords:
    found: FourWords = lesson.four_words()
    return found


def rounded(grid: torch.Tensor) -> list[list[float]]:
    return [[round(x, 3) for x in row] for row in grid.tolist()]


def test_the_queries_keys_and_values_are_x_times_the_matrices(four: FourWords) -> None:
    assert four.words == WORDS
    assert four.walk.sheet.x == tuple(tuple(row) for row in torch.eye(4).tolist())
    for grid, wanted, matrix in ((four.q, Q, "wq"), (four.k, K, "wk"), (four.v, V, "wv")):
        assert grid.tolist() == wanted
        assert [list(row) for row in getattr(four.walk.sheet, matrix)] == wanted


def test_two_loops_and_one_matrix_product_give_the_same_16_numbers(four: FourWords) -> None:
    assert four.products.tolist() == PRODUCTS
    assert torch.equal(four.loops, four.products)
    assert four.products.numel() == 16
    assert four.tables()[1].note == "Two loops and one matrix product give the same 16 numbers."


def test_the_weights_of_every_word_to_three_places(four: FourWords) -> None:
    assert rounded(four.weights) == WEIGHTS


def test_the_outputs_of_every_word_to_three_places(four: FourWords) -> None:
    assert rounded(four.outputs) == OUTPUTS


def test_the_causal_weights_and_outputs_to_three_places(four: FourWords) -> None:
    assert rounded(four.causal_weights) == CAUSAL_WEIGHTS
    assert rounded(four.causal_outputs) == CAUSAL_OUTPUTS


def test_down_looks_at_the_same_words_with_and_without_the_mask(four: FourWords) -> None:
    assert torch.equal(four.causal_weights[3], four.weights[3])


def test_masked_scores_are_minus_infinity_and_their_weights_exactly_0() -> None:
    values = lesson.four_words(causal=True).walk.values
    hidden = torch.ones(4, 4).triu(1) > 0
    assert (values.grids["scores"][hidden] == -torch.inf).all()
    assert (values.grids["exps"][hidden] == 0).all()
    assert (values.grids["weights"][hidden] == 0).all()
    assert (values.grids["weights"][~hidden] > 0).all()


def test_every_row_of_weights_sums_to_1(four: FourWords) -> None:
    for grid in (four.weights, four.causal_weights):
        torch.testing.assert_close(grid.sum(-1), torch.ones(4, dtype=torch.float64), atol=1e-15, rtol=0)


def test_the_numbers_are_those_of_cores_steps_in_one_call(four: FourWords) -> None:
    q, k, v = (torch.tensor(rows, dtype=torch.float64)[None, None] for rows in (Q, K, V))
    for scoring, weights, outputs in (
        (None, four.weights, four.outputs),
        (causal(), four.causal_weights, four.causal_outputs),
    ):
        found = steps(q, k, v, scoring)
        torch.testing.assert_close(weights, found.weights[0, 0], atol=1e-15, rtol=0)
        torch.testing.assert_close(outputs, found.out[0, 0], atol=1e-15, rtol=0)


def test_under_the_mask_cats_key_0_2_gives_sats_weights_248_248_503_0_and_output_752_752() -> None:
    sheet = replace(first_sheet(), causal=True, edited=CATS_KEY)
    values = walk(sheet, 2).values
    assert rounded(values.grids["weights"])[2] == [0.248, 0.248, 0.503, 0]
    assert values.at("weights", 2, 3) == 0
    assert rounded(values.grids["out"])[2] == [0.752, 0.752]


def test_the_edit_of_cats_key_is_said_in_words() -> None:
    before = replace(first_sheet(), causal=True)
    after = replace(before, edited=CATS_KEY)
    assert change(before, after, 2) == (
        "cat’s key is now [0, 2] (was [2, 0]). What was typed in no longer follows X and Wk. "
        "sat now looks mostly at itself."
    )
    assert change(after, before, 2) == (
        "cat’s key is now [2, 0] (was [0, 2]). It follows X and Wk again. sat now looks mostly at cat."
    )


def test_an_edited_x_recomputes_what_follows_it_and_not_what_was_typed_in() -> None:
    x = [[1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    free = lesson.four_words(x=x)
    assert free.k[1].tolist() == [4, 0]
    assert of_sheet(replace(free.walk.sheet, edited=CATS_KEY)).k[1].tolist() == [0, 2]
    assert of_sheet(replace(free.walk.sheet, edited=CATS_KEY)).q[1].tolist() == [0, 2]


def test_a_repeated_word_shares_its_row_of_x() -> None:
    found = lesson.four_words(words=("the", "cat", "the", "cat", "sat"))
    assert len(found.walk.sheet.x) == 3
    assert torch.equal(found.q[0], found.q[2])
    assert torch.equal(found.weights[1], found.weights[3])


def test_q_k_and_v_can_be_given_instead_of_projected() -> None:
    found = lesson.four_words(q=torch.tensor([[1.0, 1.0]] * 4), k=K, v=[[3, 0]] * 4)
    assert found.products[0].tolist() == [1, 2, 1, 0.5]
    assert found.outputs[:, 0].tolist() == pytest.approx([3] * 4)
    assert len(found.walk.sheet.edited) == 24


def test_without_the_scale_the_products_are_the_scores() -> None:
    values = lesson.four_words(scale=False).walk.values
    assert torch.equal(values.grids["scores"], torch.tensor(PRODUCTS, dtype=torch.float64))


def test_the_walk_of_sat_has_29_steps_and_ends_in_its_output_and_the_residual_stream(four: FourWords) -> None:
    assert [step.number for step in four.walk.steps] == list(range(1, 30))
    assert four.walk.steps[-1].text == (
        "The parts add up to sat’s output, [.168, .928]. cat’s value [0, 1] has .808 of the weight. "
        "In a transformer this output is projected and added to sat’s residual stream."
    )


def test_the_tables_hold_every_figure_of_the_section(four: FourWords) -> None:
    qkv, products, weights, masked, outputs, said = four.tables()
    assert qkv.rows[3] == ("down", "[2, .5]", "[0, .5]", "[.5, .5]")
    assert products.rows[3] == ("down", ".5", "4", "1.25", ".25")
    assert weights.rows[2] == ("sat", ".048", ".808", ".097", ".048")
    assert masked.rows[2] == ("sat", ".050", ".848", ".102", "0")
    assert outputs.rows[2] == ("sat", "[.168, .928]", "[.152, .950]")
    assert len(said.rows) == 29


def test_the_figure_holds_both_grids_of_weights(four: FourWords) -> None:
    free, masked = four.plot().axes
    drawn = torch.tensor(free.images[0].get_array().filled(torch.nan))  # type: ignore[union-attr]
    assert torch.equal(drawn, four.weights)
    drawn = torch.tensor(masked.images[0].get_array().filled(torch.nan))  # type: ignore[union-attr]
    assert torch.equal(drawn.nan_to_num(0.0), four.causal_weights)
    assert [label.get_text() for label in free.get_yticklabels()] == list(WORDS)


def test_the_data_is_json_and_holds_the_recipe_the_sheet_and_the_steps(four: FourWords) -> None:
    data = json.loads(json.dumps(four.to_dict(), allow_nan=False))
    assert Sheet.from_dict(data["sheet"]) == first_sheet()
    assert data["steps"][4]["text"] == "How well does sat’s query fit cat’s key? 2 × 2 + 0 × 0 = 4."
    assert data["recipe"]["rules"]["out"] == ["sum", "j", ["parts", "i", "j", "c"]]
    assert data["weights"][2][1] == pytest.approx(0.808, abs=5e-4)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"words": ("the",)}, "The sheet has 1 words"),
        ({"words": tuple("abcdefghi")}, "The sheet has 9 words"),
        ({"words": ("the", "")}, "An empty word"),
        ({"x": [[1, 0], [0, 1]]}, "x has 2 rows of 2 numbers"),
        ({"wq": [[1, float("inf")]] * 4}, "wq[0][1] is inf"),
        ({"q": [[1.0, 2.0]] * 5}, "q is 5 by 2"),
        ({"k": "nonsense"}, "k is 'nonsense'"),
        ({"query": 4}, "There is no word at position 4"),
    ],
)
def test_what_is_no_sheet_is_refused_with_a_reason(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(LessonError) as caught:
        lesson.four_words(**wrong)
    assert caught.value.what == said
    assert caught.value.wanted
