"""Section 6, order: what attention does not know by itself, and four ways to tell it."""

from __future__ import annotations

import json
from itertools import permutations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnscope import lesson
from attnscope.errors import LessonError, MissingModel
from attnscope.lesson.order import Shuffle, WordOrder
from attnscope.lesson.rotations import Rotations
from attnscope.lesson.waves import Sinusoids

PLAIN, POSITIONS, CAUSAL = range(3)


@pytest.fixture(scope="module")
def order() -> WordOrder:
    found: WordOrder = lesson.word_order()
    return found


@pytest.fixture(scope="module")
def shuffle() -> Shuffle:
    found: Shuffle = lesson.shuffle()
    return found


@pytest.fixture(scope="module")
def waves() -> Sinusoids:
    found: Sinusoids = lesson.sinusoids()
    return found


@pytest.fixture(scope="module")
def turned() -> Rotations:
    found: Rotations = lesson.rotations()
    return found


def test_dog_bites_man_and_man_bites_dog_are_the_same_without_positions(order: WordOrder) -> None:
    assert order.sentences == ("dog bites man", "man bites dog")
    assert order.moved[PLAIN].max() < 1e-6
    assert order.moved[POSITIONS].min() > 0.05
    assert order.moved[CAUSAL].min() > 0.05
    torch.testing.assert_close(order.out[PLAIN, 1].flip(0), order.out[PLAIN, 0], rtol=0, atol=1e-6)


def test_unmasked_attention_without_positions_is_permutation_equivariant(shuffle: Shuffle) -> None:
    assert shuffle.orders.tolist() == [list(one) for one in permutations(range(5))]
    assert shuffle.moved[PLAIN].max() < 1e-6
    assert torch.equal(shuffle.by_word.amax(-1), shuffle.moved)
    first = shuffle.out[PLAIN, 0]
    for row, one in zip(shuffle.out[PLAIN], shuffle.orders, strict=True):
        torch.testing.assert_close(row, first[one], rtol=0, atol=1e-6)


def test_position_vectors_that_stay_put_change_the_outputs_of_every_order(shuffle: Shuffle) -> None:
    assert shuffle.moved[POSITIONS, 0] == 0
    assert shuffle.moved[POSITIONS, 1:].min() > 0.01


def test_the_causal_mask_itself_carries_order_and_the_argument_fails_there(shuffle: Shuffle) -> None:
    assert shuffle.moved[CAUSAL, 0] == 0
    assert shuffle.moved[CAUSAL, 1:].min() > 0.01


def test_under_the_causal_mask_the_last_token_alone_cannot_tell_an_order_before_it(shuffle: Shuffle) -> None:
    last = shuffle.orders[:, -1] == 4
    assert int(last.sum()) == 24
    ends = shuffle.out[CAUSAL][last][:, -1]
    torch.testing.assert_close(ends, ends[:1].expand_as(ends), rtol=0, atol=1e-6)


@given(st.integers(0, 10_000))
def test_the_law_of_order_holds_for_any_draw(seed: int) -> None:
    found = lesson.word_order(seed=seed)
    assert found.moved[PLAIN].max() < 5e-6
    assert found.moved[CAUSAL].max() > 1e-4


def test_cosine_of_position_10_with_10_11_15_30_60_is_as_the_lesson_says(waves: Sinusoids) -> None:
    assert waves.table.shape == (64, 64)
    got = [f"{waves.similarity[10, other]:.3f}" for other in (10, 11, 15, 30, 60)]
    assert got == ["1.000", "0.966", "0.734", "0.590", "0.490"]
    assert [row[1] for row in waves.tables()[0].rows] == ["1.000", ".966", ".734", ".590", ".490"]


def test_fast_waves_are_on_top(waves: Sinusoids) -> None:
    turns = (waves.table.diff(dim=0).sign().diff(dim=0) != 0).sum(0)
    assert turns[0] == turns.max() > 15
    assert turns[-2] == 0
    assert waves.periods[0] == pytest.approx(6.2832, abs=1e-4)
    assert list(waves.periods) == sorted(waves.periods)


def test_every_sinusoid_has_the_same_length_and_similarity_knows_the_distance_alone(waves: Sinusoids) -> None:
    torch.testing.assert_close(waves.table.norm(dim=-1), torch.full((64,), 32**0.5))
    for distance in range(1, 64):
        line = waves.similarity.diagonal(distance)
        assert line.max() - line.min() < 1e-5


def test_rotary_products_depend_on_i_minus_j_only(turned: Rotations) -> None:
    assert turned.spread < 1e-6
    t = len(turned.products)
    for distance in range(1 - t, t):
        line = turned.products.diagonal(-distance)
        assert line.max() - line.min() <= turned.spread
        assert turned.ranges[distance + t - 1].tolist() == [line.min(), line.max()]
    assert turned.products.max() - turned.products.min() > 1


def test_position_0_is_not_turned_and_pairs_add_up_to_the_product(turned: Rotations) -> None:
    assert torch.equal(turned.q[0], turned.plain_q)
    assert torch.equal(turned.k[0], turned.plain_k)
    torch.testing.assert_close(turned.parts.sum(-1), turned.products, rtol=0, atol=1e-6)
    torch.testing.assert_close(turned.q @ turned.k.T, turned.products, rtol=0, atol=1e-6)


def test_turning_keeps_every_arrows_length_and_each_pair_has_its_own_speed(turned: Rotations) -> None:
    arrows = turned.q.view(24, 4, 2)
    torch.testing.assert_close(arrows.norm(dim=-1), arrows[:1].norm(dim=-1).expand(24, 4))
    assert turned.speeds == pytest.approx((1, 0.1, 0.01, 0.001))
    start = torch.atan2(arrows[0, :, 1], arrows[0, :, 0])
    angle = torch.atan2(arrows[5, :, 1], arrows[5, :, 0]) - start
    torch.testing.assert_close(angle.cos(), turned.angles[5].cos(), rtol=0, atol=1e-6)


def test_alibi_lowers_a_score_by_slope_times_distance() -> None:
    found = lesson.slopes()
    assert found.slopes.tolist() == [2.0**-n for n in range(1, 9)]
    for head, slope in enumerate(found.slopes):
        for back in range(16):
            assert found.scores[head, 15, 15 - back] == -slope * back
    assert not found.weights.triu(1).any()
    assert list(found.reach) == sorted(found.reach)
    even = found.weights[-1, -1]
    assert 1 / 16 < even[-1] < 0.066


def test_the_learned_table_has_a_row_for_each_of_64_positions_and_none_beyond() -> None:
    found = lesson.learned_positions()
    assert found.table.shape == (64, 64) and found.parameters == 4_096
    torch.testing.assert_close(found.similarity.diagonal(), torch.ones(64))
    assert "table" not in found.to_dict()
    assert "no row 64" in found.tables()[0].note


def test_the_figures_hold_the_numbers(
    order: WordOrder, shuffle: Shuffle, waves: Sinusoids, turned: Rotations
) -> None:
    left, right = (axes for axes in waves.plot().axes if axes.get_label() != "<colorbar>")
    assert torch.equal(torch.tensor(left.images[0].get_array().filled()), waves.table.T)
    assert right.lines[0].get_ydata() == pytest.approx(waves.similarity[10].tolist())
    grid = turned.plot().axes[0].images[0].get_array().filled()
    assert torch.equal(torch.tensor(grid), turned.products)
    heights = [bar.get_height() for bars in order.plot().axes[0].containers for bar in bars]
    assert heights == pytest.approx(order.moved.flatten().tolist())
    dots = [line.get_ydata() for line in shuffle.plot().axes[0].lines]
    assert dots[CAUSAL] == pytest.approx(shuffle.moved[CAUSAL].tolist())


def test_the_slopes_figure_has_a_line_for_every_head() -> None:
    found = lesson.slopes()
    lines = found.plot().axes[0].lines
    assert [line.get_ydata()[0] for line in lines] == pytest.approx(found.weights[:, -1, -1].tolist())


def test_section_6_is_json() -> None:
    for name in lesson.section(6).names:
        assert json.dumps(getattr(lesson, name)().to_dict(), allow_nan=False)


@pytest.mark.parametrize("pair", [("a b", "a c"), ("a a", "a a"), ("", ""), ("a b", "a b b")])
def test_sentences_that_are_not_two_orders_of_the_same_words_are_refused(pair: tuple[str, str]) -> None:
    with pytest.raises(LessonError, match="The same words in two orders"):
        lesson.word_order(sentences=pair)


@pytest.mark.parametrize("words", [["a"], ["a", "a"], list("abcdef"), ["a", ""]])
def test_words_that_cannot_be_shuffled_are_refused(words: list[str]) -> None:
    with pytest.raises(LessonError, match="2 to 5 different words"):
        lesson.shuffle(words=words)


def test_wrong_sizes_are_refused() -> None:
    for wrong in ({"t": 1}, {"t": 200}, {"d": 7}, {"position": 64}, {"others": [70]}):
        with pytest.raises(LessonError):
            lesson.sinusoids(**wrong)
    for wrong in (
        {"q": [1.0]},
        {"q": [1.0, 2.0]},
        {"q": [], "k": []},
        {"t": 1},
        {"base": 1.0},
        {"q": [float("nan")] * 8},
    ):
        with pytest.raises(LessonError):
            lesson.rotations(**wrong)
    for wrong in ({"heads": 0}, {"heads": 17}, {"tokens": 1}, {"tokens": 33}):
        with pytest.raises(LessonError):
            lesson.slopes(**wrong)
    with pytest.raises(LessonError, match="no table of positions"):
        lesson.learned_positions(model="lesson-no-positions")
    with pytest.raises(LessonError, match="Position 64 of 64"):
        lesson.learned_positions(others=[64])
    with pytest.raises(MissingModel):
        lesson.learned_positions(model="nothing")
