"""Losses as data."""

from __future__ import annotations

import json

from attnscope.gpt.history import History


def test_every_digit_survives_the_way_through_json() -> None:
    history = History([0.1, 1 / 3], {2: 2 / 3})
    assert History.from_dict(json.loads(json.dumps(history.to_dict()))) == history


def test_the_table_has_a_row_for_each_step() -> None:
    table = History([4.0, 3.5, 3.25], {2: 3.75}).to_csv()
    assert table.splitlines() == [
        "step,training_loss,validation_loss", "1,4.000000,", "2,3.500000,3.750000", "3,3.250000,",
    ]  # fmt: skip


def test_means_stand_at_the_middle_of_their_steps() -> None:
    assert History([1.0, 2.0, 3.0, 8.0], {}).smoothed(3) == [(2.0, 2.0), (4.0, 8.0)]
    assert History().smoothed() == []
