"""`attnscope train` and `attnscope sample` as a user meets them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from attnscope.cli import train
from attnscope.cli.main import run
from attnscope.gpt import presets
from tests.gpt.tiny import LINE, tiny


@pytest.fixture(autouse=True)
def _tiny_presets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(presets.PRESETS, "laptop", tiny("laptop"))
    monkeypatch.setattr(train, "SAMPLE_LENGTH", 15)


@pytest.fixture
def text_file(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(LINE * 30)
    return path


def words(text: Path, out: Path, *more: str) -> list[str]:
    return ["train", "--text", str(text), "--preset", "laptop", "--out", str(out), "--threads", "1", *more]


def test_a_training_ends_with_a_model_a_card_a_curve_and_a_sample(
    text_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(words(text_file, out)) == 0
    shown = capsys.readouterr()
    assert "12 steps" in (out / "README.md").read_text()
    assert f"exactly {shown.out.split('exactly ')[1].split(')')[0]}" in (out / "README.md").read_text()
    assert "--preset laptop --seed 1 --threads 1`" in (out / "README.md").read_text()
    assert (out / "losses.png").read_bytes().startswith(b"\x89PNG")
    assert "step 5: validation loss" in shown.err
    assert sorted(path.name for path in out.iterdir()) == [
        "README.md", "checkpoint.safetensors", "config.json", "losses.csv", "losses.png", "model.safetensors",
        "training.json", "vocabulary.json",
    ]  # fmt: skip
    assert run(words(text_file, out)) == 0
    again = capsys.readouterr()
    assert "Going on from step 12 of 12." in again.err
    assert again.out == shown.out
    assert run(["sample", str(out), "--prompt", "the ", "--length", "9", "--seed", "3"]) == 0
    assert len(capsys.readouterr().out) == len("the ") + 9 + 1


def test_fewer_steps_are_another_recipe_and_the_card_says_so(text_file: Path, tmp_path: Path) -> None:
    assert run(words(text_file, tmp_path / "out", "--steps", "3")) == 0
    assert "--threads 1 --steps 3`" in (tmp_path / "out" / "README.md").read_text()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ["--preset", "huge"],
            "There is no preset 'huge'. One of lesson, lesson-no-positions, laptop, embedded.",
        ),
        (["--text", "nowhere.txt"], "There is no file nowhere.txt. A text file to train on."),
        (["--seed", "2"], "holds another run: this one has seed 2, not 1. Choose another --out"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_1(
    text_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], change: list[str], message: str
) -> None:
    out = tmp_path / "out"
    assert run(words(text_file, out, "--steps", "1")) == 0
    capsys.readouterr()
    assert run(words(text_file, out, "--steps", "1", *change)) == 1
    shown = capsys.readouterr().err
    assert message in shown
    assert "Traceback" not in shown


def test_a_text_that_is_too_short_says_how_long_it_must_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "short.txt").write_text("to be")
    assert run(words(tmp_path / "short.txt", tmp_path / "out")) == 1
    assert "The text has 5 characters. At least 27, so that" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["nowhere"], "There is no folder nowhere."),
        (["MODEL", "--prompt", "the Ω"], "The character 'Ω' (U+03A9) at position 4 is not in this model's"),
        (["MODEL", "--prompt", ""], "An empty prompt. At least one character to go on from."),
        (["MODEL", "--prompt", "the", "--temperature", "-1"], "A temperature of -1.0. 0 or more"),
    ],
)
def test_a_sample_that_cannot_be_is_one_sentence_and_exit_1(
    model_folder: Path, capsys: pytest.CaptureFixture[str], given: list[str], message: str
) -> None:
    assert run(["sample", *(str(model_folder) if word == "MODEL" else word for word in given)]) == 1
    assert message in capsys.readouterr().err


def test_ctrl_c_saves_and_says_how_to_go_on(text_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    program = (
        "import sys; from attnscope.gpt import presets; from attnscope.cli.main import main\n"
        "from tiny import *\n"
        "presets.PRESETS['laptop'] = tiny('laptop', steps=100000); main(sys.argv[1:])"
    )
    here = Path(__file__).parent
    environment = os.environ | {"PYTHONPATH": f"{here}{os.pathsep}{here.parents[1] / 'src'}"}
    command = [sys.executable, "-c", program, *words(text_file, out)]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    deadline = time.time() + 100
    path = out / "checkpoint.safetensors"
    while not (path.exists() and _steps(out) >= 4):
        assert process.poll() is None
        assert time.time() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=100)
    assert process.returncode == 130
    assert "and saved. To go on:" in errors
    assert f"attnscope train --text {text_file} --preset laptop --out {out} --seed 1 --threads 1" in errors
    assert f"Stopped after step {_steps(out):,} of 100,000" in errors


def _steps(out: Path) -> int:
    from attnscope.gpt.checkpoint import read_checkpoint

    kept = read_checkpoint(out)
    return 0 if kept is None else kept.step
