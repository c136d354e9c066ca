"""Section 4, the usual mistakes: the gallery, the checker of order, and what forgetting positions costs."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import attnscope as ats
from attnscope import lesson
from attnscope.core.mask import Mask
from attnscope.errors import LessonError, ShapeError
from attnscope.gpt import load_shipped, shipped_folder
from attnscope.gpt.history import History
from attnscope.lesson.diagnose_order import OrderDiagnosis
from attnscope.lesson.forgotten import ForgottenPositions
from attnscope.lesson.mistakes import Attention, Mistakes, of_scores

SIX = ["wrong_axis", "unscaled", "inverted_mask", "mask_after_softmax", "leaking_fill", "no_positions"]


@pytest.fixture(scope="module")
def mistakes() -> Mistakes:
    found: Mistakes = lesson.mistakes()
    return found


@pytest.fixture(scope="module")
def forgotten() -> ForgottenPositions:
    found: ForgottenPositions = lesson.forgotten_positions()
    return found


def test_each_of_the_six_mistakes_is_named_by_the_checker_and_by_nothing_else(mistakes: Mistakes) -> None:
    assert [case.name for case in mistakes.cases] == SIX
    for case in mistakes.cases:
        assert [one.name for one in case.found] == [case.name]
        assert case.found[0].sure and case.found[0].evidence


def test_the_right_weights_beside_each_mistake_are_healthy(mistakes: Mistakes) -> None:
    for case in mistakes.cases:
        assert ats.diagnose(case.right).healthy
        assert torch.allclose(case.right.sum(dim=1), torch.ones(len(case.words), dtype=case.right.dtype))
        assert bool((case.right[~case.visible] == 0).all())


def test_over_the_wrong_axis_columns_sum_to_1_and_rows_do_not(mistakes: Mistakes) -> None:
    case = mistakes.case("wrong_axis")
    assert torch.allclose(case.columns, torch.ones(4, dtype=torch.float64))
    assert bool(((case.rows - 1).abs() > 0.05).all())


def test_with_the_mask_after_softmax_rows_no_longer_sum_to_1(mistakes: Mistakes) -> None:
    case = mistakes.case("mask_after_softmax")
    assert bool((case.rows[:-1] < 1).all()) and float(case.rows[-1]) == pytest.approx(1)


def test_with_the_wrong_polarity_all_weight_lies_on_later_words(mistakes: Mistakes) -> None:
    case = mistakes.case("inverted_mask")
    assert bool((case.weights[case.visible] == 0).all())
    assert float(case.rows[-1]) == 0  # the last word sees no word after it


def test_a_finite_fill_leaves_every_hidden_key_a_weight(mistakes: Mistakes) -> None:
    case = mistakes.case("leaking_fill")
    assert bool((case.weights[~case.visible] > 0).all())
    assert torch.allclose(case.rows, torch.ones(4, dtype=torch.float64))
    assert case.found[0].evidence["fill"] == pytest.approx(mistakes.fill)


def test_without_scaling_the_weights_are_softmax_of_the_products(mistakes: Mistakes) -> None:
    case = mistakes.case("unscaled")
    assert case.found[0].evidence["fitted_scale"] == pytest.approx(1.0)
    assert case.found[0].evidence["right_scale"] == pytest.approx(mistakes.d**-0.5)
    assert float(case.weights.amax(dim=1)[2:].min()) > float(case.right.amax(dim=1)[2:].max())


@pytest.mark.parametrize("d", [4, 64])
def test_what_is_said_of_a_missing_scale_names_the_d_that_was_given(d: int) -> None:
    says = lesson.mistakes(d=d).case("unscaled").says
    assert says == f"Products of {d} numbers spread as √{d}, and softmax looks at one key alone."


def test_the_weights_alone_say_saturated_and_never_unscaled(mistakes: Mistakes) -> None:
    alone = mistakes.case("unscaled").alone
    assert [(one.name, one.sure) for one in alone] == [("saturated", False)]
    for case in mistakes.cases:
        assert all(one.name != "unscaled" for one in case.alone)


def test_without_positions_a_repeated_word_asks_and_answers_the_same(mistakes: Mistakes) -> None:
    case = mistakes.case("no_positions")
    assert case.words == ("to", "be", "or", "not", "to", "be")
    for one, two in ((0, 4), (1, 5)):
        assert torch.allclose(case.weights[one], case.weights[two], atol=1e-6)
        assert torch.allclose(case.weights[:, one], case.weights[:, two], atol=1e-6)
        assert not torch.allclose(case.right[one], case.right[two], atol=1e-2)


def test_the_tables_and_the_figure_show_every_mistake(mistakes: Mistakes) -> None:
    found, alone = mistakes.tables()
    assert [row[3].replace(" ", "_") for row in found.rows] == SIX
    assert dict(alone.rows)["No positions"] == "nothing"
    axes = mistakes.plot().axes
    assert len(axes) == 12
    wrong = axes[6].images[0].get_array().filled(0)
    assert wrong == pytest.approx(mistakes.cases[0].weights.numpy())


def test_softmax_of_given_scores_goes_through_the_dense_steps() -> None:
    scores = torch.randn(1, 1, 3, 5, dtype=torch.float64)
    assert torch.allclose(of_scores(scores), scores.softmax(-1), atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_the_mistakes_are_found_for_other_draws_too(seed: int) -> None:
    for case in lesson.mistakes(seed=seed, words=("a", "b", "c", "d", "e")).cases:
        assert [one.name for one in case.found] == [case.name]


def test_mistakes_ask_for_words_and_a_finite_fill() -> None:
    with pytest.raises(LessonError, match="3 to 16 words are wanted"):
        lesson.mistakes(words=("the", "cat"))
    with pytest.raises(LessonError, match="-inf is no mistake"):
        lesson.mistakes(fill=float("-inf"))
    with pytest.raises(LessonError, match="One of wrong_axis"):
        lesson.mistakes().case("typo")


def test_forgetting_positions_costs_057_nats_a_character(forgotten: ForgottenPositions) -> None:
    assert forgotten.with_positions.last == pytest.approx(1.6942, abs=5e-5)
    assert forgotten.without_positions.last == pytest.approx(1.7511, abs=5e-5)
    assert forgotten.cost == pytest.approx(0.0569, abs=1e-4)
    one, two = forgotten.with_positions.validation, forgotten.without_positions.validation
    assert one[:, 0].tolist() == two[:, 0].tolist() == list(range(250, 3001, 250))
    assert bool((two[:, 1] > one[:, 1]).all())


def test_the_losses_are_those_of_the_shipped_files(forgotten: ForgottenPositions) -> None:
    lines = (shipped_folder("lesson") / "losses.csv").read_text(encoding="utf-8").splitlines()[1:]
    batches = [float(line.split(",")[1]) for line in lines]
    assert len(batches) == 3000
    training = forgotten.with_positions.training
    assert training.shape == (60, 2) and training[0, 0] == 25.5
    assert float(training[-1, 1]) == pytest.approx(sum(batches[-50:]) / 50)
    history = History.from_csv((shipped_folder("lesson") / "losses.csv").read_text(encoding="utf-8"))
    assert history.to_csv().splitlines()[1:] == lines


def test_the_model_without_positions_knows_order_by_its_mask_alone(forgotten: ForgottenPositions) -> None:
    assert forgotten.order_with.healthy
    assert forgotten.order_without.names == ("no_positions",)
    assert "mask alone carries order" in forgotten.order_without.sentence
    assert forgotten.order_without.unmasked is not None and forgotten.order_without.unmasked.equivariant
    assert not forgotten.order_without.as_it_is.equivariant


def test_the_figure_of_the_losses_draws_both_curves(forgotten: ForgottenPositions) -> None:
    lines = forgotten.plot().axes[0].lines
    assert lines[1].get_ydata() == pytest.approx(forgotten.with_positions.validation[:, 1].numpy())
    assert lines[3].get_ydata() == pytest.approx(forgotten.without_positions.validation[:, 1].numpy())
    table = forgotten.tables()[0]
    assert table.rows[-1] == ("3,000", "1.6942", "1.7511", ".0569")


def test_section_4_is_json(mistakes: Mistakes, forgotten: ForgottenPositions) -> None:
    for found in (mistakes, forgotten):
        assert len(json.dumps(found.to_dict(), allow_nan=False)) < 60_000
    with pytest.raises(LessonError, match="two characters"):
        lesson.forgotten_positions(text="R")


# diagnose_order

X = torch.randn(2, 6, 16, generator=torch.Generator().manual_seed(0))


class Placed(nn.Module):
    """A module with a vector for each position added to what goes in."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner, self.table = inner, nn.Parameter(torch.randn(6, 16))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.inner(x + self.table[: x.shape[1]])
        return out


class Home(nn.Module):
    """Attention as a learner writes it: masked_fill and softmax."""

    def __init__(self, masked: bool) -> None:
        super().__init__()
        self.qkv, self.masked = nn.Linear(16, 48), masked

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        scores = q @ k.mT / 4
        if self.masked:
            later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
            scores = scores.masked_fill(later, float("-inf"))
        return scores.softmax(-1) @ v


def test_unmasked_attention_without_positions_is_permutation_equivariant() -> None:
    found = ats.diagnose_order(ats.MultiHeadAttention(16, 2), X)
    assert found.names == ("no_positions",) and found.findings[0].sure
    assert found.as_it_is.equivariant and found.as_it_is.difference < 1e-12
    assert found.unmasked is None and found.dtype == "float64" and found.shuffles == 4
    assert "nothing here knows the order" in str(found)


@pytest.mark.parametrize(
    "module",
    [
        ats.CausalSelfAttention(16, 2),
        Home(masked=True),
        nn.TransformerEncoderLayer(16, 2, 32, batch_first=True),
    ],
    ids=["CausalSelfAttention", "home made", "encoder layer"],
)
def test_what_the_mask_alone_carries_is_told(module: nn.Module) -> None:
    masked = module
    if isinstance(module, nn.TransformerEncoderLayer):
        masked = Masked(module)
    found = ats.diagnose_order(masked, X)
    assert found.names == ("no_positions",) and "mask alone carries order" in found.sentence
    assert not found.as_it_is.equivariant and found.as_it_is.difference > 1e-3
    assert found.unmasked is not None and found.unmasked.difference < 1e-9 and found.masks == 1


class Masked(nn.Module):
    def __init__(self, layer: nn.TransformerEncoderLayer) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1], dtype=x.dtype)
        out: Tensor = self.layer(x, src_mask=mask)
        return out


@pytest.mark.parametrize(
    "module",
    [
        Placed(ats.CausalSelfAttention(16, 2)),
        Placed(ats.MultiHeadAttention(16, 2)),
        Placed(Home(masked=True)),
        ats.MultiHeadAttention(16, 2, rotary="half"),
        Attention(16, positions=True),
    ],
    ids=["learned, causal", "learned", "home made", "rotary", "sinusoids"],
)
def test_positions_of_any_kind_are_seen(module: nn.Module) -> None:
    found = ats.diagnose_order(module, X)
    assert found.healthy and "something here knows the order" in found.sentence
    assert found.as_it_is.difference > 1e-3


def test_small_positions_are_told_from_rounding() -> None:
    module = Placed(ats.MultiHeadAttention(16, 2))
    with torch.no_grad():
        module.table.mul_(1e-6)
    assert ats.diagnose_order(module, X).healthy


def test_torchs_own_attention_can_be_asked_about_with_either_layout() -> None:
    for batch_first in (True, False):
        found = ats.diagnose_order(nn.MultiheadAttention(16, 2, batch_first=batch_first), X)
        assert found.names == ("no_positions",)


def test_the_embedded_model_knows_order_by_its_rotations() -> None:
    model = load_shipped("embedded")
    ids = torch.tensor([model.tokenizer.encode("What light")])
    found = ats.diagnose_order(model, ids)
    assert found.healthy and found.masks == model.config.n_layers


def test_a_plain_function_can_be_asked_about() -> None:
    assert ats.diagnose_order(lambda x: x.cumsum(1), X).healthy
    assert ats.diagnose_order(lambda x: (x.softmax(-1),), X).names == ("no_positions",)
    causal = ats.diagnose_order(lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True), X)
    assert "mask alone" in causal.sentence


def test_the_masks_of_attnscopes_own_function_are_lifted_and_its_positions_stay() -> None:
    def asked(scoring: ats.Scoring | Mask) -> OrderDiagnosis:
        return ats.diagnose_order(
            lambda x: ats.attention(x[:, None], x[:, None], x[:, None], scoring)[:, 0], X
        )

    assert "mask alone" in asked(ats.window(2)).sentence and asked(ats.window(2)).masks == 1
    slopes = ats.RelativeBias(-0.5 * torch.arange(-5.0, 6.0).abs()[None], first=-5)
    placed = asked(ats.Scoring(ats.causal(), bias=slopes))
    assert placed.healthy and placed.masks == 1
    assert asked(ats.full()).unmasked is None


def test_a_module_and_the_random_state_stay_as_they_were() -> None:
    module = nn.Sequential(nn.Dropout(0.5), ats.CausalSelfAttention(16, 2)).train()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    state = torch.get_rng_state()
    assert ats.diagnose_order(module, X).names == ("no_positions",)
    assert module.training and torch.equal(state, torch.get_rng_state())
    assert all(torch.equal(value, module.state_dict()[name]) for name, value in before.items())
    assert module(X).dtype == torch.float32


class _Counting(nn.Module):
    """Adds the number of its call."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return x + self.calls


class _Locked(nn.Identity):
    """Holds a lock, which nothing can copy."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


@pytest.mark.parametrize(
    ("module", "x", "error", "said"),
    [
        (nn.Identity(), X[:, :1], ShapeError, "at least two tokens on axis 1"),
        (nn.Identity(), torch.ones(4), ShapeError, "at least two tokens"),
        (nn.Identity(), [1, 2], ShapeError, "x is list"),
        (nn.Identity(), torch.ones(1, 4, 3), LessonError, "All 4 tokens are the same"),
        (lambda x: x[:, :2], X, ShapeError, "As many outputs as tokens"),
        (lambda x: x * torch.nan, X, LessonError, "nan or infinity"),
        (lambda x: "text", X, ShapeError, "returned str"),
        (lambda x, mask: x, X, LessonError, r"raised TypeError: .*lambda x: module\(x, mask\)"),
        (lambda x: {}["key"], X, LessonError, "raised KeyError"),
        (3, X, LessonError, "module is int"),
        (_Counting(), X, LessonError, "a second time"),
        (_Locked(), X, LessonError, "cannot be copied"),
    ],
)
def test_what_cannot_be_shuffled_is_refused_with_a_reason(
    module: Any, x: Any, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        ats.diagnose_order(module, x)


@pytest.mark.parametrize("wrong", [{"axis": 3}, {"axis": "1"}, {"axis": -4}, {"seed": "a"}, {"seed": -1}])
def test_an_axis_or_a_seed_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises((ShapeError, LessonError)):
        ats.diagnose_order(nn.Identity(), X, **wrong)


def test_an_order_diagnosis_is_json_and_words() -> None:
    found = ats.diagnose_order(ats.CausalSelfAttention(16, 2), X)
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert data["healthy"] is False and "Over 4 shuffles of 6 tokens in float64" in data["measured"]
