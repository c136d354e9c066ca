"""Section 9, untrained and trained: the same model before and after, on the same line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from attnscope import lesson
from attnscope.errors import LessonError, UnknownCharacter
from attnscope.gpt import GPT, load_shipped, shipped_folder
from attnscope.gpt.presets import preset_named
from attnscope.gpt.train import Training, shortened
from attnscope.lesson.habits import habits_of
from attnscope.lesson.trained import LINE, TrainedHeads


@pytest.fixture(scope="module")
def found() -> TrainedHeads:
    made: TrainedHeads = lesson.trained_heads()
    return made


def test_the_line_is_28_characters(found: TrainedHeads) -> None:
    assert found.text == "ROMEO:\nBut, soft! what light"
    assert len(found.tokens) == len(LINE) == 28
    assert found.even == pytest.approx(1 / 28)
    assert f"{found.even:.3f}" == "0.036"


def test_the_untrained_model_is_where_the_shipped_training_began(found: TrainedHeads, tmp_path: Path) -> None:
    facts = json.loads((shipped_folder("lesson") / "training.json").read_text("utf-8"))
    trained = load_shipped("lesson")
    text = trained.tokenizer.characters * 40
    preset = shortened(preset_named(facts["preset"]), facts["recipe"]["steps"])
    run = Training(text, preset, tmp_path / "run", seed=facts["seed"], threads=1)
    assert run.model.tokenizer.characters == trained.tokenizer.characters
    assert run.model.config == trained.config
    ids = torch.tensor([trained.tokenizer.encode(LINE)])
    before = torch.stack([one.weights[0] for one in run.model.eval().steps(ids)])
    assert found.seed == facts["seed"] == 1
    assert found.steps == facts["recipe"]["steps"] == 3000
    assert torch.allclose(found.untrained.weights, before, atol=1e-6, rtol=0)


def test_the_first_loss_of_the_shipped_run_is_the_untrained_models() -> None:
    """losses.csv tells the loss of the first batch; the untrained model loses about as much on other text."""
    first = (shipped_folder("lesson") / "losses.csv").read_text("utf-8").splitlines()[1].split(",")
    trained = load_shipped("lesson")
    untrained = GPT(trained.config, trained.tokenizer, seed=1).eval()
    text = (Path(__file__).parents[1] / "gpt" / "last-tenth.txt").read_text("utf-8")[: 64 * 65]
    ids = torch.tensor(trained.tokenizer.encode(text)).view(64, 65)
    with torch.no_grad():
        logits = untrained(ids[:, :-1]).flatten(0, 1)
    loss = torch.nn.functional.cross_entropy(logits, ids[:, 1:].flatten())
    assert float(loss) == pytest.approx(float(first[1]), abs=0.1)


def test_weights_are_those_of_the_oracle_and_a_triangle(found: TrainedHeads) -> None:
    shapes = [tuple(model.weights.shape) for model in found.models]
    assert shapes == [(4, 4, 28, 28), (4, 4, 28, 28), (6, 6, 28, 28)]
    for model, name in zip(found.models[1:], ("lesson", "embedded"), strict=True):
        gpt = load_shipped(name)
        ids = torch.tensor([gpt.tokenizer.encode(LINE)])
        oracle = torch.stack([one.weights[0] for one in gpt.steps(ids)])
        assert torch.allclose(model.weights, oracle, atol=1e-6, rtol=0)
    for model in found.models:
        assert float(model.weights.triu(1).abs().max()) == 0
        assert torch.allclose(model.weights.sum(-1), torch.ones(()), atol=1e-5)


def test_an_untrained_last_row_has_a_weight_of_several_times_the_even_share(found: TrainedHeads) -> None:
    layer, head, key, most = found.untrained.last()
    assert most == float(found.untrained.weights[layer, head, 27, key])
    assert most == float(found.untrained.weights[:, :, -1].max())
    assert 4 < most / found.even < 12
    assert f"{float(found.untrained.weights[0, 3, -1].max()):.3f}" == "0.168"


def test_it_means_nothing_since_other_draws_have_it_elsewhere(found: TrainedHeads) -> None:
    places = {(layer, head, key) for _, layer, head, key, _ in found.draws} | {found.untrained.last()[:3]}
    assert len(found.draws) == 4
    assert len(places) == 5
    assert all(3 < most / found.even < 15 for *_, most in found.draws)


def test_a_trained_head_looks_at_the_character_before_and_did_not_before(found: TrainedHeads) -> None:
    layer, head, share = found.lesson.strongest("previous")
    weights = found.lesson.weights[layer, head]
    assert share == pytest.approx(float(weights.diagonal(-1).mean()), abs=1e-6)
    assert share > 0.9
    even = float((1 / torch.arange(2, 29)).mean())
    assert found.habits[0].even == pytest.approx(even, abs=1e-6)
    assert float(found.untrained.habits["previous"][layer, head]) < 1.5 * even
    assert found.embedded.strongest("previous")[2] > 0.5


def test_findings_say_where_with_the_numbers_of_the_tables(found: TrainedHeads) -> None:
    said = {(one.model, one.habit): one for one in found.findings()}
    assert len(said) == 7
    one = said["lesson", "previous"]
    assert (one.layer, one.head) == found.lesson.strongest("previous")[:2]
    assert f"{found.lesson.strongest('previous')[2]:.3f}"[1:] in one.says
    assert "means nothing" in said["untrained", ""].says
    weak = said["lesson", "copies"]
    assert "no head makes a habit" in weak.says
    assert found.lesson.strongest("copies")[2] < 2 * found.habits[1].even


def test_habits_count_the_cells_they_name() -> None:
    previous, copies, after = habits_of("abcab")
    assert previous.cells.nonzero().tolist() == [[1, 0], [2, 1], [3, 2], [4, 3]]
    assert copies.cells.nonzero().tolist() == [[3, 0], [4, 1]]
    assert after.cells.nonzero().tolist() == [[3, 1], [4, 2]]
    assert (previous.rows, copies.rows, after.rows) == (4, 2, 2)
    assert copies.even == pytest.approx((1 / 4 + 1 / 5) / 2)
    looks = torch.zeros(5, 5)
    looks[3, 0], looks[4, 1] = 0.5, 0.25
    assert float(copies.share(looks)) == pytest.approx(0.375)
    assert [one.name for one in habits_of("ab")] == ["previous"]


def test_next_characters_are_the_models_own(found: TrainedHeads) -> None:
    gpt = load_shipped("lesson")
    with torch.no_grad():
        p = gpt(torch.tensor([gpt.tokenizer.encode(LINE)]))[0].softmax(-1)
    for at in (0, 6, 27):
        best = p[at].topk(5)
        assert [token.text for token, _ in found.lesson.next[at]] == [
            gpt.tokenizer.decode([one]) for one in best.indices.tolist()
        ]
        assert [x for _, x in found.lesson.next[at]] == pytest.approx(best.values.tolist(), abs=1e-6)
    assert found.lesson.next[27][0][0].spoken == "space"


def test_the_tables_hold_the_figures(found: TrainedHeads) -> None:
    tables = found.tables()
    assert tables[0].note == "An even share of the last row is 1/28 = .036."
    assert [row[0] for row in tables[0].rows[:3]] == ["lesson, untrained", "lesson, trained", "embedded"]
    assert tables[0].rows[0][2] == "h 26"
    assert all(len(row) == len(table.columns) for table in tables for row in table.rows)


def test_the_data_are_json_under_700_kb_and_exact(found: TrainedHeads) -> None:
    written = json.dumps(found.to_dict(), allow_nan=False)
    assert len(written) < 700_000
    data = json.loads(written)
    cells = data["models"][1]["weights"][3][1]
    assert len(cells) == 28 * 29 // 2
    rows, columns = torch.tril_indices(28, 28)
    assert torch.equal(torch.tensor(cells), found.lesson.weights[3, 1, rows, columns])


def test_the_figure_holds_every_head_of_the_three_models(found: TrainedHeads) -> None:
    pictures = [one.images[0].get_array() for one in found.plot().axes]
    assert [one.shape for one in pictures] == [(4 * 33, 4 * 33), (4 * 33, 4 * 33), (6 * 33, 6 * 33)]
    grid = found.embedded.weights[5, 2]
    drawn = torch.tensor(pictures[2][5 * 33 : 5 * 33 + 28, 2 * 33 : 2 * 33 + 28].filled(0))
    assert torch.allclose(drawn, grid / grid.amax(-1, keepdim=True))
    assert int((~pictures[0].mask).sum()) == 16 * 28 * 29 // 2


@pytest.mark.parametrize("text", ["", "a", "x" * 65])
def test_a_text_too_short_or_too_long_is_refused(text: str) -> None:
    with pytest.raises(LessonError, match="From 2 to 64"):
        lesson.trained_heads(text=text)


def test_a_character_that_the_model_does_not_know_is_refused() -> None:
    with pytest.raises(UnknownCharacter):
        lesson.trained_heads(text="ROMEO 5")
