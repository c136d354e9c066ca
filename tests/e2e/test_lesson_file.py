"""The exported lesson opens from the disk with the network off, and all of it is alive there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast
from urllib.parse import urlencode, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from attnscope.lesson import SECTIONS
from attnscope.lesson.walk import Sheet, first_sheet, walk
from attnscope.lesson.walk.sheet import Edit
from attnscope.web.alone.lesson import write_lesson
from tests.e2e.pages import Walk
from tests.e2e.test_walk_numbers import compare

NUMBERS = [one.number for one in SECTIONS]


class FromDisk(Walk):
    """The file, opened as a double click opens it."""

    def open(self, **state: object) -> None:
        """Open a place in the file, chapter 2 by itself, and wait until it is drawn."""
        self.page.goto(f"{self.base}?{urlencode({'chapter': 2, **state})}")
        self.page.wait_for_selector("main[aria-busy=false]")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # a name as people give them: with blanks, and with signs that an address has to escape
    return write_lesson(tmp_path_factory.mktemp("export") / "the lesson, 100 % #1 é.html")


@pytest.fixture
def file(written: Path, browser: Browser) -> Iterator[FromDisk]:
    """The file on a fresh page without a network; what it asks for or complains of fails the test."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, offline=True)
    context.set_default_timeout(60_000)
    expect.set_options(timeout=60_000)
    one = FromDisk(cast(Page, context.new_page()), written.as_uri())
    one.page.on("request", lambda request: one.asked.append(request.url))
    one.page.on("pageerror", lambda error: one.complaints.append(str(error)))
    one.page.on("console", lambda said: one.complaints.append(said.text) if said.type != "log" else None)
    yield one
    context.close()
    schemes = {urlsplit(url).scheme for url in one.asked}
    assert schemes <= {"file", "data", "blob"}
    assert {url.partition("?")[0] for url in one.asked if url.startswith("file:")} == {one.base}
    assert one.complaints == []


def test_section_2_every_step_of_the_walk_is_that_of_python(file: FromDisk) -> None:
    made = walk(first_sheet(), 2)
    file.open(step=1, q=2)
    for at in range(1, len(made.steps) + 1):
        compare(file, made, at)
        if at < len(made.steps):
            file.press("ArrowRight")
    assert file.text(".walk .out").split() == [".168", ".928"]


def test_section_2_an_edit_leads_to_the_numbers_of_python_and_undo_back(file: FromDisk) -> None:
    file.open(step=29, q=2, mask="causal")
    file.type("key of cat, component 1", "0")
    file.type("key of cat, component 2", "2")
    edits = (Edit("k", 1, 0, 0.0), Edit("k", 1, 1, 2.0))
    compare(file, walk(replace(first_sheet(), causal=True, edited=edits), 2), 29)
    assert file.read("weights", 2) == [".248", ".248", ".503", "0"]
    assert file.text(".walk .out").split() == [".752", ".752"]
    assert file.text(".say .change").startswith("cat’s key is now [0, 2] (was [2, 0]).")
    file.page.get_by_role("button", name="Reset").click()
    compare(file, walk(first_sheet(), 2), 29)


def test_section_2_an_example_saved_from_the_file_is_a_sheet(file: FromDisk, tmp_path: Path) -> None:
    file.open(step=29, q=2)
    file.type("value of sat, component 2", "-2.5")
    with file.page.expect_download() as saved:
        file.page.get_by_role("button", name="Save").click()
    saved.value.save_as(tmp_path / "sheet.json")
    sheet = Sheet.from_dict(json.loads((tmp_path / "sheet.json").read_text("utf-8")))
    assert sheet == replace(first_sheet(), edited=(Edit("v", 2, 1, -2.5),))


@pytest.mark.parametrize("number", NUMBERS)
def test_a_chapter_opens_and_draws_every_part(file: FromDisk, number: int) -> None:
    file.open(chapter=number)
    chapter = file.page.locator(f"section.chapter[data-chapter='{number}']")
    assert chapter.locator("h1").inner_text() == SECTIONS[number - 1].title
    assert file.page.locator(".card.bad").count() == 0
    parts = chapter.locator("[data-live]")
    assert parts.count() > 0
    for at in range(parts.count()):
        name = parts.nth(at).get_attribute("data-live")
        assert parts.nth(at).evaluate("el => el.childElementCount > 0 || el.textContent.trim() !== ''"), name


@pytest.mark.parametrize("number", [n for n in NUMBERS if n != 2])
def test_a_chapters_sliders_and_choices_work_without_a_server(file: FromDisk, number: int) -> None:
    file.open(chapter=number)
    chapter = file.page.locator(f"section.chapter[data-chapter='{number}']")
    sliders = chapter.locator("input[type=range]:visible")
    for at in range(sliders.count()):
        before = chapter.inner_text()
        sliders.nth(at).focus()
        file.press("End" if sliders.nth(at).input_value() == sliders.nth(at).get_attribute("min") else "Home")
        assert chapter.inner_text() != before, f"slider {at}"
    choices = chapter.locator(".seg:visible button")
    for at in range(choices.count()):
        choices.nth(at).click()
        assert choices.nth(at).get_attribute("aria-pressed") == "true"
    assert file.page.locator(".card.bad").count() == 0


def test_the_measurement_says_what_it_needs(file: FromDisk) -> None:
    file.open(chapter=7)
    assert "attnscope lesson 7 --measure" in file.text("section.chapter[data-chapter='7']")


def test_links_lead_to_chapters_of_the_file_and_a_reload_comes_back(file: FromDisk) -> None:
    file.open(chapter=1)
    file.page.locator("#rail a", has_text="Why divide").click()
    assert file.state()["chapter"] == "3"
    file.page.reload()
    expect(file.page.locator("#title-3")).to_be_visible()
    file.page.go_back()
    expect(file.page.locator("#title-1")).to_be_visible()
    assert file.page.locator("a[href*='explore'], nav[aria-label=Pages]").count() == 0


def test_where_a_browser_keeps_the_address_of_a_file_the_page_goes_on(file: FromDisk) -> None:
    file.page.add_init_script(
        "for (const name of ['pushState', 'replaceState']) "
        "history[name] = () => { throw new DOMException('refused', 'SecurityError') }"
    )
    file.open(chapter=1)
    file.page.locator("#rail a", has_text="Four words").click()
    file.settle()
    file.press("ArrowRight", "ArrowRight")
    assert file.place() == "Step 3 of 29 · paused"
    assert "chapter" in file.state() and file.state()["chapter"] == "1"


def test_light_and_dark_are_both_inside(file: FromDisk) -> None:
    file.open(chapter=3, theme="dark")
    dark = file.page.evaluate("getComputedStyle(document.body).backgroundColor")
    file.page.get_by_role("button", name="Light or dark").click()
    assert file.page.evaluate("getComputedStyle(document.body).backgroundColor") != dark
