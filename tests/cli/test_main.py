"""The command itself: quick help, clear refusals, exit codes, and never a traceback unasked."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import click
import pytest

from attnscope.cli.group import group
from attnscope.cli.lazy import COMMANDS, LazyGroup
from attnscope.cli.main import run
from attnscope.errors import MissingModel

COMMAND = "from attnscope.cli.main import main; main()"


def test_help_lists_every_command_and_imports_neither_them_nor_torch() -> None:
    code = (
        "import sys\n"
        "from attnscope.cli.main import run\n"
        "assert run(['--help']) == 0\n"
        "slow = {'torch', 'fastapi', 'transformers', 'rich', 'numpy', 'attnscope.cli.app'}\n"
        "loaded = slow & set(sys.modules)\n"
        "assert not loaded, loaded\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for name in COMMANDS:
        assert f"\n  {name} " in done.stdout


@pytest.mark.parametrize("name", list(COMMANDS))
def test_a_command_says_in_the_list_what_its_help_says_first(name: str) -> None:
    context = click.Context(LazyGroup())
    command = LazyGroup().get_command(context, name)
    assert command is not None
    line = COMMANDS[name][1]
    assert (command.help or "").replace("\n", " ").startswith(line.rstrip(".")), command.help


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_has_help_and_a_line_for_every_option(say: Any, name: str) -> None:
    said = say(name, "--help")
    assert said.code == 0
    command = LazyGroup().get_command(click.Context(LazyGroup()), name)
    assert command is not None
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help, f"{name} {option.name}"


def test_a_command_that_is_not_there_is_a_usage_error(say: Any) -> None:
    said = say("lok")
    assert said.code == 2
    assert "No such command 'lok'" in said.err


def test_the_version_is_printed(say: Any) -> None:
    said = say("--version")
    assert said.code == 0
    assert said.out.startswith("attnscope 0.")


def _command(monkeypatch: pytest.MonkeyPatch, action: Any) -> None:
    monkeypatch.setattr(
        LazyGroup, "get_command", lambda *_: click.Command("info", callback=action, params=[])
    )


def _raise(error: BaseException) -> Any:
    def action() -> None:
        raise error

    return action


def test_a_refusal_is_its_sentence_on_stderr_and_exit_1(say: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _command(monkeypatch, _raise(MissingModel("There is no folder x", wanted="One is wanted")))
    assert say("info") == (1, "", "There is no folder x. One is wanted.\n")


def test_debug_adds_the_traceback(say: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _command(monkeypatch, _raise(MissingModel("There is no folder x")))
    said = say("--debug", "info")
    assert said.code == 1
    assert "Traceback" in said.err
    assert said.err.endswith("There is no folder x.\n")


def test_what_nobody_expected_is_one_sentence_that_says_how_to_see_more(
    say: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _command(monkeypatch, _raise(RuntimeError("deep\ntrouble")))
    said = say("info")
    assert said == (
        1,
        "",
        "Something went wrong that attnscope did not expect (RuntimeError: deep). "
        "Details: attnscope --debug info\n",
    )


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (KeyboardInterrupt(), 130, "\nStopped.\n"),
        (BrokenPipeError(), 141, ""),
        (MemoryError(), 1, "This machine ran out of memory. Try a shorter text or a smaller model.\n"),
        (RuntimeError(""), 1, "Something went wrong that attnscope did not expect (RuntimeError:). "),
    ],
)
def test_other_ends_have_their_own_code(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, sentence: str, capsys: Any
) -> None:
    monkeypatch.setattr("attnscope.cli.main._silence_stdout", lambda: None)
    _command(monkeypatch, _raise(error))
    assert run(["info"]) == code
    assert capsys.readouterr().err.startswith(sentence)


def test_the_group_is_what_the_entry_point_runs() -> None:
    assert isinstance(group, LazyGroup)


def test_python_m_attnscope_is_the_command() -> None:
    command = [sys.executable, "-m", "attnscope", "--version"]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    assert said.stdout.startswith("attnscope ")
    nothing = subprocess.run([*command[:3], "nonsense"], capture_output=True, text=True)
    assert (nothing.returncode, "No such command 'nonsense'" in nothing.stderr) == (2, True)
