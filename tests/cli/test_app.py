"""`attnscope app` as a process of its own, and what it refuses before it listens."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from attnscope.cli.app import _has_browser
from attnscope.web.serving import listen

COMMAND = [sys.executable, "-c", "from attnscope.cli.main import main; main()"]


@pytest.fixture(scope="module")
def app(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Return the app in a process, started from another folder, and its address."""
    words = ["app", "--model", str(folder), "--text", "so me\nlight", "--port", "0", "--no-browser"]
    process = subprocess.Popen(
        [*COMMAND, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path_factory.mktemp("elsewhere"),
        env={**os.environ, "HTTPS_PROXY": "", "HTTP_PROXY": ""},
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("attnscope is at http://127.0.0.1:"), (
        process.stderr.read() if process.stderr else ""
    )
    yield process, line.split()[3]
    if process.poll() is None:
        process.kill()
    process.communicate()


def test_it_says_where_it_is_and_serves_the_model_and_text_it_was_given(app: Any) -> None:
    process, url = app
    with urllib.request.urlopen(url) as page:
        assert page.headers["content-type"] == "text/html; charset=utf-8"
    with urllib.request.urlopen(url.replace("explore", "api/models")) as answer:
        found = json.load(answer)
    assert found["default"] == {"model": "small", "text": "so me\nlight"}
    assert process.poll() is None


def test_a_second_one_on_its_port_gets_a_sentence(app: Any) -> None:
    port = app[1].split(":")[2].split("/")[0]
    done = subprocess.run([*COMMAND, "app", "--port", port], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith(f"Port {port} on 127.0.0.1 is in use by another program.")
    assert "Traceback" not in done.stderr


def test_ctrl_c_ends_it_quietly(app: Any) -> None:
    process, _ = app
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "Traceback" not in err
    assert err.endswith("Ended.\n")


def test_a_reader_that_goes_away_is_no_fault(folder: Path) -> None:
    words = ["look", str(folder), "--text", "so me light, " * 3, "--layer", "0", "--head", "0", "--json"]
    process = subprocess.Popen([*COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(60) == 141
    assert err == b""


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--text", ""], "The text is empty."),
        (["--file", "/nowhere.txt"], "/nowhere.txt cannot be read"),
        (["--model", ""], "The model's name is empty"),
        (["--model", "/nowhere"], "There is no folder /nowhere."),
        (
            ["--model", "nobody/nothing"],
            "There is no folder nobody/nothing; it is not in the Hugging Face cache",
        ),
        (["--base-path", "a b"], "'a b' is no base path."),
        (["--host", "203.0.113.7"], "Cannot listen on 203.0.113.7"),
    ],
)
def test_what_cannot_be_served_is_refused_before_anything_is(
    say: Any, words: list[str], sentence: str
) -> None:
    said = say("app", "--no-browser", *words)
    assert said.code == 1
    assert said.out == ""
    assert sentence in said.err


def test_a_text_that_the_model_cannot_read_is_refused_at_the_start(say: Any, folder: Path) -> None:
    said = say("app", "--no-browser", "--model", folder, "--text", "so me light, " * 9)
    assert said.code == 1
    assert "117 characters, the limit is 40" in said.err


def test_a_port_in_use_is_told_before_the_model_is_opened(say: Any) -> None:
    with listen("127.0.0.1", 0) as taken:
        said = say("app", "--no-browser", "--port", taken.getsockname()[1], "--model", "/nowhere")
    assert said.code == 1
    assert "is in use by another program" in said.err


def test_a_window_is_only_opened_where_there_can_be_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    assert not _has_browser()
    monkeypatch.setenv("DISPLAY", ":0")
    assert _has_browser()
    monkeypatch.setenv("SSH_CONNECTION", "1")
    assert not _has_browser()
