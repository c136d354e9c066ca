"""A run that was stopped ends as one that was not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from attnscope.errors import TrainingError
from attnscope.gpt import load
from attnscope.gpt.checkpoint import NAME, read_checkpoint
from attnscope.gpt.presets import PRESETS
from attnscope.gpt.train import Training
from tests.gpt.tiny import finished, tiny

STYLES = ["lesson", "laptop", "embedded"]


@pytest.mark.parametrize("style", STYLES)
def test_stopped_anywhere_and_resumed_it_ends_with_the_same_bits(
    style: str, text: str, tmp_path: Path
) -> None:
    whole, loss = finished(text, tiny(style), tmp_path / "whole")
    for stop in (1, 6, 11):
        folder = tmp_path / str(stop)
        first = Training(text, tiny(style), folder, seed=1, threads=1)
        for _ in range(stop):
            first.advance()
        saved = stop // 4 * 4  # as after kill -9: what was done since the last checkpoint is lost
        torch.manual_seed(stop)
        again, again_loss = finished(text, tiny(style), folder)
        assert first.step == stop
        assert again_loss == loss, (stop, saved)
        assert again.history == whole.history
        assert (folder / "model.safetensors").read_bytes() == (
            tmp_path / "whole/model.safetensors"
        ).read_bytes()


def test_a_step_asked_for_by_ctrl_c_is_where_it_goes_on(text: str, tmp_path: Path) -> None:
    run = Training(text, tiny("laptop"), tmp_path, seed=1, threads=1)
    for _ in range(6):
        run.advance()
    run.save()
    assert Training(text, tiny("laptop"), tmp_path, seed=1).step == 6


def test_killed_at_any_moment_it_leaves_a_whole_checkpoint(text: str, tmp_path: Path) -> None:
    program = (
        "from tiny import *; from dataclasses import replace\n"
        "p = tiny('laptop', steps=100000); p = replace(p, recipe=replace(p.recipe, save_every=1))\n"
        f"run = Training({text!r}, p, Path({str(tmp_path)!r}), seed=1, threads=1)\n"
        "while True: run.advance()\n"
    )
    here = Path(__file__).parent
    environment = os.environ | {"PYTHONPATH": f"{here}{os.pathsep}{here.parents[1] / 'src'}"}
    steps = [0]
    for _ in range(2):
        process = subprocess.Popen([sys.executable, "-c", program], env=environment)
        deadline = time.time() + 100
        while _kept_step(tmp_path) < steps[-1] + 3:
            assert process.poll() is None
            assert time.time() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        kept = read_checkpoint(tmp_path)
        assert kept is not None
        assert kept.step == len(kept.history.training)
        steps.append(kept.step)
    assert steps == sorted(set(steps))


def _kept_step(folder: Path) -> int:
    kept = read_checkpoint(folder)
    return 0 if kept is None else kept.step


def test_another_run_in_the_folder_is_refused_with_the_differences(text: str, tmp_path: Path) -> None:
    Training(text, tiny("laptop"), tmp_path, seed=1, threads=1)
    message = (
        r"holds another run: this one has another text; seed 2, not 1; another recipe\. Choose another --out"
    )
    with pytest.raises(TrainingError, match=message):
        Training(text + text, tiny("laptop", steps=13), tmp_path, seed=2, threads=1)


def test_a_resumed_run_keeps_the_number_of_threads_it_began_with(text: str, tmp_path: Path) -> None:
    before = torch.get_num_threads()
    Training(text, tiny("laptop"), tmp_path, seed=1, threads=3)
    again = Training(text, tiny("laptop"), tmp_path, seed=1)
    again.advance()
    assert again.settings.threads == 3
    assert torch.get_num_threads() == before


def test_a_model_in_the_folder_is_never_written_over(text: str, tmp_path: Path) -> None:
    finished(text, tiny("laptop"), tmp_path)
    (tmp_path / NAME).unlink()
    with pytest.raises(TrainingError, match="holds a model already"):
        Training(text, tiny("laptop"), tmp_path, seed=1)


def test_a_file_in_place_of_the_folder_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("hello")
    with pytest.raises(TrainingError, match=r"out is a file\. A folder for the run"):
        Training(text, tiny("laptop"), tmp_path / "out", seed=1)


def test_a_loss_that_is_no_number_stops_the_run_and_leaves_the_checkpoint(text: str, tmp_path: Path) -> None:
    run = Training(text, tiny("laptop"), tmp_path, seed=1, threads=1)
    with torch.no_grad():
        run.model.embedding.weight[:] = torch.nan
    with pytest.raises(TrainingError, match=r"The loss became nan at step 1\. A lower learning rate"):
        run.advance()
    assert Training(text, tiny("laptop"), tmp_path, seed=1).advance().loss > 0


@pytest.mark.parametrize("damage", [b"", b"hello", None])
def test_a_broken_checkpoint_is_named(text: str, tmp_path: Path, damage: bytes | None) -> None:
    Training(text, tiny("laptop"), tmp_path, seed=1, threads=1)
    path = tmp_path / NAME
    path.write_bytes(path.read_bytes()[:-100] if damage is None else damage)
    with pytest.raises(TrainingError, match=r"is not a whole checkpoint .* Delete that file to start"):
        Training(text, tiny("laptop"), tmp_path, seed=1)


def test_the_loss_falls(text: str, tmp_path: Path) -> None:
    run, loss = finished(text, tiny("laptop", steps=60), tmp_path)
    assert run.history.training[0] == pytest.approx(2.8, abs=0.3)
    assert loss < 2.2


def test_the_weights_are_kept_in_the_presets_dtype(text: str, tmp_path: Path) -> None:
    run, loss = finished(text, tiny("embedded"), tmp_path)
    assert (tmp_path / "model.safetensors").stat().st_size < 2.5 * run.model.parameter_count + 5000
    stored, exact = load(tmp_path).embedding.weight, run.model.embedding.weight
    assert torch.equal(stored, exact.half().float())
    assert loss == run.history.validation[12]


def test_no_file_of_a_run_is_a_pickle(text: str, tmp_path: Path) -> None:
    finished(text, tiny("laptop"), tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [NAME, "config.json", "model.safetensors", "vocabulary.json"]
    for path in tmp_path.iterdir():
        start = path.read_bytes()[:9]
        assert start.lstrip()[:1] == b"{" or start[8:] == b"{"


def test_every_preset_can_be_built_and_says_what_it_is() -> None:
    for name, preset in PRESETS.items():
        assert preset.name == name
        assert preset.what
        assert preset.config(65).context == preset.context
        assert replace(preset.recipe, steps=1).share(0) <= 1
