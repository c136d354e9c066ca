"""`attnscope verify`: all is well, or each file is named with its fault, for a person and for a script."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Said

Say = Callable[..., "Said"]


@pytest.fixture
def look(say: Say, folder: Path, tmp_path: Path) -> Path:
    """Return a saved recording of two sites."""
    said = say("record", folder, "--text", "ROMEO: light", "-o", tmp_path / "look")
    assert said.code == 0, said.err
    return tmp_path / "look"


def test_a_whole_recording_is_said_to_be_one(say: Say, look: Path) -> None:
    said = say("verify", look)
    size = f"{sum(file.stat().st_size for file in look.iterdir()) / 2**10:,.1f} KB"
    assert said.code == 0 and said.err == ""
    assert said.out == f"{look}: format 3, 3 files, {size}, every byte as written\n"
    assert say("info", look).out.startswith(f"{look}: {size}, every file checked\n")


def test_each_bad_file_is_named_with_its_fault(say: Say, look: Path) -> None:
    first, second = sorted(look.glob("*.safetensors"))
    first.write_bytes(first.read_bytes()[:-1] + b"\xff")
    second.write_bytes(second.read_bytes()[:-1])
    said = say("verify", look)
    assert said.code == 1
    one, two, last = said.out.splitlines()
    assert one.startswith(f"{second.name}: it holds ") and one.endswith("it is truncated or changed")
    assert two.startswith(f"{first.name}: in ") and "does not fit its checksum" in two
    assert last == f"{look}: format 3, 2 of 3 files not as written"
    told = json.loads(say("verify", look, "--json").out)
    assert (told["whole"], told["version"]) == (False, 3)
    assert [fault["file"] for fault in told["faults"]] == [second.name, first.name]


def test_a_manifest_at_fault_is_named(say: Say, look: Path) -> None:
    (look / "manifest.json").write_text("{")
    said = say("verify", look)
    assert said.code == 1 and said.out.startswith("manifest.json: it cannot be read as JSON")
    assert json.loads(say("verify", look, "--json").out)["version"] is None


def test_where_nothing_is_there_is_nothing_to_verify(say: Say, tmp_path: Path) -> None:
    said = say("verify", tmp_path / "nowhere")
    assert said.code == 1 and said.err.startswith("There is no recording at")
    assert say("verify", "").code == 2


def test_a_bar_is_shown_to_a_person_alone(look: Path) -> None:
    ours, theirs = pty.openpty()
    program = [sys.executable, "-c", "from attnscope.cli.main import main; main()", "verify", str(look)]
    done = subprocess.run(program, stdout=subprocess.PIPE, stderr=theirs, check=False, timeout=120)
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert done.returncode == 0 and b"every byte as written" in done.stdout
    assert "Reading" in shown and "100%" in shown
