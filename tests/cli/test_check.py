"""`attnscope check`: what computes here, the proof of it, and what it says where the proof fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from attnscope.core import engine, fold, proof
from attnscope.core.engine import States, Tiles, Wanted
from attnscope.core.native.library import library
from attnscope.core.scoring import Bound
from attnscope.core.tile import Normaliser

if TYPE_CHECKING:
    from tests.cli.conftest import Said

Say = Callable[..., "Said"]
CALLS = list(proof.calls())
compiled = pytest.mark.skipif(isinstance(library(), str), reason="the native engine was not compiled")


def isa() -> str | None:
    """The instruction set of the native engine, where that is what computes here."""
    found = engine.chosen()
    return None if isinstance(found, str) else found.isa()


@pytest.fixture
def few_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three of the calls: all of them are proved in the tests of the proof."""
    monkeypatch.setattr(proof, "calls", lambda *, seed: list(CALLS[:3]))


class Scaled(Tiles):
    """The engine of plain torch, its scale off by a thousandth."""

    def fold(self, bound: Bound, wanted: Wanted, rows: slice, given: Normaliser) -> States:
        return super().fold(replace(bound, scale=bound.scale * 1.001), wanted, rows, given)


def test_every_call_is_listed_with_its_largest_error_and_what_is_allowed(say: Say) -> None:
    said = say("check")
    assert (said.code, said.err) == (0, "")
    first, engine_line, library_line, *_, last = said.out.splitlines()
    assert f"torch {torch.__version__}" in first and "transformers 5" in first
    assert engine_line in ("engine: torch, 1 thread", f"engine: native ({isa()}), 1 thread")
    assert library_line.startswith("library: /" if isa() else "no native engine: ")
    for call in CALLS:
        assert f"  {call.name}  " in said.out
    assert last.startswith(f"{len(CALLS)} of {len(CALLS)} calls equal to the whole grid in float64, in ")
    assert "FAILS" not in said.out


def test_a_script_gets_every_figure_of_every_call(say: Say, few_calls: None) -> None:
    said = say("check", "--json")
    told = json.loads(said.out)
    assert said.code == 0 and told["threads"] == torch.get_num_threads()
    assert told["versions"]["torch"] == torch.__version__
    assert [call["call"] for call in told["calls"]] == [call.name for call in CALLS[:3]]
    figures = {one["name"]: one for one in told["calls"][0]["figures"]}
    assert {"normaliser", "out", "entropy", "weight received", "block sums"} <= set(figures)
    assert all(0 <= one["error"] <= one["allowed"] for one in figures.values())


def test_an_engine_that_is_wrong_is_told_and_the_exit_code_is_1(
    say: Say, few_calls: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (engine, fold):
        monkeypatch.setattr(module, "engine_of", lambda bound: Scaled())
    said = say("check")
    assert said.code == 1 and said.out.count("FAILS\n") == 3
    assert said.out.splitlines()[-1].startswith("0 of 3 calls equal")
    assert "must not be trusted on this machine" in said.out
    told = json.loads(say("check", "--json").out)
    assert [call["holds"] for call in told["calls"]] == [False] * 3


def test_the_torch_engine_is_proved_where_it_is_asked_for(
    say: Say, few_calls: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATTNSCOPE_ENGINE", "torch")
    said = say("check")
    assert said.code == 0 and said.out.count("  torch  ") == 3
    assert "engine: torch, 1 thread\nno native engine: ATTNSCOPE_ENGINE is torch\n" in said.out
    told = json.loads(say("check", "--json").out)
    assert (told["engine"], told["instructions"]) == ("torch", None)
    assert {call["engine"] for call in told["calls"]} == {"torch"}


@compiled
def test_the_native_engine_takes_the_calls_where_it_was_compiled(
    say: Say, few_calls: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ATTNSCOPE_ENGINE", raising=False)
    told = json.loads(say("check", "--json").out)
    assert (told["engine"], told["why"], told["instructions"]) == ("native", None, isa())
    assert Path(told["library"]).is_file()
    assert {call["engine"] for call in told["calls"]} == {"native"}


@pytest.mark.parametrize("said", [None, "", "c++ on first.cpp failed:\n  no\n  room\n", "no " * 1000])
def test_why_nothing_was_compiled_is_told_as_the_installation_said_it(
    say: Say, few_calls: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: str | None
) -> None:
    monkeypatch.delenv("ATTNSCOPE_ENGINE", raising=False)
    monkeypatch.setenv("ATTNSCOPE_LIBRARY", str(tmp_path / "_fold.so"))
    if said is not None:
        (tmp_path / "_fold.txt").write_text(said)
    library.cache_clear()
    try:
        told = json.loads(say("check", "--json").out)
    finally:
        library.cache_clear()
    assert told["engine"] == "torch" and told["library"] is None
    wanted = {None: "", "": "", "no " * 1000: ": " + "no " * 132 + "no …"}
    assert told["why"] == "_fold.so was not compiled" + wanted.get(said, ": c++ on first.cpp failed: no room")


@pytest.mark.parametrize("name", ["ATTNSCOPE_ENGINE", "ATTNSCOPE_ISA"])
@compiled
def test_an_engine_or_instruction_set_that_there_is_not_is_one_sentence(
    say: Say, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.delenv("ATTNSCOPE_ENGINE", raising=False)
    monkeypatch.setenv(name, "abacus")
    said = say("check")
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith(f"{name}='abacus'. ") and said.err.count("\n") == 1


@pytest.mark.parametrize("words", [["--seed", "-1"], ["--seed", "x"], ["--seed", 2**63], ["extra"]])
def test_a_command_line_that_means_nothing_is_refused(say: Say, words: list[object]) -> None:
    said = say("check", *words)
    assert said.code == 2 and "Traceback" not in said.err and said.out == ""
