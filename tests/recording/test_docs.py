"""docs/recording.md runs from top to bottom."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any


def test_every_example_of_the_page_runs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "recording.md").read_text(encoding="utf-8")
    code = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(code) == 3
    told: dict[str, Any] = {"__name__": "page"}
    for block in code:
        exec(compile(block, "docs/recording.md", "exec"), told)
