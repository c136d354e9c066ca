"""Section 11: what attention is not. The numbers are those of the embedded model on the lesson's line."""

from __future__ import annotations

import json

import pytest
import torch

from attnscope import lesson
from attnscope.errors import LessonError, MissingModel, UnknownCharacter
from attnscope.gpt import load_shipped
from attnscope.lesson.knockout import KnockOut, Without
from attnscope.lesson.norms import ValueNorms
from tests.gpt.one_out import Knockout, knocked_out
from tests.gpt.tiny import small

LINE = "ROMEO:\nBut, soft! what light"


@pytest.fixture(scope="module")
def norms() -> ValueNorms:
    return lesson.value_norms()


@pytest.fixture(scope="module")
def out() -> KnockOut:
    return lesson.knock_out()


def test_the_weights_are_those_that_the_model_has_on_the_line(norms: ValueNorms) -> None:
    model = load_shipped("embedded")
    ids = torch.tensor([model.tokenizer.encode(LINE)])
    wanted = torch.cat([seen.weights for seen in model.steps(ids)])
    torch.testing.assert_close(norms.weights.float(), wanted, rtol=0, atol=2e-5)
    assert norms.weights.shape == (6, 6, 28, 28)


def test_weight_times_norm_is_the_length_of_what_a_key_adds_to_the_stream(norms: ValueNorms) -> None:
    """By hand for one head: the weight, times the value through the head's 24 columns of the projection."""
    model = load_shipped("embedded").double()
    ids = torch.tensor([model.tokenizer.encode(LINE)])
    block, x = model.blocks[3], model.streams(ids)[3]
    _, _, v = block.project(x)
    columns = block.output.weight.detach()[:, 2 * 24 : 3 * 24]
    for key in (0, 12, 26):
        part = norms.weights[3, 2, 27, key] * (columns @ v[0, 2, key])
        assert float(part.detach().norm()) == pytest.approx(float(norms.products[3, 2, 27, key]), rel=1e-9)


def test_in_some_heads_the_largest_weight_is_not_what_moves_most(norms: ValueNorms) -> None:
    assert [(c.layer, c.head) for c in norms.changes] == [(0, 5), (1, 0), (1, 5), (0, 4), (5, 2)]
    assert (norms.rows_changed, norms.rows) == (113, 1008)
    gaps = []
    for change in norms.changes:
        weights, products = (grid[change.layer, change.head, -1] for grid in (norms.weights, norms.products))
        assert weights[change.by_weight] > weights[change.by_product]
        assert products[change.by_weight] < products[change.by_product]
        assert change.by_weight == int(weights.argmax())
        assert change.by_product == int(products.argmax())
        gaps.append(float(products[change.by_product] / products[change.by_weight]))
    assert gaps == sorted(gaps, reverse=True)


def test_a_knock_out_of_nothing_changes_nothing_bit_for_bit() -> None:
    model = load_shipped("embedded")
    ids = torch.tensor([model.tokenizer.encode(LINE)])
    nothing = knocked_out(model, ids, Knockout(3, 2, keys=()))
    assert torch.equal(nothing, model(ids))
    before = model(ids)[0, -1].softmax(-1)
    assert not Without.of(nothing[0, -1], before).moved


def test_the_whole_model_expects_what_explore_shows(out: KnockOut) -> None:
    model = load_shipped("embedded")
    ids = torch.tensor([model.tokenizer.encode(LINE)])
    torch.testing.assert_close(out.before.float(), model(ids)[0, -1].softmax(-1), rtol=0, atol=1e-5)
    assert out.characters[int(out.before.argmax())] == " "


@pytest.mark.parametrize(("layer", "head", "key"), [(0, 2, 26), (2, 4, 19), (5, 5, 0), (3, 4, 25)])
def test_each_edge_is_the_model_run_again_without_it(out: KnockOut, layer: int, head: int, key: int) -> None:
    model = load_shipped("embedded").double()
    ids = torch.tensor([model.tokenizer.encode(LINE)])
    for way, found in (("renormalise", out.shared), ("zero", out.stayed)):
        logits = knocked_out(model, ids, Knockout(layer, head, (key,), way=way))
        wanted = logits[0, -1].softmax(-1)
        torch.testing.assert_close(found.after[layer, head, key], wanted, rtol=0, atol=1e-12)
        moved = float((wanted - out.before).abs().sum() / 2)
        assert float(found.moved[layer, head, key]) == pytest.approx(moved, abs=1e-12)


def test_each_head_is_the_model_run_again_without_it(out: KnockOut) -> None:
    model = load_shipped("embedded").double()
    ids = torch.tensor([model.tokenizer.encode(LINE)])
    for layer, head in ((0, 0), (5, 3)):
        wanted = knocked_out(model, ids, Knockout(layer, head))[0, -1].softmax(-1)
        torch.testing.assert_close(out.heads.after[layer, head], wanted, rtol=0, atol=1e-12)


def test_a_large_weight_changes_little_and_a_small_one_more(out: KnockOut) -> None:
    assert (out.large.layer, out.large.head, out.large.key) == (0, 2, 26)
    assert (out.small.layer, out.small.head, out.small.key) == (2, 4, 19)
    assert out.large.weight > 5 * out.small.weight
    assert out.small.moved > 5 * out.large.moved
    assert (round(out.large.moved, 4), round(out.small.moved, 4)) == (0.0030, 0.0156)
    assert "Without the weight .551 of layer 0, head 2 on “h” 26 the probabilities move by .0030" in out.says
    assert "without the weight .092 of layer 2, head 4 on “h” 19 they move by .0156" in out.says


def test_the_found_edges_are_the_extremes_of_those_within_the_bounds(out: KnockOut) -> None:
    large = out.shared.moved[out.weights >= out.at_least]
    small_ones = out.shared.moved[out.weights <= out.at_most]
    assert out.large.moved == float(large.min())
    assert out.small.moved == float(small_ones.max())


def test_probabilities_stay_probabilities(out: KnockOut) -> None:
    for found in (out.shared, out.stayed, out.heads):
        assert float((found.after.sum(-1) - 1).abs().max()) < 1e-12
        assert bool((found.moved >= 0).all()) and bool((found.moved <= 1).all())


def test_what_the_page_gets_is_what_was_found_and_small(norms: ValueNorms, out: KnockOut) -> None:
    data = out.to_dict()
    text = json.dumps(data, allow_nan=False)
    assert len(text) + len(json.dumps(norms.to_dict(), allow_nan=False)) < 700_000
    shown = data["shown"]
    assert shown[0] == int(out.before.argmax())
    assert len(shown) == 8
    for name, found in (("shared", out.shared), ("stayed", out.stayed)):
        sent, after = data[name], found.after[2, 4, 19]
        assert sent["after"][2][4][19] == pytest.approx(after[shown].tolist(), rel=1e-6)
        change = (after - out.before).abs()
        assert sent["most"][2][4][19][0] == int(change.argmax())
        assert sent["most_after"][2][4][19] == pytest.approx(after[sent["most"][2][4][19]].tolist(), rel=1e-6)
    assert norms.to_dict()["products"][1][0] == pytest.approx(norms.products[1, 0, -1].tolist(), rel=1e-6)


def test_the_figures_hold_the_right_data(norms: ValueNorms, out: KnockOut) -> None:
    bars = norms.plot().axes[0].patches
    row = norms.weights[0, 5, -1]
    assert [bar.get_height() for bar in bars[:28]] == pytest.approx((row / row.max()).tolist())
    scatter, heads = out.plot().axes
    points = scatter.collections[0].get_offsets()
    assert len(points) == 6 * 6 * 28
    wanted = [float(out.weights[2, 0, 3]), float(out.shared.moved[2, 0, 3])]
    assert points[28 * 6 * 2 + 3].tolist() == pytest.approx(wanted, rel=1e-9, abs=0)
    drawn = torch.tensor(heads.images[0].get_array().tolist(), dtype=torch.float64)
    torch.testing.assert_close(drawn, out.heads.moved, rtol=0, atol=1e-12)


def test_another_line_and_another_model() -> None:
    model = small("laptop")
    found = lesson.knock_out(line="abcabc", model=model, at_least=0.2)
    assert found.shared.after.shape == (2, 3, 6, 7)
    assert found.model == "the model given"
    assert lesson.value_norms(line="abc", model=model).weights.shape == (2, 3, 3, 3)
    assert found.tables()[0].rows
    first = lesson.value_norms(line="R", model="lesson")
    assert first.weights.shape == (4, 4, 1, 1)
    assert first.tables()[0].rows == ()
    assert first.plot().axes


def test_a_model_that_is_handed_in_is_left_as_it_was() -> None:
    model = load_shipped("lesson")
    lesson.value_norms(line="a", model=model)
    assert next(model.parameters()).dtype == torch.float32


def test_what_cannot_be_shown_is_refused() -> None:
    with pytest.raises(LessonError, match=r"No weight of a last row is of 1\.5 or more\. They reach from"):
        lesson.knock_out(at_least=1.5)
    with pytest.raises(LessonError, match=r"No weight of a last row is of -1\.0 or less"):
        lesson.knock_out(at_most=-1)
    with pytest.raises(UnknownCharacter, match="ü"):
        lesson.value_norms(line="für")
    with pytest.raises(MissingModel):
        lesson.knock_out(model="gpt2")
