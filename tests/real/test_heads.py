"""The known heads of a trained model come first under the scores that they are known by."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from attnscope.measure import HeadTable, heads

from .loaders import smollm2_folder

Measure = Callable[[str, str, str], None]

# (layer, head) of SmolLM2-135M-Instruct, as measured with eager weights on 64 random tokens twice
INDUCTION = [(18, 6), (17, 3), (17, 4), (17, 5), (18, 7)]
PREVIOUS = [(16, 0), (11, 1), (2, 1), (19, 3)]


@pytest.fixture(scope="module")
def table() -> HeadTable:
    return heads(smollm2_folder(), draws=3)


def first(table: HeadTable, score: str, count: int) -> list[tuple[int, int]]:
    return [(row.layer, row.head) for row in table.ranked(score)[:count]]


@pytest.mark.real
def test_the_known_induction_heads_come_first(table: HeadTable, measure: Measure) -> None:
    assert first(table, "induction_stripe", 1) == [INDUCTION[0]]
    assert set(first(table, "induction_stripe", 5)) == set(INDUCTION)
    for row in table.ranked("induction_stripe")[:5]:
        score = row.scores["induction_stripe"]
        assert "induction" in row.classes
        assert score.value > 0.5 > 40 * score.uniform
        assert score.shuffled < 0.05
    best = table.ranked("induction_stripe")[0].scores["induction_stripe"]
    measure("smollm2 heads", "induction 18.6", f"{best.value:.2f} ({best.low:.2f} to {best.high:.2f})")


@pytest.mark.real
def test_the_known_previous_token_heads_are_among_the_first(table: HeadTable) -> None:
    assert first(table, "previous_token", 2) == PREVIOUS[:2]
    assert set(PREVIOUS) <= set(first(table, "previous_token", 5))
    named = {(row.layer, row.head) for row in table.rows if "previous token" in row.classes}
    assert set(PREVIOUS) <= named


@pytest.mark.real
def test_what_copies_a_hidden_sentence_are_the_induction_heads(table: HeadTable) -> None:
    assert set(first(table, "retrieval", 2)) == {(18, 6), (18, 7)}
    assert set(first(table, "retrieval", 4)) <= set(INDUCTION)


@pytest.mark.real
def test_the_first_token_takes_a_third_of_all_weight(table: HeadTable) -> None:
    shares = [row.scores["sink"].value for row in table.rows]
    assert 0.25 < sum(shares) / len(shares) < 0.45
    assert sum("first token" in row.classes for row in table.rows) > 90


@pytest.mark.real
def test_measuring_a_long_text_takes_no_longer_than_recording_it(measure: Measure) -> None:
    import torch

    from attnscope.measure.attention import Uniform
    from attnscope.measure.run import measured, recorded_ids
    from attnscope.measure.texts import plain
    from attnscope.models import open_model

    subject = open_model(str(smollm2_folder()))
    story = " ".join(f"On day {day} the keeper wrote the hour in her book." for day in range(200))
    text = plain(subject, story, "a long text")
    assert len(text.ids or ()) > 2000
    torch.manual_seed(0)
    start = time.process_time()
    recording = recorded_ids(subject, text.ids or ())
    middle = time.process_time()
    uniform = Uniform()
    for site in recording.sites:
        measured(site, text, uniform)
    end = time.process_time()
    measure(
        "smollm2 heads",
        f"{len(text.ids or ()):,} tokens",
        f"{middle - start:.1f} s recording, {end - middle:.1f} s",
    )
    assert end - middle < middle - start
