"""Examples of the walk as files: saved, opened again, and refused where they are broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from tests.e2e.pages import Walk


def test_an_example_is_saved_and_opened_again(walk: Walk, tmp_path: Path) -> None:
    walk.open(step=29, q=2, mask="causal")
    walk.type("key of cat, component 1", "-1.25")
    seen = walk.numbers()
    with walk.page.expect_download() as started:
        walk.button("Save")
    saved = tmp_path / started.value.suggested_filename
    started.value.save_as(saved)
    assert json.loads(saved.read_text(encoding="utf-8"))["format"] == "attnscope-walk"
    walk.button("Reset")
    assert walk.numbers() != seen
    with walk.page.expect_file_chooser() as chosen:
        walk.button("Open")
    chosen.value.set_files(saved)
    expect(walk.page.locator(".say .change")).to_contain_text(f"{saved.name} is open")
    assert walk.numbers() == seen
    walk.button("Undo")
    assert walk.text(".walk .out").split() == [".168", ".928"]


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"format": "other"}', '{"format": "attnscope-walk", "version": 2}', "x" * 200_000],
)
def test_a_broken_file_is_refused_and_changes_nothing(walk: Walk, tmp_path: Path, text: str) -> None:
    walk.open(step=29, q=2)
    before = walk.numbers()
    broken = tmp_path / "broken.json"
    broken.write_text(text, encoding="utf-8")
    walk.page.locator("input[type=file]").set_input_files(broken)
    refused = walk.page.locator(".desk > .refused")
    expect(refused).to_contain_text("broken.json: ")
    assert refused.inner_text().endswith("Nothing was changed.")
    assert walk.numbers() == before and "edit" not in walk.state()
