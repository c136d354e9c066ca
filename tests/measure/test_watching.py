"""Watching heads along a training changes nothing of it, and survives its stops."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from attnscope.cli.main import run
from attnscope.cli.watched import appeared, sentence
from attnscope.errors import TrainingError
from attnscope.gpt import presets
from attnscope.gpt.train import Training
from attnscope.measure.watching import FILE, WATCHED, Watch, watch
from tests.gpt.tiny import LINE, tiny

TEXT = LINE * 30


def trained(folder: Path, *, until: int | None = None) -> tuple[Training, Watch]:
    """Go on with the run in a folder up to a step, watching its heads."""
    made = Training(TEXT, tiny("laptop"), folder, threads=1)
    watched = watch(made.model, folder, TEXT, step=made.step, steps=made.recipe.steps)
    watched.every = 3
    while not made.done and (until is None or made.step < until):
        if watched.due(made.step, made.recipe.steps):
            watched.look(made.step)
        made.advance()
    if watched.due(made.step, made.recipe.steps):
        watched.look(made.step)
    return made, watched


def test_the_command_keeps_the_scores_and_their_picture_and_trains_the_same_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(presets.PRESETS, "laptop", tiny("laptop"))
    monkeypatch.setattr("attnscope.cli.train.SAMPLE_LENGTH", 5)
    (tmp_path / "text.txt").write_text(TEXT)
    for name, more in (("plain", []), ("watched", ["--watch-heads"])):
        words = ["train", "--text", str(tmp_path / "text.txt"), "--preset", "laptop", "--threads", "1"]
        assert run([*words, "--out", str(tmp_path / name), *more]) == 0
    assert "induction, stripe: no head reached 0.3; the most was" in capsys.readouterr().out
    plain, seen = (tmp_path / name / "model.safetensors" for name in ("plain", "watched"))
    assert plain.read_bytes() == seen.read_bytes()
    assert (tmp_path / "watched" / "heads.png").read_bytes().startswith(b"\x89PNG")
    drawn = (tmp_path / "watched" / "heads.svg").read_text()
    assert "<svg" in drawn and all(word in drawn for word in ("previous token", "loss, nats a character"))
    rows = list(csv.DictReader((tmp_path / "watched" / FILE).read_text().splitlines()))
    assert {row["step"] for row in rows} == {"-1", *map(str, range(13))}
    assert all(0 <= float(row["previous_token"]) <= 1 for row in rows)


def test_a_run_that_was_killed_ends_with_the_file_of_one_that_was_not(tmp_path: Path) -> None:
    whole, _ = trained(tmp_path / "whole")
    trained(tmp_path / "killed", until=8)  # the last checkpoint is older than the last look
    kept = (tmp_path / "killed" / FILE).read_text()
    assert "\n6," in kept
    again, _ = trained(tmp_path / "killed")
    assert again.step == whole.step
    assert (tmp_path / "killed" / FILE).read_bytes() == (tmp_path / "whole" / FILE).read_bytes()


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    made, _ = trained(tmp_path / "run", until=1)
    (tmp_path / "run" / FILE).write_text("a,b\n1,2\n")
    with pytest.raises(TrainingError, match=r"heads\.csv does not hold the scores of a run"):
        watch(made.model, tmp_path / "run", TEXT, step=0, steps=9)


def test_a_head_appears_at_the_first_step_that_reaches_its_rule(tmp_path: Path) -> None:
    made, watched = trained(tmp_path / "run", until=0)
    blank = [0.1] * len(WATCHED)
    high = [0.9 if name == "previous_token" else 0.1 for name in WATCHED]
    watched.values = {(0, 0, 0): tuple(blank), (3, 0, 1): tuple(high), (6, 1, 0): tuple(high)}
    assert appeared(watched, "previous_token") == (3, 0, 1)
    assert sentence(watched, "previous_token") == "previous token: layer 0, head 1 reached 0.4 by step 3"
    assert appeared(watched, "induction_stripe") is None
    assert made.step == 0
