"""The tutorial notebooks run from a fresh kernel, without a warning, and are kept without outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.kernels import execute

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
SHOWS = {"first_look": 1, "mask": 1, "induction": 1}
"""Each tutorial, with how many pictures that are alive it shows."""
FIGURES = {"first_look": 1, "mask": 0, "induction": 0}
"""How many figures of matplotlib; pyplot, which would teach the kernel to show them, is not imported."""


@pytest.mark.parametrize("name", list(SHOWS))
def test_a_tutorial_runs_and_shows_what_it_promises(name: str) -> None:
    kept: Any = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    nbformat.validate(kept)
    code = [cell for cell in kept.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
    execute(kept)
    outputs = [output for cell in code for output in cell.outputs]
    assert not [one for one in outputs if one.output_type == "error"]
    assert not [one.text for one in outputs if one.output_type == "stream" and one.name == "stderr"]
    frames = [one for one in outputs if "srcdoc=" in one.get("data", {}).get("text/html", "")]
    assert len(frames) == SHOWS[name]
    figures = [one["data"] for one in outputs if "Axes>" in one.get("data", {}).get("text/plain", "")]
    assert len(figures) == FIGURES[name] and all("image/png" in one for one in figures)


def test_every_notebook_is_tried() -> None:
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == {*SHOWS, "lesson"}
