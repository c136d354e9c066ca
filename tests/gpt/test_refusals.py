"""What may not be written over, what the system refuses, and sizes and numbers that cannot be."""

from __future__ import annotations

import errno
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from attnscope.cli.main import run
from attnscope.errors import AttnscopeError, BrokenModel, TrainingError
from attnscope.files import write_whole
from attnscope.gpt import generate, load, presets
from attnscope.gpt.checkpoint import NAME, read_checkpoint
from attnscope.gpt.data import Blocks
from attnscope.gpt.store import CONFIG, VOCABULARY, WEIGHTS, save_model
from attnscope.gpt.train import Training
from attnscope.models.own import open_own
from tests.gpt.tiny import LINE, small, tiny

PARTIAL = f".{NAME}.partial"


@pytest.fixture
def folder(model_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(model_folder, tmp_path / "model"))


def train(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *more: str) -> int:
    monkeypatch.setitem(presets.PRESETS, "laptop", tiny("laptop", steps=1))
    (tmp_path / "text.txt").write_text(LINE * 30)
    return run(["train", "--text", str(tmp_path / "text.txt"), "--preset", "laptop", *more])


@pytest.mark.parametrize(
    "names",
    [
        ["README.md"], ["losses.csv"], ["training.json"], ["config.json"], ["notes", "README.md"],
        ["recording.json", "weights.safetensors"], [".gitignore"], [PARTIAL, "vocabulary.json"],
    ],
)  # fmt: skip
def test_a_folder_of_something_else_is_refused_and_stays_as_it_was(
    text: str, tmp_path: Path, names: list[str]
) -> None:
    for name in names:
        (tmp_path / name).write_text(f"mine: {name}")
    with pytest.raises(
        TrainingError, match=r"holds .*, and no run to go on with\. A folder that is new.*--out"
    ):
        Training(text, tiny("laptop"), tmp_path, seed=1)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {n: f"mine: {n}" for n in names}


def test_the_rest_of_a_killed_first_write_is_no_hindrance(text: str, tmp_path: Path) -> None:
    (tmp_path / PARTIAL).write_bytes(b"half a")
    Training(text, tiny("laptop"), tmp_path, seed=1)
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


def test_a_checkpoint_of_another_program_is_not_to_be_deleted(text: str, tmp_path: Path) -> None:
    save_file({"x": torch.zeros(2)}, tmp_path / NAME)
    with pytest.raises(TrainingError, match=r"is not of a run of attnscope\. Choose another --out\.$"):
        Training(text, tiny("laptop"), tmp_path, seed=1)


@pytest.mark.parametrize("out", ["", "  "])
def test_an_empty_out_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], out: str
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert train(monkeypatch, tmp_path, "--out", out) == 1
    assert "--out is empty. The name of a folder for the run." in capsys.readouterr().err
    assert not list((tmp_path / "here").iterdir())


def test_more_threads_than_a_machine_can_hold_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(monkeypatch, tmp_path, "--out", str(tmp_path / "out"), "--threads", "99999999") == 1
    most = 4 * (os.cpu_count() or 1)
    assert f"99999999 threads. From 1 to {most}, which is 4 for each core" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("seed", ["9" * 30, str(2**63), "-1"])
def test_a_seed_past_63_bits_is_a_command_line_that_does_not_parse(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, model_folder: Path, seed: str
) -> None:
    assert train(monkeypatch, tmp_path, "--out", str(tmp_path / "out"), "--seed", seed) == 2
    assert run(["sample", str(model_folder), "--seed", seed]) == 2


def test_a_seed_past_63_bits_is_refused_by_the_library_too(text: str, tmp_path: Path) -> None:
    with pytest.raises(AttnscopeError, match="A seed of 9223372036854775808"):
        generate(small("lesson"), "a", 3, seed=2**63)
    with pytest.raises(TrainingError, match="A seed of 9223372036854775808"):
        Training(text, tiny("laptop"), tmp_path, seed=2**63)


def test_the_largest_seed_trains(text: str, tmp_path: Path) -> None:
    assert Training(text, tiny("laptop"), tmp_path, seed=2**63 - 1).advance().loss > 0
    assert Blocks(torch.arange(500), context=7, batch=4, seed=2**63 - 1).at(90)[0].shape == (4, 7)


@pytest.mark.parametrize("temperature", [1e-320, 5e-324, 1e-300, 1e-7, 1e-6])
def test_a_tiny_temperature_is_as_good_as_zero(model_folder: Path, temperature: float) -> None:
    model = load(model_folder)
    greedy = generate(model, "the ", 20, temperature=0)
    assert generate(model, "the ", 20, temperature=temperature, seed=9) == greedy


def test_logits_that_are_no_numbers_are_not_sampled_from() -> None:
    model = small("lesson")
    with torch.no_grad():
        model.head.weight[:] = torch.inf
    with pytest.raises(BrokenModel, match="logits are NaN or infinite"):
        generate(model, "a", 1)


def change(folder: Path, name: str, **values: object) -> None:
    path = folder / name
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"n_layers": 10**9}, r"model\.safetensors lacks layers\.2\."),
        ({"n_layers": 10**30}, r"model\.safetensors lacks layers\.2\."),
        ({"d_model": 9_999_996}, r"embedding\.weight in .*\. \(\d+, 9999996\), by the config\.json"),
        ({"d_model": 3 * 10**12}, "d_model is 3000000000000. A whole number of 16777216 at most"),
        ({"context": 10**12}, "context is 1000000000000. A whole number of 16777216 at most"),
        ({"n_heads": 12}, "d_model=12 and n_heads=12 with rotary positions"),
        ({"vocabulary": 10**12}, r"vocabulary\.json is not this model's vocabulary"),
        ({"style": []}, r"style=\[\] with positions='rotary'"),
        ({"style": {}, "positions": None}, r"style=\{\} with positions=None"),
        ({"n_layers": [2]}, r"n_layers is \[2\]"),
        ({"d_model": 12.0}, r"d_model is 12\.0"),
        ({"context": None}, "context is None"),
        ({"version": True}, "format is version True"),
        ({"version": []}, r"format is version \[\]"),
        ({"format": [], "model_type": ["x"]}, "is of something else"),
    ],
)  # fmt: skip
def test_sizes_are_compared_with_the_weights_before_anything_is_built(
    folder: Path, values: dict[str, Any], message: str
) -> None:
    change(folder, CONFIG, **values)
    with pytest.raises(BrokenModel, match=message):
        load(folder)
    with pytest.raises(BrokenModel, match=message):
        open_own(folder, name="x", label="x")


@pytest.mark.timeout(60)
def test_a_context_that_the_positions_do_not_have_is_named(tmp_path: Path) -> None:
    save_model(small("lesson"), tmp_path)
    change(tmp_path, CONFIG, context=10**7)
    with pytest.raises(BrokenModel, match=r"position\.weight in .* is \(11, 12\)\. \(10000000, 12\), by the"):
        load(tmp_path)


@pytest.mark.parametrize("characters", [None, 5, ["a"], "\ud800" * 17])
def test_a_vocabulary_of_another_type_is_named(folder: Path, characters: object) -> None:
    change(folder, VOCABULARY, characters=characters)
    with pytest.raises(BrokenModel, match=r"vocabulary\.json"):
        load(folder)


def test_json_nested_too_deeply_is_named(folder: Path) -> None:
    (folder / CONFIG).write_text("[" * 200_000)
    with pytest.raises(BrokenModel, match=r"config\.json is not JSON"):
        load(folder)


def test_weights_that_are_no_floating_point_numbers_are_named(folder: Path) -> None:
    shapes = load(folder).state_dict()
    save_file({name: torch.zeros(x.shape, dtype=torch.int8) for name, x in shapes.items()}, folder / WEIGHTS)
    with pytest.raises(BrokenModel, match=r"is of torch\.int8\. Floating point"):
        load(folder)


def locked(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """As without the right to read that file: a test may run as a user who has every right."""
    real = Path.open

    def refuse(self: Path, *given: Any, **named: Any) -> Any:
        if self.name == name:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))
        return real(self, *given, **named)

    monkeypatch.setattr(Path, "open", refuse)


@pytest.mark.parametrize("name", [CONFIG, VOCABULARY, WEIGHTS])
def test_a_model_file_without_the_right_to_read_it_is_named(
    monkeypatch: pytest.MonkeyPatch, folder: Path, name: str
) -> None:
    locked(monkeypatch, name)
    for opened in (load, lambda folder: open_own(folder, name="x", label="x")):
        with pytest.raises(BrokenModel, match=rf"{name} cannot be read: Permission denied\.$"):
            opened(folder)


def test_a_checkpoint_without_the_right_to_read_it_is_named(
    monkeypatch: pytest.MonkeyPatch, text: str, tmp_path: Path
) -> None:
    Training(text, tiny("laptop"), tmp_path, seed=1)
    locked(monkeypatch, NAME)
    with pytest.raises(TrainingError, match=rf"{NAME} cannot be read: Permission denied\.$"):
        Training(text, tiny("laptop"), tmp_path, seed=1)


@pytest.mark.parametrize("name", [NAME, "README.md", "losses.png", WEIGHTS])
def test_a_file_without_the_right_to_write_it_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    locked(monkeypatch, f".{name}.partial")
    assert train(monkeypatch, tmp_path, "--out", str(tmp_path / "out"), "--threads", "1") == 1
    assert f"{tmp_path / 'out' / name} cannot be written: Permission denied." in capsys.readouterr().err


@pytest.mark.parametrize("command", ["train", "sample"])
def test_a_name_that_the_system_refuses_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, message in (("x" * 300, "cannot be read: File name too long"), ("~nobody-here/x", "not known")):
        out = ("--out", name)
        assert (train(monkeypatch, tmp_path, *out) if command == "train" else run(["sample", name])) == 1
        shown = capsys.readouterr().err
        assert message in shown
        assert "did not expect" not in shown


@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_failed_write_keeps_the_old_file_and_leaves_no_part_of_the_new(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, failure: BaseException
) -> None:
    def full(number: int) -> None:
        raise failure

    write_whole(tmp_path / "file", b"old", TrainingError)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TrainingError if isinstance(failure, OSError) else KeyboardInterrupt) as caught:
        write_whole(tmp_path / "file", b"new", TrainingError)
    if isinstance(failure, OSError):
        assert str(caught.value) == f"{tmp_path / 'file'} cannot be written: No space left on device."
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": b"old"}


def test_a_checkpoint_whose_tensors_are_not_the_models_is_named(text: str, tmp_path: Path) -> None:
    Training(text, tiny("laptop"), tmp_path, seed=1)
    kept = read_checkpoint(tmp_path)
    assert kept is not None
    replace(kept, weights={}).save(tmp_path)
    with pytest.raises(TrainingError, match="is not a whole checkpoint"):
        Training(text, tiny("laptop"), tmp_path, seed=1)
