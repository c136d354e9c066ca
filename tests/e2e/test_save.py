"""Save hands the chosen head out as a file, from Explore and from Map."""

from __future__ import annotations

import io

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Explore, Map


def test_explore_saves_the_chosen_head(explore: Explore) -> None:
    explore.open(layer=3, head=2)
    explore.page.get_by_role("button", name="Save", exact=True).click()
    expect(explore.page.locator("dialog h2")).to_have_text("Save Layer 3 · Head 2")
    with explore.page.expect_download() as waiting:
        explore.page.get_by_role("button", name="NPZ", exact=True).click()
    assert waiting.value.suggested_filename == "layer-3-head-2.npz"
    with np.load(io.BytesIO(waiting.value.path().read_bytes())) as held:
        assert held["weights"].shape == (1, 28, 28) and held["head"].tolist() == [2]
    expect(explore.page.locator("dialog [role=status]")).to_have_text("Saved as layer-3-head-2.npz")


def test_explore_saves_weight_times_value_where_that_is_what_it_draws(explore: Explore) -> None:
    explore.open(layer=3, head=2, values=1)
    explore.page.get_by_role("button", name="Save", exact=True).click()
    expect(explore.page.locator("dialog h2")).to_have_text("Save Layer 3 · Head 2 · weight × |v W_O|")
    with explore.page.expect_download() as waiting:
        explore.page.get_by_role("button", name="NPZ", exact=True).click()
    assert waiting.value.suggested_filename == "layer-3-head-2-values.npz"
    with np.load(io.BytesIO(waiting.value.path().read_bytes())) as held:
        assert held["weights_times_lengths"].shape == (1, 28, 28)


def test_map_saves_the_head_that_it_shows(sheet: Map) -> None:
    sheet.open(model="embedded", layer=1, head=4)
    sheet.page.get_by_role("button", name="Save", exact=True).click()
    with sheet.page.expect_download() as waiting:
        sheet.page.get_by_role("button", name="SVG", exact=True).click()
    assert waiting.value.suggested_filename == "layer-1-head-4.svg"
    assert b"layer 1, head 4" in waiting.value.path().read_bytes()


@pytest.mark.parametrize("page", ["explore?text=", "map?text=", "heads?survey=none"])
def test_save_waits_until_there_is_something_to_save(page: str, explore: Explore, server: str) -> None:
    explore.page.goto(f"{server}/{page}")
    explore.page.wait_for_selector("main[aria-busy=false] .card")
    assert explore.page.locator("#save").is_disabled()


def test_what_cannot_be_saved_is_said_in_the_dialog(explore: Explore) -> None:
    answer = {"error": {"title": "pyarrow is not installed", "message": "pyarrow, for Parquet.", "hint": ""}}
    explore.page.route("**/export/parquet", lambda route: route.fulfill(status=400, json=answer))
    explore.expected.append("400")
    explore.open()
    explore.page.get_by_role("button", name="Save", exact=True).click()
    explore.page.get_by_role("button", name="Parquet", exact=True).click()
    expect(explore.page.locator("dialog [role=status]")).to_have_text(
        "pyarrow is not installed. pyarrow, for Parquet."
    )


@pytest.mark.parametrize("width", [1440, 1024, 390])
def test_the_bar_has_room_for_it(width: int, explore: Explore) -> None:
    explore.page.set_viewport_size({"width": width, "height": 800})
    explore.open()
    assert explore.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
