"""The examples in README and docs are programs; those of a page run one after the other, as they are read."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PAGES = [
    page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    if _BLOCK.search(page.read_text("utf-8"))
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = page.read_text("utf-8")
    names: dict[str, Any] = {"__name__": page.stem}
    for block in _BLOCK.finditer(text):
        before = text.count("\n", 0, block.start()) + 1  # so that a fault names the line of the page
        exec(compile("\n" * before + block[1], str(page), "exec"), names)


def test_the_pages_that_teach_have_examples() -> None:
    assert {"README.md", "lesson.md", "mechanism.md", "models.md", "notebooks.md", "recording.md"} <= {
        page.name for page in PAGES
    }


def test_the_layers_of_the_readme_are_those_that_are_checked() -> None:
    told = (ROOT / "README.md").read_text("utf-8").split("is checked:\n", 1)[1].split("\n## ", 1)[0]
    checked = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    (layers,) = (one["layers"] for one in checked["contracts"] if one["id"] == "layers")
    listed = [re.split(r" {2,}", line.strip())[0] for line in told.splitlines() if line.strip()]
    assert listed == [layer for layer in layers if layer != "__main__"]
