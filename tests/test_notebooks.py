"""The notebook of the lesson runs from a fresh kernel, without a warning, and is kept without outputs."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from attnscope.lesson import SECTIONS
from tests.kernels import execute

NOTEBOOK = Path(__file__).parents[1] / "notebooks" / "lesson.ipynb"


@pytest.fixture(scope="module")
def kept() -> Any:
    return nbformat.read(NOTEBOOK, as_version=4)


@pytest.fixture(scope="module")
def ran(kept: Any) -> Any:
    """The notebook after every cell was run, with the seconds that the processors worked for it."""
    book = nbformat.from_dict(kept)
    began = os.times()
    execute(book)
    ended = os.times()
    book.metadata["seconds"] = ended.children_user - began.children_user
    return book


def test_it_is_kept_without_outputs(kept: Any) -> None:
    nbformat.validate(kept)
    for cell in kept.cells:
        if cell.cell_type == "code":
            assert cell.outputs == [] and cell.execution_count is None


def test_it_has_every_section_and_calls_every_experiment(kept: Any) -> None:
    text = "\n".join(cell.source for cell in kept.cells)
    for one in SECTIONS:
        assert f"## {one.number}. {one.title}\n" in text
    code = "\n".join(cell.source for cell in kept.cells if cell.cell_type == "code")
    for one in SECTIONS:
        for name in set(one.names) - {"word_order", "learned_positions", "glossary"}:
            assert f"lesson.{name}(" in code, name


def test_every_cell_runs_without_a_warning_or_an_error(ran: Any) -> None:
    for cell in ran.cells:
        for output in cell.get("outputs", []):
            assert output.output_type != "error"
            assert not (output.output_type == "stream" and output.name == "stderr"), output.text
    assert ran.metadata["seconds"] < 60


def test_every_experiment_shows_its_figure(ran: Any) -> None:
    pictures = [
        output
        for cell in ran.cells
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    ]
    assert len(pictures) == sum(
        len(re.findall(r"^(?:lesson\.\w+\(\)|[a-z]+)$", cell.source.splitlines()[-1]))
        for cell in ran.cells
        if cell.cell_type == "code"
    )
    assert len(pictures) >= 18


def test_it_shows_the_figures_of_the_lesson(ran: Any) -> None:
    text = "".join(
        output.text
        for cell in ran.cells
        for output in cell.get("outputs", [])
        if output.output_type == "stream"
    )
    for figure in (
        "0.168, 0.928",
        "0.152, 0.950",
        "d =   512",
        "16640 parameters",
        "0.966",
        "0.036",
        "wrong axis",
    ):
        assert figure in text, figure
    assert "bit-equal: True" in text
