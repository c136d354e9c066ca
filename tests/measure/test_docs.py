"""docs/heads.md says of scores and classes what the registry says."""

from __future__ import annotations

from pathlib import Path

from attnscope.measure.docs import between, class_table, score_table

PAGE = (Path(__file__).parents[2] / "docs" / "heads.md").read_text("utf-8")
AGAIN = "python tools/headsdoc.py writes the tables anew"


def test_the_page_has_every_definition_formula_and_source_of_the_registry() -> None:
    assert between(PAGE, "scores").strip() == score_table(), AGAIN


def test_the_page_has_every_rule() -> None:
    assert between(PAGE, "classes").strip() == class_table(), AGAIN
