"""Explore is used by hand, by keyboard and by link, in both themes, on a desk and on a phone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from tests.e2e.pages import Explore

SAMPLE = "ROMEO:\nBut, soft! what light"
CELL = {"text": SAMPLE, "layer": 2, "head": 1, "i": 27, "j": 21}


def test_the_whole_page_is_reached_by_keyboard(explore: Explore) -> None:
    explore.open(**CELL)
    press = explore.page.keyboard.press
    press("/")
    explore.page.keyboard.type("To be, or not to be")
    press("Control+Enter")
    expect(explore.page.locator(".flow .tok")).to_have_count(19)
    explore.settle()
    stops = []
    for _ in range(14):
        press("Tab")
        stops.append(explore.page.evaluate("document.activeElement.getAttribute('role')"))
    assert stops.count("option") == 1 and stops.count("gridcell") == 1 and stops.count("grid") == 1
    explore.page.locator(".flow .tok[aria-selected=true]").focus()
    press("ArrowLeft")
    explore.settle()
    assert explore.text("#live").startswith("b, position 17, looks most at ")
    explore.page.locator(".hd[aria-selected=true]").focus()
    press("ArrowDown")
    press("ArrowRight")
    explore.settle()
    assert explore.text("#live").startswith("Layer 3 head 2, mean entropy ")
    press("Enter")
    press("ArrowUp")
    explore.settle()
    assert explore.text("#live").startswith("query 16 space, key ")
    assert explore.page.locator(".hm .tip").is_visible()
    press("Escape")
    assert explore.page.evaluate("document.activeElement.className") == "hd"
    press("b")
    press("2")
    explore.settle()
    state = explore.state()
    assert (state["text"], state["layer"], state["head"], state["way"], state["scale"]) == (
        "To be, or not to be",
        "3",
        "2",
        "by",
        "log",
    )


def test_the_keys_are_listed_and_escape_closes_them(explore: Explore) -> None:
    explore.open(**CELL)
    explore.page.keyboard.press("?")
    assert "light or dark" in explore.text("dialog")
    explore.page.keyboard.press("b")
    explore.page.keyboard.press("Escape")
    expect(explore.page.locator("dialog")).to_have_count(0)
    assert "way" not in explore.state()


def test_a_link_opens_the_same_view(explore: Explore) -> None:
    explore.open(**CELL, scale="log", way="by", hide="1", theme="dark")
    seen = [explore.text(part) for part in (".best", ".map h2", ".about", ".rcpt", ".note")]
    pressed = explore.texts("[aria-pressed=true]")
    link = explore.page.evaluate("location.href")
    explore.page.goto("about:blank")
    explore.page.goto(link)
    explore.settle(".rcpt .big")
    assert [explore.text(part) for part in (".best", ".map h2", ".about", ".rcpt", ".note")] == seen
    assert explore.texts("[aria-pressed=true]") == pressed == ["tokens", "looked at by", "weight", "log"]
    assert explore.page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_back_and_forward_go_through_the_choices(explore: Explore) -> None:
    explore.open(**CELL)
    explore.page.locator(".flow .tok").nth(5).click()
    explore.settle()
    explore.page.get_by_role("gridcell", name="Layer 0 head 0,").click()
    explore.settle()
    assert explore.text(".map h2") == "Layer 0 · Head 0"
    explore.page.go_back()
    explore.settle()
    assert explore.text(".map h2") == "Layer 2 · Head 1"
    assert ":, position 5" in explore.text(".tokens .sec")
    explore.page.go_back()
    explore.settle()
    assert "t, position 27" in explore.text(".tokens .sec")
    explore.page.go_forward()
    explore.settle()
    assert ":, position 5" in explore.text(".tokens .sec")


def test_another_text_is_a_step_one_can_go_back_from(explore: Explore) -> None:
    explore.open(**CELL)
    explore.page.locator("textarea").fill("Hark")
    explore.page.get_by_role("button", name="Run").click()
    expect(explore.page.locator(".flow .tok")).to_have_count(4)
    explore.page.go_back()
    expect(explore.page.locator(".flow .tok")).to_have_count(28)
    assert explore.page.locator("textarea").input_value() == SAMPLE


def test_copy_link_copies_the_address(explore: Explore) -> None:
    explore.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    explore.open(**CELL)
    explore.page.keyboard.press("c")
    expect(explore.page.locator("#copy")).to_have_text("Copied")
    assert explore.page.evaluate("navigator.clipboard.readText()") == explore.page.evaluate("location.href")


def test_both_themes_turn_the_map_and_can_be_pinned(explore: Explore) -> None:
    explore.open(**CELL)
    ground = "getComputedStyle(document.body).backgroundColor"
    light = (explore.pixel(5, 5), explore.page.evaluate(ground))
    explore.page.keyboard.press("d")
    explore.settle()
    dark = (explore.pixel(5, 5), explore.page.evaluate(ground))
    assert light[1] == "rgb(251, 251, 250)" and dark[1] == "rgb(16, 18, 20)"
    assert sum(light[0]) < 382 < sum(dark[0])  # the first weight is 1, far from the page in either theme
    assert explore.state()["theme"] == "dark"
    explore.page.emulate_media(color_scheme="dark")
    explore.page.keyboard.press("d")
    explore.settle()
    assert explore.page.evaluate(ground) == light[1]


@pytest.mark.parametrize("width", [390, 768, 1024, 1440])
def test_nothing_scrolls_sideways(explore: Explore, width: int) -> None:
    explore.page.set_viewport_size({"width": width, "height": 900})
    explore.open(**CELL)
    assert explore.page.evaluate("document.documentElement.scrollWidth") == width
    assert explore.page.locator(".rows span").count() == 28


def test_at_1440_by_900_the_page_itself_does_not_scroll(explore: Explore) -> None:
    explore.open(**CELL)
    assert explore.page.evaluate("document.documentElement.scrollHeight") == 900
    plane = explore.page.locator(".plane").bounding_box()
    assert plane and plane["width"] == plane["height"] == 28 * 17


def test_by_touch_the_tooltip_docks_under_the_map(explore: Explore) -> None:
    context = explore.page.context.browser.new_context(viewport={"width": 390, "height": 900}, has_touch=True)
    page = context.new_page()
    page.goto(f"{explore.base}/explore?model={explore.model}&layer=2&head=1")
    page.wait_for_selector(".plane canvas[width]", state="visible")
    plane = page.locator(".plane")
    plane.scroll_into_view_if_needed()
    plane.tap(position={"x": 20, "y": 200})
    tip = page.locator(".hm .tip.docked")
    tip.wait_for(state="visible")
    under, over = tip.bounding_box(), plane.bounding_box()
    assert under and over and under["y"] >= over["y"] + over["height"]
    context.close()
