"""How a command ends: the system refuses, the output has no place to go, Ctrl-C comes at any moment."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from attnscope.cli.lazy import LazyGroup

MAIN = "from attnscope.cli.main import main; main()"
INTERRUPT = "import os, signal; stop = lambda *_: os.kill(os.getpid(), signal.SIGINT)\n"


def _process(code: str, *words: str, **given: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        **given,
    )


def _shell(line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", line, sys.executable, MAIN], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            PermissionError(errno.EACCES, "Permission denied", "x/rec"),
            "x/rec cannot be used: permission denied. Choose another file or folder.\n",
        ),
        (
            NotADirectoryError(errno.ENOTDIR, "Not a directory", "a.txt/b"),
            "a.txt/b cannot be used: not a directory. Choose another file or folder.\n",
        ),
        (
            OSError(errno.ENAMETOOLONG, "File name too long", "aaa"),
            "aaa cannot be used: file name too long. Choose another file or folder.\n",
        ),
        (
            OSError(errno.ENOSPC, "No space left on device", "x/rec"),
            "x/rec cannot be written: no space left on device. Choose another file or folder.\n",
        ),
        (
            OSError(errno.EACCES, "Permission denied", "from", None, "to"),
            "to cannot be used: permission denied. Choose another file or folder.\n",
        ),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            "A file cannot be written: no space left on device. Make room, or choose another folder.\n",
        ),
        (
            OSError(errno.EMFILE, "Too many open files"),
            "The system refused what attnscope needs: too many open files.\n",
        ),
        (OSError("odd"), "The system refused what attnscope needs: odd.\n"),
    ],
)
def test_what_the_system_refuses_is_its_reason_with_the_path(
    say: Any, monkeypatch: pytest.MonkeyPatch, error: OSError, sentence: str
) -> None:
    def action() -> None:
        raise error

    monkeypatch.setattr(
        LazyGroup, "get_command", lambda *_: click.Command("info", callback=action, params=[])
    )
    assert say("info") == (1, "", sentence)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="There is no /dev/full here")
@pytest.mark.parametrize("words", ["--version", "look --help"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_output_is_one_sentence(words: str, unbuffered: str) -> None:
    done = _shell(f'PYTHONUNBUFFERED={unbuffered} "$0" -c "$1" {words} > /dev/full')
    assert done.stderr == "The output cannot be written: no space left on device. Send it to another place.\n"
    assert done.returncode == 1


def test_a_closed_output_is_one_sentence() -> None:
    done = _shell('"$0" -c "$1" --version >&-')
    assert done.stderr == "The output cannot be written: bad file descriptor. Send it to another place.\n"
    assert done.returncode == 1


def test_with_no_place_for_errors_the_code_still_tells() -> None:
    assert _shell('"$0" -c "$1" lok 2>&-').returncode == 2
    assert _shell('"$0" -c "$1" app --base-path "a b" 2>&-').returncode == 1
    assert _shell('"$0" -c "$1" app --base-path "a b" >&- 2>&-').returncode == 1


def test_a_text_from_a_closed_input_is_one_sentence() -> None:
    closed = _shell('"$0" -c "$1" look embedded --file - --layer 0 --head 0 <&-')
    assert closed.returncode == 1
    assert closed.stderr.startswith("Standard input is closed. ")


@pytest.mark.parametrize(
    "when",
    [
        "from attnscope.cli.lazy import LazyGroup; LazyGroup.get_command = stop",
        "import sys; sys.meta_path.insert(0, type('F', (), {'find_spec': staticmethod("
        "lambda name, *_: stop() if name == 'click' else None)}))",
        "import sys; m._run = lambda words: sys.stdout.flush(); at = [stop]; "
        "sys.stdout.flush = lambda: at.pop()() if at else None",
    ],
    ids=["while a command is fetched", "while click is imported", "in the last flush"],
)
def test_ctrl_c_at_any_moment_is_one_word(when: str) -> None:
    done = _process(f"{INTERRUPT}from attnscope.cli import main as m\n{when}\nm.main(['info', '--help'])")
    assert done.returncode == 130, done.stderr
    assert done.stderr.strip() == "Stopped."


def test_ctrl_c_after_the_work_is_done_changes_nothing() -> None:
    done = _process(f"{INTERRUPT}import atexit; atexit.register(stop)\n{MAIN}", "--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("attnscope ")


def test_ctrl_c_ends_a_wait_for_threads_with_the_code_of_the_command() -> None:
    wait = (
        "import threading, time\n"
        "threading.Thread(target=lambda: (time.sleep(1.5), stop(), time.sleep(100))).start()\n"
    )
    done = _process(f"{INTERRUPT}{wait}{MAIN}", "--version")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_group_can_still_be_had_from_the_entry_point() -> None:
    import attnscope.cli.main as entry

    assert isinstance(entry.group, LazyGroup)
    with pytest.raises(AttributeError):
        entry.nothing  # noqa: B018
