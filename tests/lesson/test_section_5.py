"""Section 5, many heads: the split that loses nothing, and two heads that were designed by hand."""

from __future__ import annotations

import json

import pytest
import torch

from attnscope import lesson
from attnscope.errors import LessonError, ShapeError
from attnscope.lesson.designed import DesignedHeads
from attnscope.lesson.many_heads import Split
from attnscope.nn.heads import join_heads, split_heads


@pytest.fixture(scope="module")
def split() -> Split:
    found: Split = lesson.split()
    return found


@pytest.fixture(scope="module")
def designed() -> DesignedHeads:
    found: DesignedHeads = lesson.designed_heads()
    return found


def test_1_10_64_seen_as_4_heads_is_1_4_10_16_and_back_bit_for_bit(split: Split) -> None:
    assert split.queries.shape == (1, 10, 64)
    assert split.heads.shape == (1, 4, 10, 16)
    assert split.joined.shape == (1, 10, 64)
    assert split.lossless
    assert torch.equal(split.joined, split.queries)
    assert split.heads.untyped_storage().nbytes() >= split.queries.numel() * 4


def test_head_h_holds_the_numbers_16_h_to_16_h_plus_15_of_the_projection(split: Split) -> None:
    for head in range(4):
        assert torch.equal(split.heads[0, head], split.queries[0, :, 16 * head : 16 * (head + 1)])


def test_any_width_is_seen_as_heads_and_back() -> None:
    for heads, width, tokens in ((1, 7, 3), (3, 15, 2), (5, 35, 11)):
        x = torch.randn(2, tokens, width)
        assert torch.equal(join_heads(split_heads(x, heads)), x)


def test_each_head_has_10_by_10_weights_of_its_own(split: Split) -> None:
    assert split.weights.shape == (4, 10, 10)
    torch.testing.assert_close(split.weights.sum(-1), torch.ones(4, 10))
    for one in range(4):
        for other in range(one):
            assert (split.weights[one] - split.weights[other]).abs().max() > 0.01


def test_each_heads_16_numbers_depend_on_all_64_inputs(split: Split) -> None:
    assert split.influence.shape == (4, 64)
    assert split.least == split.influence.min() > 0.05


def test_a_slice_of_the_unprojected_input_depends_on_16_inputs_alone(split: Split) -> None:
    for head in range(4):
        own = torch.arange(64).div(16, rounding_mode="floor") == head
        assert split.sliced[head].bool().equal(own)


def test_the_influence_is_what_a_pushed_input_does(split: Split) -> None:
    """A perturbation of each input in turn, beside the gradient."""
    from attnscope.lesson.drawn import drawn, normal
    from attnscope.nn import CausalSelfAttention

    module = drawn(lambda: CausalSelfAttention(64, 4), seed=split.seed).double()
    token = normal(1, 10, 64, seed=split.seed + 1)[:, -1:].double()
    before = module.project(token)[0][0, :, 0]
    for at in range(64):
        pushed = token.clone()
        pushed[..., at] += 1e-3
        moved = (module.project(pushed)[0][0, :, 0] - before).norm(dim=-1) / 1e-3
        torch.testing.assert_close(moved.float(), split.influence[:, at], rtol=1e-5, atol=1e-6)


def test_head_a_row_not_has_980_on_position_2_and_the_first_token_looks_at_itself(
    designed: DesignedHeads,
) -> None:
    assert designed.words == ("to", "be", "or", "not", "to", "be")
    assert f"{designed.weights[0, 3, 2]:.3f}" == "0.980"
    assert designed.weights[0, 0].tolist() == [1, 0, 0, 0, 0, 0]


def test_head_b_row_be_has_493_on_itself_and_493_on_position_1(designed: DesignedHeads) -> None:
    assert [f"{designed.weights[1, 5, j]:.3f}" for j in (5, 1)] == ["0.493", "0.493"]


def test_no_designed_head_sees_ahead_and_every_row_sums_to_1(designed: DesignedHeads) -> None:
    for line in designed.lines:
        assert not line.weights.triu(1).any()
        torch.testing.assert_close(line.weights.sum(-1), torch.ones(line.weights.shape[:-1]))


def test_every_weight_of_the_page_is_exp_of_its_score_over_the_row_sum(designed: DesignedHeads) -> None:
    for line in designed.lines:
        for at, exp in enumerate(designed.exps):
            t = len(line.words)
            seen = torch.ones(t, t).tril()
            want = torch.where(line.matches, exp, 1.0) * seen / line.sums[at][..., None]
            torch.testing.assert_close(line.weights[at], want, rtol=1e-5, atol=1e-7)


def test_a_match_worth_nothing_spreads_a_row_evenly(designed: DesignedHeads) -> None:
    even = torch.ones(6, 6).tril() / torch.arange(1, 7)[:, None]
    torch.testing.assert_close(designed.lines[0].weights[0], even.expand(2, 6, 6))


def test_another_text_and_another_worth_come_first_and_are_offered_too() -> None:
    found = lesson.designed_heads(text="row row row", worth=2.5)
    assert found.lines[0].text == "row row row"
    assert 2.5 in found.worths and list(found.worths) == sorted(found.worths)
    assert torch.equal(found.weights, found.lines[0].weights[found.worths.index(2.5)])
    assert f"{found.weights[1, 2, 0]:.3f}" == "0.333"


def test_the_tables_hold_the_figures_of_section_5(split: Split, designed: DesignedHeads) -> None:
    shapes = [row[1] for row in split.tables()[0].rows]
    assert shapes == ["(1, 10, 64)", "(1, 4, 10, 16)", "(1, 10, 64)"]
    assert [row[1] for row in split.tables()[1].rows] == ["(10, 10)"] * 4
    assert [row[1] for row in split.tables()[2].rows] == ["64 of 64"] * 4
    a, b = designed.tables()
    assert a.rows[3][1 + 2] == ".980" and a.rows[0] == ("0 to", "1.000", *[""] * 5)
    assert b.rows[5][1 + 5] == ".493" and b.rows[5][1 + 1] == ".493"


def test_the_figures_hold_the_weights(split: Split, designed: DesignedHeads) -> None:
    for found, grids in ((split, split.weights), (designed, designed.weights)):
        pictures = [axes.images[0].get_array() for axes in found.plot().axes if axes.images]
        assert len(pictures) == len(grids)
        for picture, grid in zip(pictures, grids, strict=True):
            torch.testing.assert_close(torch.tensor(picture.filled(0)).float(), grid)


def test_section_5_is_json(split: Split, designed: DesignedHeads) -> None:
    sent = json.loads(json.dumps(designed.to_dict(), allow_nan=False))
    assert sent["lines"][0]["weights"][5][0][3][2] == pytest.approx(float(designed.weights[0, 3, 2]))
    assert json.dumps(split.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("text", "said"), [("", "has no words"), (" ", "has no words"), ("a " * 13, "has 13 words")]
)
def test_a_text_without_words_or_with_too_many_is_refused(text: str, said: str) -> None:
    with pytest.raises(LessonError, match=f"The text {said}. 1 to 12 words"):
        lesson.designed_heads(text=text)


@pytest.mark.parametrize("worth", [21.0, -21.0, float("nan"), float("inf")])
def test_a_worth_out_of_range_is_refused(worth: float) -> None:
    with pytest.raises(LessonError, match=r"worth=.* A score from -20 to 20"):
        lesson.designed_heads(worth=worth)


def test_a_split_that_cannot_be_is_refused() -> None:
    with pytest.raises(ShapeError, match="n_heads equal parts"):
        lesson.split(d_model=64, n_heads=5)
    with pytest.raises(LessonError, match=r"tokens=0. A whole number from 1 to 64"):
        lesson.split(tokens=0)
    with pytest.raises(LessonError, match=r"seed=-1"):
        lesson.split(seed=-1)


def test_drawing_leaves_pytorchs_own_random_state_alone() -> None:
    before = torch.get_rng_state()
    lesson.split()
    lesson.designed_heads()
    assert torch.equal(torch.get_rng_state(), before)
