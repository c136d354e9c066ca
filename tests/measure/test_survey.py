"""A survey gives one table, whoever measures its texts and however often it is stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from attnscope.errors import AttnscopeError
from attnscope.gpt import GPT
from attnscope.measure import heads
from attnscope.measure.files import table_data
from attnscope.measure.table import HeadTable

from .conftest import TEXTS

ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def numbers(table: HeadTable) -> Any:
    return json.loads(json.dumps(table_data(table)["heads"]))


@pytest.fixture(scope="module")
def whole(folder: Path) -> Any:
    torch.set_num_threads(1)
    return numbers(heads(folder, TEXTS, draws=1))


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    words: list[str] = []
    for at, text in enumerate(TEXTS):
        (tmp_path / f"{at}.txt").write_text(text)
        words += ["--texts", str(tmp_path / f"{at}.txt")]
    return words


def test_two_processes_of_torchrun_give_the_numbers_of_one(
    folder: Path, files: list[str], whole: Any, tmp_path: Path
) -> None:
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    ask = ["-m", "attnscope", "heads", str(folder), *files, "--draws", "1", "-o", str(tmp_path / "two.json")]
    done = subprocess.run([*start, *ask], env=ONE_THREAD, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "two.json").read_text())["heads"] == whole
    assert done.stdout.count("two.json") == 1  # one of the two speaks


def test_a_survey_that_was_killed_goes_on_to_the_same_table(
    folder: Path, files: list[str], whole: Any, tmp_path: Path
) -> None:
    kept = tmp_path / "survey"
    ask = [sys.executable, "-m", "attnscope", "heads", str(folder), *files, "--draws", "1"]
    running = subprocess.Popen([*ask, "--folder", str(kept)], env=ONE_THREAD, stdout=subprocess.DEVNULL)
    try:
        while len(list(kept.glob("text-*.json"))) < 2:
            assert running.poll() is None, "it ended before it could be killed"
            time.sleep(0.005)
    finally:
        running.send_signal(signal.SIGKILL)
        running.wait()
    made = {path: path.stat().st_mtime_ns for path in kept.glob("text-*.json")}
    measured: list[str] = []
    table = heads(folder, TEXTS, draws=1, folder=kept, progress=lambda what, *_: measured.append(what))
    assert numbers(table) == whole
    assert 2 <= len(made) < len(table.texts)
    assert {path: path.stat().st_mtime_ns for path in made} == made  # what was finished is not done again


def test_a_finished_text_that_was_damaged_is_measured_again(folder: Path, whole: Any, tmp_path: Path) -> None:
    heads(folder, TEXTS, draws=1, folder=tmp_path / "survey")
    file = tmp_path / "survey" / "text-00001.json"
    given = file.read_bytes()
    file.write_bytes(given[:-40] + b"9" + given[-39:])
    assert numbers(heads(folder, TEXTS, draws=1, folder=tmp_path / "survey")) == whole
    assert file.read_bytes() == given


def test_the_folder_of_another_survey_is_refused(folder: Path, tmp_path: Path) -> None:
    heads(folder, TEXTS[:1], draws=0, folder=tmp_path / "survey")
    with pytest.raises(AttnscopeError, match="holds another survey: texts, count differ"):
        heads(folder, TEXTS[:2], draws=0, folder=tmp_path / "survey")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("x")
    with pytest.raises(AttnscopeError, match=r"holds notes\.txt, and no survey to go on with"):
        heads(folder, TEXTS[:1], draws=0, folder=tmp_path / "mine")


def test_a_model_at_hand_gives_what_its_folder_gives_and_keeps_its_mode(model: GPT, whole: Any) -> None:
    model.train()
    try:
        assert numbers(heads(model, TEXTS, draws=1)) == whole
        assert model.training
    finally:
        model.eval()


def test_another_seed_draws_other_tokens_and_other_orders(folder: Path, whole: Any) -> None:
    other = numbers(heads(folder, TEXTS, draws=1, seed=1))
    same, drawn = (
        [row["scores"][name]["value"] for row in table] for table in (other, whole) for name in ("sink",)
    )
    assert same == drawn
    assert [row["scores"]["induction_stripe"]["value"] for row in other] != [
        row["scores"]["induction_stripe"]["value"] for row in whole
    ]
