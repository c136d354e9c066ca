"""The programs that measure: what they print beside a bound, when they fail, and that they run at all."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from attnscope.core.native.library import SETS
from benchmarks import bounds, fold, limits, long, smollm2

ROOT = Path(__file__).parents[1]


@pytest.fixture
def held() -> Iterator[list[bounds.Bound]]:
    """What is held while a test runs."""
    before = list(bounds.HELD)
    bounds.HELD.clear()
    yield bounds.HELD
    bounds.HELD[:] = before


def test_a_figure_is_kept_within_its_bound_and_said_where_it_is_past_it(
    held: list[bounds.Bound], capsys: pytest.CaptureFixture[str]
) -> None:
    assert bounds.hold("fast", 3.5, 4.0) and not bounds.hold("slow", 4.01, 4.0)
    assert not bounds.hold("too good", 3.4, 4.6, least=3.5)
    assert not bounds.not_measured("absent", 4096.0, "MB", why="no model")
    assert bounds.broken() == ["slow", "too good"] and len(held) == 4
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].split() == ["fast", "3.50", "times;", "at", "most", "4:", "kept"]
    assert printed[2].endswith("3.40 times; 3.5 to 4.6: NOT KEPT")
    assert bounds.table()[2:] == [
        "| fast | 3.50 times | at most 4 | kept |",
        "| slow | 4.01 times | at most 4 | NOT KEPT |",
        "| too good | 3.40 times | 3.5 to 4.6 | NOT KEPT |",
        "| absent |  | at most 4,096 | not measured: no model |",
    ]


def test_the_table_goes_between_the_marks_of_a_file(tmp_path: Path) -> None:
    program, file = import_module("benchmarks.__main__"), tmp_path / "README.md"
    file.write_text(f"before\n{program.BEGIN}old\n{program.END}after\n")
    for _ in range(2):
        program.write(file, ["new", "table"])
        assert file.read_text() == f"before\n{program.BEGIN}new\ntable\n{program.END}after\n"
    file.write_text("nothing")
    with pytest.raises(SystemExit, match="lacks the lines"):
        program.write(file, ["new"])


def test_every_program_is_a_module_that_runs_and_one_that_is_not_there_is_refused() -> None:
    program = import_module("benchmarks.__main__")
    assert all(callable(import_module(f"benchmarks.{name}").run) for name in program.PROGRAMS)
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "nonsense"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 2 and "there is no program 'nonsense'" in done.stderr
    assert limits.running() in ("torch", *SETS) and set(limits.LIMITS["output"]) == {
        "avx512",
        "avx2",
        "others",
    }


def test_a_bound_that_is_missed_ends_the_run_with_1(
    held: list[bounds.Bound], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = import_module("benchmarks.__main__")
    monkeypatch.setattr(fold, "LENGTH", 257)
    monkeypatch.setattr(fold, "peak", lambda module, way: 1.0)  # two processes, which are not looked at here
    monkeypatch.setattr(sys, "argv", ["benchmarks", "fold", "--rounds", "1"])
    for most, missed in ((1e9, False), (1e-9, True)):
        held.clear()
        monkeypatch.setattr(fold, "limit", lambda name, most=most: most if name == "both passes" else 1e9)
        if missed:
            with pytest.raises(SystemExit) as ended:
                program.main()
            assert ended.value.code == 1
        else:
            program.main()
        printed = capsys.readouterr().out
        assert ("NOT KEPT" in printed) is missed
        assert printed.count("8,192 tokens, both passes, to SDPA") == (3 if missed else 2)


def test_a_child_of_a_long_head_says_its_seconds_and_its_memory(capsys: pytest.CaptureFixture[str]) -> None:
    long.child(1024)
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"theirs", "ours", "memory"} and min(found.values()) >= 0


def test_the_text_that_is_recorded_is_long_enough() -> None:
    assert len(smollm2.TEXT.read_text(encoding="utf-8")) > 8 * 8_192  # letters, a token being 3 or so
