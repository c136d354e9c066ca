"""Section 10: three pictures that sum it up, and the glossary."""

from __future__ import annotations

import json

import pytest
import torch

from attnscope import lesson
from attnscope.errors import LessonError, ShapeError
from attnscope.lesson.arcs import UNDECIDED, WEIGHTS
from attnscope.lesson.glossary import ENTRIES, Entry

THE_WORDS = [  # section 10 of the lesson
    "self-attention", "query", "key", "value", "attention score", "attention weights", "causal mask", "head",
    "multi-head attention", "d_head", "permutation-equivariant", "residual stream", "lse",
]  # fmt: skip


def test_it_looks_at_the_animal_that_is_tired_and_at_the_street_that_is_wide() -> None:
    found = lesson.arcs()
    animal, street = found.targets
    assert [found.sentences[0][j] for j in found.targets] == ["animal", "street"]
    assert found.sentences[1][found.asking] == "it"
    tired, wide = found.row("tired", "bidirectional"), found.row("wide", "bidirectional")
    assert tired[animal] > 5 * tired[street]
    assert wide[street] > 5 * wide[animal]


def test_the_bidirectional_weights_are_the_invented_ones() -> None:
    found = lesson.arcs()
    for ending, row in WEIGHTS.items():
        wanted = torch.tensor(row, dtype=torch.float64)
        torch.testing.assert_close(found.row(ending, "bidirectional"), wanted, rtol=0, atol=1e-14)


def test_under_the_causal_mask_the_late_word_cannot_matter() -> None:
    found = lesson.arcs()
    tired, wide = found.row("tired", "causal"), found.row("wide", "causal")
    assert torch.equal(tired, wide)  # bit for bit
    assert not tired[found.asking + 1 :].any()  # exactly 0
    wanted = torch.tensor(UNDECIDED, dtype=torch.float64)
    torch.testing.assert_close(tired[: found.asking + 1], wanted, rtol=0, atol=1e-14)
    assert not found.reads[:, 1].any()
    torch.testing.assert_close(found.reads[:, 0], torch.full((2,), 0.5, dtype=torch.float64))


def test_every_row_of_the_invented_weights_sums_to_1() -> None:
    sums = lesson.arcs().weights.sum(-1)
    torch.testing.assert_close(sums, torch.ones(2, 2, dtype=torch.float64), rtol=0, atol=1e-14)


def test_the_weights_and_the_sentence_are_parameters() -> None:
    found = lesson.arcs(
        sentence="cats sleep since they are",
        weights={"lazy": (0.5, 0.1, 0.1, 0.1, 0.1, 0.1)},
        undecided=(0.25, 0.25, 0.25, 0.25),
        asking="they",
        targets=("cats",),
    )
    assert found.sentences == (("cats", "sleep", "since", "they", "are", "lazy"),)
    assert found.row("lazy", "bidirectional")[0] == pytest.approx(0.5)
    assert found.row("lazy", "causal").tolist() == pytest.approx([0.25] * 4 + [0, 0])
    assert len(found.plot().axes) == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"asking": "them"}, r"There is no 'them' in the sentence\. One of The, animal"),
        ({"weights": {}}, r"weights=\{\}\. At least one last word with its weights is wanted"),
        ({"weights": {"tired": (0.5, 0.5)}}, r"The row of 'tired' has 2 weights\. 11 are wanted"),
        ({"weights": {"tired": (0.1,) * 11}}, r"sums to 1\.1, its least weight is 0\.1\. Weights above 0"),
        ({"undecided": (0.0, 1.0, 0, 0, 0, 0, 0, 0)}, r"The undecided row sums to 1, its least weight is 0"),
        ({"undecided": (float("nan"),) * 8}, r"The undecided row sums to nan"),
    ],
)
def test_weights_that_cannot_be_are_refused(options: dict, said: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(LessonError, match=said):
        lesson.arcs(**options)


def test_the_arcs_are_drawn_as_wide_as_the_weight() -> None:
    from matplotlib.patches import Arc

    found = lesson.arcs()
    axes = found.plot().axes
    assert [at.get_title(loc="left") for at in axes] == [
        "tired, bidirectional: invented weights", "tired, causal: invented weights",
        "wide, bidirectional: invented weights", "wide, causal: invented weights",
    ]  # fmt: skip
    drawn = [[patch.get_linewidth() for patch in at.patches if isinstance(patch, Arc)] for at in axes]
    assert [len(widths) for widths in drawn] == [10, 7, 10, 7]
    row = found.row("wide", "bidirectional")
    others = [12 * float(row[j]) for j in range(11) if j != found.asking]
    assert drawn[2] == pytest.approx(others)


def test_every_arrow_of_the_pipeline_has_its_shape() -> None:
    found = lesson.pipeline(t=5, d_model=7, d=3)
    shapes = {(arrow.start, arrow.end): arrow.shape for arrow in found.arrows}
    assert shapes == {
        ("x", "q"): (5, 7), ("x", "k"): (5, 7), ("x", "v"): (5, 7), ("q", "scores"): (5, 3),
        ("k", "scores"): (5, 3), ("scores", "scale"): (5, 5), ("scale", "mask"): (5, 5),
        ("mask", "softmax"): (5, 5), ("softmax", "mix"): (5, 5), ("v", "mix"): (5, 3), ("mix", "out"): (5, 3),
    }  # fmt: skip
    sizes = {"t": 5, "d_model": 7, "d": 3}
    for arrow in found.arrows:
        assert tuple(sizes[name] for name in arrow.axes) == arrow.shape
    assert {arrow.start for arrow in found.arrows} | {"out"} == {box.id for box in found.boxes}
    written = [text.get_text() for text in found.plot().axes[0].texts]
    assert written.count("5 × 5") == 4
    assert {box.text for box in found.boxes} <= set(written)


def test_64_inputs_go_through_4_heads_of_16() -> None:
    found = lesson.through_heads()
    assert found.d_head == 16
    assert {stage.id: stage.shape for stage in found.stages} == {
        "x": (8, 64), "qkv": (8, 192), "split": (4, 8, 16), "weights": (4, 8, 8), "outs": (4, 8, 16),
        "joined": (8, 64), "out": (8, 64),
    }  # fmt: skip
    for stage in found.stages:
        assert stage.width == (8 if stage.id == "weights" else 64 // stage.parts)
    assert found.joined_again
    assert found.sum_of_parts < 1e-14
    axes = found.plot().axes[0]
    assert len(axes.patches) == sum(stage.groups * stage.parts for stage in found.stages)


def test_other_sizes_of_the_pictures() -> None:
    assert lesson.through_heads(t=3, d_model=12, n_heads=2).stages[2].shape == (2, 3, 6)
    with pytest.raises(ShapeError, match="d_model=10 and n_heads=4"):
        lesson.through_heads(d_model=10)
    for wrong in (0, 5000, 2.5, True):
        with pytest.raises(LessonError, match=rf"t={wrong}\. A whole number (from 1 to 4,096 )?is wanted"):
            lesson.pipeline(t=wrong)  # type: ignore[arg-type]


def test_the_pictures_leave_the_random_state_alone() -> None:
    torch.manual_seed(3)
    wanted = torch.rand(4)
    torch.manual_seed(3)
    lesson.through_heads()
    lesson.pipeline()
    assert torch.equal(torch.rand(4), wanted)


def test_the_glossary_has_the_thirteen_words_in_one_sentence_each() -> None:
    entries = lesson.glossary().entries
    assert [entry.term for entry in entries] == THE_WORDS
    for entry in entries:
        assert entry.says.endswith(".")
        assert ". " not in entry.says
        assert "!" not in entry.says


def test_a_word_that_stands_twice_is_refused() -> None:
    with pytest.raises(LessonError, match=r"The glossary's entry 'query'\. A word of its own"):
        lesson.glossary(entries=(*ENTRIES, Entry("query", "Again.")))
    with pytest.raises(LessonError, match=r"The glossary's entry 'new'"):
        lesson.glossary(entries=(Entry("new", " "),))


@pytest.mark.parametrize("name", ["arcs", "pipeline", "through_heads", "glossary"])
def test_an_experiment_is_tables_a_figure_and_data(name: str) -> None:
    found = getattr(lesson, name)()
    for table in found.tables():
        assert all(len(row) == len(table.columns) for row in table.rows)
    assert found.plot().axes
    assert len(json.dumps(found.to_dict(), allow_nan=False)) < 5_000
