"""Knock-outs of named models on texts, and what is told of them as JSON values."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import attnscope as ats
from attnscope.errors import Cancelled
from attnscope.knocking import Cut
from attnscope.knocking.of_text import bench_of, told_of
from attnscope.models import open_model
from tests.models import tiny


def test_an_encoder_with_a_decoder_answers_first(tmp_path: Path) -> None:
    subject = open_model(str(tiny.t5_folder(tmp_path)))
    found = bench_of(subject, "the cat sat on the mat").without(Cut(0, 1))
    assert found.moved is not None
    assert found.moved.realised is not None
    json.dumps(told_of(subject, found), allow_nan=False)


def test_states_are_told_without_tokens(tmp_path: Path) -> None:
    subject = open_model(str(tiny.bert_folder(tmp_path)))
    found = bench_of(subject, "the cat sat").without(Cut(0, 1))
    told = told_of(subject, found)
    json.dumps(told, allow_nan=False)
    assert told["answers"] in ("states", "logits")


def test_it_is_left_in_the_middle_of_a_forward_by_what_progress_raises() -> None:
    subject = open_model("lesson")
    told: list[tuple[str, int]] = []

    def progress(text: str, done: int, total: int) -> None:
        told.append((text, done))
        if len(told) == 4:
            raise Cancelled("Stopped")

    with pytest.raises(Cancelled):
        bench_of(subject, "But, soft!", progress=progress)
    assert told[-1] == ("Running it with nothing taken out", 1)
    ids = subject.encode("But, soft!").inputs["ids"]
    assert ats.knockout(subject.module, ids, 0, 0).nothing.bit_equal
    assert not torch.overrides._get_current_function_mode_stack()
