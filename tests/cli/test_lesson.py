"""`attnscope lesson`: every section as tables, data and figures, and wrong words refused."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import pytest
from rich.cells import cell_len

from attnscope.cli.main import run
from attnscope.cli.tables import aligned, is_numbers, parts, spelled, widths
from attnscope.lesson import SECTIONS, Table, section

NUMBERS = [one.number for one in SECTIONS]
_COMMAND = str(Path(sys.executable).with_name("attnscope"))


def _terminal(*words: object, columns: int, command: Sequence[str] = (_COMMAND,), **environment: str) -> str:
    """Return what a terminal of so many columns is sent."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    given = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")}
    given |= {"TERM": "xterm-256color", "OMP_NUM_THREADS": "1", **environment}
    shown = b""
    with subprocess.Popen([*command, *map(str, words)], stdout=theirs, stderr=theirs, env=given) as process:
        os.close(theirs)
        with contextlib.suppress(OSError):  # how a terminal on Linux says that it was closed
            while more := os.read(ours, 65_536):
                shown += more
    os.close(ours)
    assert process.returncode == 0
    return shown.decode().replace("\r\n", "\n")


@pytest.fixture(scope="module")
def shown() -> list[str]:
    """Every section as a terminal of 80 columns shows it."""
    return _shown(NUMBERS, columns=80, kind="xterm-256color")


def _shown(numbers: Sequence[int], *, columns: int, kind: str) -> list[str]:
    """Return what a terminal of so many columns is sent of each section, printed by this process."""
    ours, theirs = pty.openpty()
    parts: list[bytes] = []

    def read() -> None:
        with contextlib.suppress(OSError):
            while more := os.read(ours, 65_536):
                parts.append(more)

    reader = threading.Thread(target=read)
    reader.start()
    with pytest.MonkeyPatch.context() as patch, os.fdopen(theirs, "w", encoding="utf-8") as terminal:
        patch.setattr(sys, "stdout", terminal)
        patch.setenv("COLUMNS", str(columns))
        patch.setenv("TERM", kind)
        for number in numbers:
            assert terminal.isatty() and run(["lesson", str(number)]) == 0
            terminal.write("\f")
    reader.join()
    os.close(ours)
    whole = b"".join(parts).decode().replace("\r\n", "\n")
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", whole).split("\f")


def test_without_a_number_it_lists_the_sections(say: Any) -> None:
    said = say("lesson")
    assert (said.code, said.err) == (0, "")
    for one in SECTIONS:
        assert re.search(rf"^ +{one.number}  {re.escape(one.title)} +{re.escape(one.says)}$", said.out, re.M)


def test_the_list_is_data_too(say: Any) -> None:
    listed = json.loads(say("lesson", "--json").out)
    assert listed == [{"number": one.number, "title": one.title, "says": one.says} for one in SECTIONS]


def test_the_budget_is_that_of_the_measurement() -> None:
    from attnscope.cli.lesson import command
    from attnscope.lesson.measuring.measure import LEAST_BUDGET, MOST_BUDGET

    (budget,) = [one for one in command.params if one.name == "budget"]
    assert isinstance(budget.type, click.IntRange)
    assert (budget.type.min, budget.type.max) == (LEAST_BUDGET, MOST_BUDGET)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_section_prints_every_cell_of_its_tables(say: Any, number: int) -> None:
    said = say("lesson", number)
    assert (said.code, said.err) == (0, "")
    one = section(number)
    assert said.out.startswith(f"{number}  {one.title}\n{one.says}\n")
    for _, experiment in one.run():
        for table in experiment.tables():
            assert f"\n{table.title}\n" in said.out or not table.title
            assert table.note in said.out
            for line in aligned(table):
                assert f"\n{f'  {line}'.rstrip()}\n" in said.out
            assert all(cell in said.out for row in table.rows for cell in row)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_section_as_data_is_what_the_page_reads(say: Any, number: int) -> None:
    said = say("lesson", number, "--json")
    assert json.loads(said.out) == json.loads(json.dumps(section(number).to_dict(), allow_nan=False))


@pytest.mark.parametrize("number", NUMBERS)
def test_no_number_is_broken_in_a_terminal_of_80_columns(shown: list[str], number: int) -> None:
    assert shown[number - 1].startswith(f"{number}  {section(number).title}")
    assert max(cell_len(line.rstrip()) for line in shown[number - 1].splitlines()) <= 80
    words = shown[number - 1].split()
    for _, experiment in section(number).run():
        for table in experiment.tables():
            for column in itertools.zip_longest(*table.rows, fillvalue=""):
                if is_numbers(column):
                    assert {word for cell in column for word in cell.split()} <= set(words)


@pytest.mark.parametrize("kind", ["xterm-256color", "dumb"])
def test_a_narrow_terminal_breaks_words_and_no_numbers(kind: str) -> None:
    narrow, _ = _shown([2], columns=40, kind=kind)
    assert max(cell_len(line.rstrip()) for line in narrow.splitlines()) <= 40
    for _, experiment in section(2).run():
        for table in experiment.tables():
            for column in itertools.zip_longest(*table.rows, fillvalue=""):
                if is_numbers(column):
                    assert {word for cell in column for word in cell.split()} <= set(narrow.split())


def test_a_terminal_without_colour_gets_none() -> None:
    assert "\x1b[1m" in _terminal("lesson", columns=80)
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", _terminal("lesson", columns=80, NO_COLOR="1"))


def test_an_output_that_holds_no_signs_gets_letters(say: Any) -> None:
    done = subprocess.run(
        [_COMMAND, "lesson", "2"], capture_output=True, check=True, timeout=120,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    whole = say("lesson", 2).out
    assert done.stdout.decode("ascii").splitlines() == [spelled(line, "ascii") for line in whole.splitlines()]
    assert done.stdout.count(b"?") == whole.count("?")  # which would stand for a sign without a spelling


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["12"], "There is no section 12. 1 to 11 is wanted.\n"),
        (["0", "--json"], "There is no section 0. 1 to 11 is wanted.\n"),
    ],
)
def test_a_section_that_is_not_there_is_one_sentence(say: Any, words: list[str], sentence: str) -> None:
    assert say("lesson", *words) == (1, "", sentence)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["three"], "'three' is not a valid integer"),
        (["--export", ""], "--export wants the name of a file."),
        (["--figures", ""], "--figures wants the name of a folder."),
        (["2", "--sheet", ""], "--sheet wants the name of a file."),
        (["--export", "a.html", "--figures", "b"], "--figures and --export exclude each other."),
        (["--export", "a.html", "--json"], "--export and --json exclude each other."),
        (["--figures", "b", "--json"], "--figures and --json exclude each other."),
        (["3", "--export", "a.html"], "leave the number away"),
        (["3", "--sheet", "a.json"], "--sheet is for section 2"),
        (["--sheet", "a.json"], "--sheet is for section 2"),
        (["2", "--query", "sat"], "--query is for --sheet"),
        (["3", "--measure"], "--measure is for section 7"),
        (["7", "--budget", "64"], "--budget is for --measure"),
        (["7", "--measure", "--budget", "0"], "0 is not in the range"),
        (["7", "--measure", "--budget", "much"], "'much' is not a valid integer"),
    ],
)
def test_words_that_do_not_go_together_are_a_usage_error(say: Any, words: list[str], part: str) -> None:
    said = say("lesson", *words)
    assert (said.code, said.out) == (2, "")
    assert part in said.err


def test_the_figures_of_a_section_are_pictures_with_its_number(say: Any, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    for _ in range(2):  # a second time they are written over
        said = say("lesson", 3, "--figures", tmp_path)
        assert said.code == 0, said.err
    names = {f"03-{name.replace('_', '-')}.{form}" for name in section(3).names for form in ("png", "svg")}
    assert {path.name for path in tmp_path.iterdir()} == names | {"notes.txt"}
    assert said.out.splitlines() == [str(tmp_path / name) for name in sorted_as_told(said.out)]
    for name in names:
        head = (tmp_path / name).read_bytes()[:200]
        assert head.startswith(b"\x89PNG") if name.endswith("png") else b"<?xml" in head
    assert (tmp_path / "notes.txt").read_text() == "mine"


def sorted_as_told(out: str) -> list[str]:
    """Return the names of the files in the order in which they were told."""
    return [Path(line).name for line in out.splitlines()]


@pytest.mark.parametrize("number", NUMBERS)
def test_every_section_has_a_figure_for_each_experiment(number: int, tmp_path: Path) -> None:
    from attnscope.cli.figures import write_figures

    told: list[tuple[str, int, int]] = []
    made = list(write_figures([section(number)], str(tmp_path), progress=lambda *given: told.append(given)))
    assert len(made) == 2 * len(section(number).homes)
    assert all(path.stat().st_size > 2_000 for path in made)
    assert told[-1][1:] == (len(section(number).homes),) * 2


def test_a_figure_is_the_same_bytes_each_time(tmp_path: Path) -> None:
    from attnscope.cli.figures import write_figures

    once = [path.read_bytes() for path in write_figures([section(7)], str(tmp_path / "a"))]
    assert once == [path.read_bytes() for path in write_figures([section(7)], str(tmp_path / "b"))]


def test_what_stands_in_a_figures_way_is_named_before_anything_is_written(say: Any, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    assert say("lesson", 3, "--figures", file) == (
        1, "", f"{file} is a file. A folder for the figures is wanted.\n",
    )  # fmt: skip
    (tmp_path / "03-saturation.svg").mkdir()
    said = say("lesson", 3, "--figures", tmp_path)
    assert said.code == 1
    assert "03-saturation.svg is no file" in said.err
    assert not (tmp_path / "03-spread.png").exists()


WIDE = Table(
    "Wide", ("word", *(f"key {i}" for i in range(20))), (("a long word", *[".1234567"] * 20),), "a note"
)


def test_a_table_wider_than_the_terminal_goes_on_below_with_its_words_again() -> None:
    found = parts(WIDE, 60)
    assert all(part[0] == 0 for part in found) and len(found) > 1
    assert [at for part in found for at in part[1:]] == list(range(1, 21))


def test_a_narrow_table_stays_in_one_piece() -> None:
    assert parts(Table("", ("a", "b"), (("1", "2"),)), 80) == [[0, 1]]


def test_numbers_stand_at_the_right_and_words_at_the_left() -> None:
    table = Table("", ("word", "weight"), (("the", ".5"), ("猫", "1,000"), ("a", "−.25")))
    assert aligned(table) == ["word  weight", "the       .5", "猫     1,000", "a       −.25"]


def test_a_row_may_end_before_the_last_column() -> None:
    table = Table("", ("", "a", "b"), (("a", "1"), ("b", ".5", ".5")))
    assert aligned(table) == ["    a   b", "a   1", "b  .5  .5"]


def test_what_does_not_fit_is_taken_from_the_widest_words() -> None:
    table = Table("", ("mistake", "sum", "evidence"), (("no scaling", "1.000", "x " * 60),))
    assert widths(table, [0, 1, 2], 80) == [10, 5, 61]
    assert widths(table, [0, 1], 80) == [10, 5]


def test_a_number_that_is_not_there_leaves_its_column_at_the_right() -> None:
    assert is_numbers([".0106", "not run", "–", ""])
    assert not is_numbers(["–", ""]) and not is_numbers(["1/4 of it", "2"])
    assert is_numbers(["1/2", "1/256"]) and is_numbers(["−∞", "3e−5", "1,024", "16.5 KB", "−.004"])
