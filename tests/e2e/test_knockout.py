"""Does it matter? One click in Explore and in Map, and what the model expects stands before and after."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from attnscope.knocking import Cut
from attnscope.knocking.of_text import bench_of
from attnscope.looks.numbers import weight
from attnscope.models import open_model, record_text
from tests.e2e.pages import Explore, Map, desk_of, served, watched

LINE = "ROMEO:\nBut, soft! what light"
TOLD = ".knock table"


def cells_of(page: Explore | Map) -> list[list[str]]:
    rows = page.page.locator(f"{TOLD} tr").all()[1:]
    return [[cell.inner_text() for cell in row.locator("td").all()][1:3] for row in rows]


def wanted(cut: Cut, at: int) -> list[list[str]]:
    found = bench_of(open_model("embedded"), LINE).without(cut).at(at, top=8)
    each = {one.id: one for one in (*found.before[:5], *found.after)}
    return [[weight(one.before), weight(one.after)] for one in list(each.values())[:6]]


def test_one_click_in_explore_shows_the_change_beside_the_prediction(explore: Explore) -> None:
    explore.open(text=LINE, layer=2, head=1, i=27, j=23)
    page = explore.page
    page.get_by_role("button", name="Without weight").click()
    page.wait_for_selector(TOLD)
    assert cells_of(explore) == wanted(Cut(2, 1, 27, 23), 27)
    first = page.locator(".pred .without").first.inner_text()
    assert first == f"→ {wanted(Cut(2, 1, 27, 23), 27)[0][1]}"
    said = page.locator(".knock .told").inner_text()
    assert "with nothing taken out the answer is the model’s own, bit for bit" in said
    assert "A large weight whose removal moves nothing explains nothing of the answer" in said
    page.get_by_role("button", name="Without head").click()
    expect(page.locator(".knock .told")).to_contain_text("The head is out.")
    page.wait_for_selector(TOLD)
    assert cells_of(explore) == wanted(Cut(2, 1), 27)
    page.locator(".flow .tok").nth(10).click()  # another query: nothing is told of the one before
    expect(page.locator(TOLD)).to_have_count(0)
    expect(page.locator(".pred .without")).to_have_count(0)


def test_one_click_on_the_map_shows_it_too(sheet: Map) -> None:
    sheet.open(model="embedded", text=LINE, layer=2, head=1, i=27, j=23)
    page = sheet.page
    page.get_by_role("combobox", name="What stands in its place").select_option("zero")
    page.get_by_role("button", name="Without weight").click()
    page.wait_for_selector(TOLD)
    assert cells_of(sheet) == wanted(Cut(2, 1, 27, 23, "zero"), 27)


@pytest.fixture
def gone(tmp_path: Path) -> Path:
    """A recording whose model is not there any more."""
    subject = open_model("lesson")
    subject.source = str(tmp_path / "gone")
    record_text(subject, subject.encode("But, soft!"), path=tmp_path / "old")
    return tmp_path / "old"


def test_a_recording_without_its_model_says_why_not(gone: Path, browser: Browser) -> None:
    with served(gone) as base, desk_of(browser) as desk:
        one = Explore(desk, base)
        with watched(desk, one):
            desk.goto(f"{base}/explore?model=old")
            one.settle()
            button = desk.get_by_role("button", name="Without weight")
            expect(button).to_be_disabled()
            expect(desk.locator(".knock .told")).to_have_text(
                re.compile(r"The folder of its model is not there any more: .*gone")
            )
