"""Section 3, why divide by √d: the spread of products, saturated softmax, its entropy and its gradient."""

from __future__ import annotations

import json
import math

import pytest
import torch

from attnscope import lesson
from attnscope.errors import LessonError
from attnscope.lesson.scaling import Saturation, Spread


@pytest.fixture(scope="module")
def spread() -> Spread:
    found: Spread = lesson.spread()
    return found


@pytest.fixture(scope="module")
def saturation() -> Saturation:
    found: Saturation = lesson.saturation()
    return found


def test_the_spread_of_products_follows_the_root_of_d(spread: Spread) -> None:
    assert spread.pairs == 10_000
    assert spread.widths == (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
    assert ((spread.raw / spread.roots - 1).abs() < 0.03).all()
    raw = dict(zip(spread.widths, spread.raw.tolist(), strict=True))
    for d, figure in ((4, 2.0), (64, 8.0), (512, 22.6)):
        assert raw[d] == pytest.approx(figure, rel=0.03)


def test_after_scaling_the_spread_is_one(spread: Spread) -> None:
    assert ((spread.scaled - 1).abs() < 0.03).all()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_law_of_the_spread_holds_for_other_draws(seed: int) -> None:
    found = lesson.spread(widths=(4, 64, 512), seed=seed)
    assert ((found.raw / found.roots - 1).abs() < 0.03).all()
    assert ((found.scaled - 1).abs() < 0.03).all()


def test_the_histograms_count_every_pair(spread: Spread) -> None:
    for counts in (spread.raw_counts, spread.scaled_counts):
        assert counts.sum(dim=1).tolist() == [10_000] * 11
    middle = len(spread.edges) // 2 - 1
    assert spread.edges[middle : middle + 2].tolist() == [-1.0, 1.0]
    assert spread.scaled_counts[-1, middle] / 10_000 == pytest.approx(0.683, abs=0.03)  # within one deviation


def test_8_scores_at_d_512_put_more_than_999_thousandths_on_one_key_unless_scaled(
    saturation: Saturation,
) -> None:
    at = saturation.at(512)
    assert saturation.keys == 8
    assert saturation.largest[0, at] > 0.999 and saturation.entropy[0, at] < 0.01
    assert saturation.largest[1, at] == pytest.approx(0.4, abs=0.03)
    assert saturation.entropy[1, at] == pytest.approx(1.5, abs=0.05)
    assert saturation.even == pytest.approx(math.log(8)) == pytest.approx(2.079, abs=5e-4)


def test_the_law_of_saturation_over_1000_draws_at_d_512(saturation: Saturation) -> None:
    at = saturation.at(512)
    assert saturation.draws == 1000
    assert saturation.middle_largest[0, at] >= 0.999
    assert saturation.middle_largest[1, at] <= 0.40


def test_the_median_gradients_differ_by_a_factor_over_1000_at_d_512(saturation: Saturation) -> None:
    at = saturation.at(512)
    assert saturation.gradient[0, at] < 1e-3 < saturation.gradient[1, at]
    assert saturation.middle_gradient[1, at] / saturation.middle_gradient[0, at] > 1000


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_law_of_section_3_holds_for_other_draws(seed: int) -> None:
    found = lesson.saturation(widths=(512,), seed=seed)
    assert found.middle_largest[0, 0] >= 0.999 and found.middle_largest[1, 0] <= 0.40
    assert found.middle_gradient[1, 0] / found.middle_gradient[0, 0] > 1000


def test_the_weights_of_section_3_are_softmax_of_the_scores(saturation: Saturation) -> None:
    assert torch.allclose(saturation.weights, saturation.scores.softmax(dim=-1), atol=1e-12)
    roots = torch.tensor(saturation.widths, dtype=torch.float64).sqrt()
    assert torch.allclose(saturation.scores[0] / roots[:, None], saturation.scores[1], rtol=1e-5, atol=1e-5)


def test_the_gradient_is_the_norm_of_the_derivative_of_softmax(saturation: Saturation) -> None:
    for s in (0, 1):
        for at in range(len(saturation.widths)):
            w = saturation.weights[s, at]
            derivative = torch.diag(w) - torch.outer(w, w)
            assert float(saturation.gradient[s, at]) == pytest.approx(float(derivative.norm()), rel=1e-6)


def test_at_width_1_the_division_changes_nothing(saturation: Saturation) -> None:
    assert torch.equal(saturation.weights[0, 0], saturation.weights[1, 0])


def test_one_draw_is_the_same_whatever_else_is_drawn() -> None:
    one = lesson.saturation(widths=(512,), draws=1)
    many = lesson.saturation(widths=(64, 512), draws=20)
    assert torch.equal(one.weights[:, 0], many.weights[:, 1])


def test_the_tables_of_section_3_hold_the_figures(spread: Spread, saturation: Saturation) -> None:
    rows = {row[0]: row for row in spread.tables()[0].rows}
    assert rows["512"][1] == "22.63" and rows["512"][2] == f"{spread.raw[9]:.2f}"
    weights, measures = saturation.tables()
    assert len(weights.rows) == 8
    assert [row[0] for row in measures.rows] == ["largest weight", "entropy, nats", "norm of the gradient"]
    assert "ln 8 = 2.079" in measures.note


def test_the_figures_of_section_3_draw_these_numbers(spread: Spread, saturation: Saturation) -> None:
    lines = spread.plot().axes[0].lines
    assert lines[1].get_ydata() == pytest.approx(spread.raw.numpy())
    assert list(lines[1].get_xdata()) == list(spread.widths)
    axes = saturation.plot().axes
    heights = [bar.get_height() for bar in axes[0].patches]
    at = saturation.at(512)
    assert heights == pytest.approx(
        [*saturation.weights[0, at].tolist(), *saturation.weights[1, at].tolist()]
    )
    assert axes[1].lines[0].get_ydata() == pytest.approx(saturation.middle_gradient[0].numpy())


def test_section_3_is_json_for_every_stop_of_the_slider(spread: Spread, saturation: Saturation) -> None:
    state = torch.get_rng_state()
    for found in (spread, saturation):
        data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        assert data["widths"] == list(spread.widths)
    assert len(json.dumps(spread.to_dict())) + len(json.dumps(saturation.to_dict())) < 60_000
    lesson.spread(widths=(4,), pairs=10)
    assert torch.equal(state, torch.get_rng_state())


@pytest.mark.parametrize("widths", [(), (0,), (4, 2), (4, 4)])
def test_widths_in_order_from_1_are_asked_for(widths: tuple[int, ...]) -> None:
    for experiment in (lesson.spread, lesson.saturation):
        with pytest.raises(LessonError, match="Ascending whole numbers from 1 to 4,096"):
            experiment(widths=widths)


def test_enough_pairs_keys_and_draws_are_asked_for() -> None:
    with pytest.raises(LessonError, match="pairs=1"):
        lesson.spread(pairs=1)
    with pytest.raises(LessonError, match="keys=1"):
        lesson.saturation(keys=1)
    with pytest.raises(LessonError, match="draws=0"):
        lesson.saturation(draws=0)
