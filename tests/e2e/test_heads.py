"""The page Heads: a survey from a file or made on the spot, its heads chosen and opened, all of it a link."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from attnscope.measure import HeadTable, heads
from attnscope.models import open_model
from tests.e2e.pages import Explore, served
from tests.e2e.test_axe import in_every_look
from tests.e2e.test_axe import page as axe_page  # noqa: F401

TEXTS = ["ROMEO: But soft! what light, what light", "To be, or not to be: that is the rest."]


@pytest.fixture(scope="module")
def table() -> HeadTable:
    return heads(open_model("lesson"), TEXTS, draws=2)


@pytest.fixture(scope="module")
def app(table: HeadTable, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An app on a survey of the lesson's model, and on a recording of it."""
    at = tmp_path_factory.mktemp("heads")
    recording = open_model("lesson").run(TEXTS[0]).recording.save(at / "taken")
    with served(table.save(at / "heads.json"), recording) as base:
        yield base


def open_heads(explore: Explore, app: str, query: str = "") -> None:
    explore.page.goto(f"{app}/heads{query}")
    explore.settle("#rows tbody tr")


def names(explore: Explore) -> list[str]:
    return [text.strip() for text in explore.texts("#rows tbody th")]


def test_a_survey_is_sorted_and_its_head_opens_on_its_best_text(
    explore: Explore, app: str, table: HeadTable
) -> None:
    open_heads(explore, app)
    assert names(explore) == [f"L{row.layer} H{row.head}" for row in table.rows]
    explore.page.get_by_role("button", name="previous token", exact=True).last.click()
    explore.settle("#rows tbody tr")
    ranked = table.ranked("previous_token")
    assert names(explore) == [f"L{row.layer} H{row.head}" for row in ranked]
    best = ranked[0]
    explore.page.locator("#rows tbody tr").first.focus()
    explore.page.keyboard.press("Enter")
    expect(explore.page.locator("#detail h2")).to_have_text(f"Layer {best.layer} · Head {best.head}")
    state = explore.state()
    assert (state["sort"], state["layer"], state["head"]) == (
        "previous_token",
        str(best.layer),
        str(best.head),
    )
    link = explore.page.url
    explore.page.goto("about:blank")
    explore.page.goto(link)
    explore.settle("#detail h2")
    assert names(explore)[0] == f"L{best.layer} H{best.head}"
    explore.page.keyboard.press("o")
    explore.settle()
    state = explore.state()
    assert (state["model"], state["layer"], state["head"]) == ("lesson", str(best.layer), str(best.head))
    assert state["text"] in {text.spelled for text in table.texts}
    # there the heads have the marks of their classes, and the way back leads to this head
    expect(explore.page.locator(".hd .called .gl")).to_have_count(len(table.rows))
    assert best.classes[0] in str(explore.page.locator(".hd[aria-selected=true]").get_attribute("title"))
    named = sum(best.classes[0] in row.classes for row in table.rows)
    explore.page.locator(f".class-legend [data-class='{best.classes[0]}']").click()
    expect(explore.page.locator(".hd.back")).to_have_count(len(table.rows) - named)
    explore.page.get_by_role("link", name="What each head does").click()
    explore.settle("#detail h2")
    assert explore.text("#detail h2") == f"Layer {best.layer} · Head {best.head}"


def test_a_recording_is_measured_on_the_spot_and_one_text_gives_no_class(explore: Explore, app: str) -> None:
    explore.page.goto(f"{app}/heads?model=taken")
    explore.settle("#nothing .card")
    explore.page.get_by_role("button", name="Measure its heads").click()
    explore.settle("#rows tbody tr")
    assert {text.strip() for text in explore.texts("#rows tbody td:nth-child(2)")} == {"no class"}
    assert "one text gives no interval, and so no class" in explore.text("#pick")
    explore.page.locator("#rows tbody tr").nth(3).click()
    explore.page.get_by_role("link", name="Open in Explore").first.click()
    explore.settle()
    assert explore.state()["model"] == "taken"


def test_saved_from_the_page_the_table_is_the_survey(explore: Explore, app: str, tmp_path: Path) -> None:
    open_heads(explore, app, "?survey=heads.json&x=sink&y=entropy")
    explore.page.locator("#save").click()
    with explore.page.expect_download() as waited:
        explore.page.get_by_role("button", name="JSON", exact=True).click()
    waited.value.save_as(tmp_path / "again.json")
    told = json.loads((tmp_path / "again.json").read_text("utf-8"))
    assert len(told["heads"]) == len(names(explore))


def test_a_phone_shows_it_all_without_sideways_scroll(explore: Explore, app: str) -> None:
    explore.page.set_viewport_size({"width": 390, "height": 844})
    open_heads(explore, app, "?survey=heads.json&layer=1&head=1&theme=dark")
    assert explore.page.evaluate("document.documentElement.scrollWidth") <= 390
    expect(explore.page.locator("#detail h2")).to_be_visible()
    explore.page.keyboard.press("m")
    expect(explore.page.get_by_role("dialog", name="What the scores mean")).to_be_visible()


def test_axe_has_no_fault_with_a_head_chosen_and_before_anything_is_measured(
    axe_page: Page,  # noqa: F811
    app: str,
) -> None:
    chosen = f"{app}/heads?survey=heads.json&layer=1&head=1&sort=sink"
    assert in_every_look(axe_page, chosen, "#detail h2") == []
    assert in_every_look(axe_page, f"{app}/heads?model=lesson-no-positions", "#nothing .card") == []


def test_the_points_are_one_stop_and_arrows_go_from_one_to_the_next(
    explore: Explore, app: str, table: HeadTable
) -> None:
    open_heads(explore, app)
    dots = explore.page.locator("#scatter circle")
    expect(dots).to_have_count(len(table.rows))
    expect(explore.page.locator("#scatter circle[tabindex='0']")).to_have_count(1)
    explore.page.locator("#scatter select").last.focus()
    explore.page.keyboard.press("Tab")
    focused = explore.page.locator("#scatter circle:focus")
    expect(focused).to_have_count(1)
    explore.page.keyboard.press("Home")
    seen = {focused.get_attribute("data-head")}
    for _ in table.rows[1:]:
        explore.page.keyboard.press("ArrowRight")
        seen.add(focused.get_attribute("data-head"))
    assert len(seen) == len(table.rows)
    explore.page.keyboard.press("Enter")
    expect(focused).to_have_attribute("aria-selected", "true")
    expect(explore.page.locator("#detail h2")).to_be_visible()
