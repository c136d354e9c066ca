"""The walk on a desk, on a small screen, on a phone and on paper, in both themes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Walk


@pytest.mark.parametrize("width", [360, 390, 768, 1024, 1440])
def test_nothing_scrolls_sideways(walk: Walk, width: int) -> None:
    walk.page.set_viewport_size({"width": width, "height": 900})
    for link in ({"step": 1}, {"step": 12}, {"step": 29, "panel": 1}):
        walk.open(**link)
        assert walk.page.evaluate("document.documentElement.scrollWidth") == width, link
    walk.page.get_by_role("button", name="Words 4").click()
    walk.type("Number of words", "8")
    assert walk.page.evaluate("document.documentElement.scrollWidth") == width
    walk.press("Escape")
    walk.page.get_by_role("button", name="d = 2").click()
    walk.type("Components d", "8")
    walk.press("Escape")
    assert walk.page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_long_words_and_long_numbers_are_neither_cut_nor_wider_than_the_page(walk: Walk, width: int) -> None:
    walk.page.set_viewport_size({"width": width, "height": 900})
    rows = "*".join("_".join(f"{-999_999.5 + r * 7 + c / 3:.6f}" for c in range(8)) for r in range(8))
    words = "_".join("W" * 23 + str(at) for at in range(8))
    grids = dict.fromkeys(("x", "wq", "wk", "wv"), rows)
    walk.open(step=53, panel=1, predict=1, words=words, **grids)
    assert walk.page.evaluate("document.documentElement.scrollWidth") == width
    cut = "all => all.filter(el => el.offsetParent && el.scrollWidth > el.clientWidth).map(el => el.value)"
    assert walk.page.locator(".desk input[data-ref]").evaluate_all(cut) == []


@pytest.mark.parametrize(("width", "fit"), [(1440, "wide"), (1024, "fold"), (390, "tabs")])
def test_the_stages_stand_side_by_side_fold_or_follow_one_another(walk: Walk, width: int, fit: str) -> None:
    walk.page.set_viewport_size({"width": width, "height": 900})
    walk.open(step=29, q=2)
    assert walk.page.locator(".walk").get_attribute("data-fit") == fit
    assert walk.page.locator(".tabs").is_visible() == (fit == "tabs")
    assert walk.text(".walk .out").split() == [".168", ".928"]
    if fit == "tabs":
        assert not walk.page.locator(".walk .s1").first.is_visible()
        walk.page.get_by_role("button", name="Score", exact=True).click()
        assert walk.place() == "Step 7 of 29 · paused"
        assert walk.page.locator(".walk .s1").nth(2).is_visible()


def test_at_1440_by_900_the_whole_walk_is_seen_without_scrolling(walk: Walk) -> None:
    walk.open(step=29, q=2)
    table = walk.page.locator(".walk").bounding_box()
    player = walk.page.locator(".player").bounding_box()
    assert table and player
    assert table["y"] + table["height"] <= player["y"]
    assert player["y"] + player["height"] == 900


def test_on_a_phone_the_player_sticks_to_the_foot_and_targets_are_large(walk: Walk) -> None:
    walk.page.set_viewport_size({"width": 390, "height": 844})
    walk.open(step=5)
    player = walk.page.locator(".player").bounding_box()
    step = walk.page.locator(".player .step").bounding_box()
    assert player and step
    assert round(player["y"] + player["height"]) == 844
    assert step["height"] >= 44


def test_a_step_glides_and_reduced_motion_cuts(walk: Walk) -> None:
    moving = """document.getAnimations().filter(one => !(one instanceof CSSTransition))
        .map(one => one.effect.getTiming().duration)"""
    walk.open(step=8, q=2)
    walk.press("ArrowRight")
    assert walk.page.evaluate(moving) == [420]
    walk.press("ArrowLeft")
    assert walk.page.evaluate(moving) == []
    walk.page.emulate_media(reduced_motion="reduce")
    walk.press("ArrowRight")
    assert walk.page.evaluate(moving) == []
    assert walk.place() == "Step 9 of 29 · paused"


def test_paper_shows_all_stages_and_all_numbers_and_no_controls(walk: Walk) -> None:
    walk.open(step=1, q=2)
    walk.page.emulate_media(media="print")
    for part in (".player", ".tools", ".rail", ".tabs"):
        assert not walk.page.locator(part).first.is_visible(), part
    for stage in range(6):
        assert walk.page.locator(f".walk .s{stage}").first.is_visible()
    out = walk.page.locator(".walk .out")
    assert out.inner_text().split() == [".168", ".928"]
    inks = walk.page.locator(".walk .row:not(:has(.m)) .s4 [data-ref], .walk .out > span").evaluate_all(
        "all => all.map(el => [getComputedStyle(el).color, getComputedStyle(el).visibility])"
    )
    assert inks and all(ink != "rgba(0, 0, 0, 0)" and seen == "visible" for ink, seen in inks)


def test_both_themes_turn_the_weights_colours(walk: Walk) -> None:
    walk.open(step=29, q=2)
    cell = walk.page.locator(".walk .mat [data-ref='weights:2,1']")
    colour = "el => getComputedStyle(el).backgroundColor"
    light = cell.evaluate(colour)
    walk.press("d")
    dark = cell.evaluate(colour)
    assert light != dark
    assert walk.state()["theme"] == "dark"


def test_a_dark_page_prints_light_and_says_what_was_chosen(walk: Walk) -> None:
    walk.open(1, wait=".live .part", theme="dark")
    walk.page.emulate_media(media="print")
    paper = "el => getComputedStyle(el).backgroundColor"
    assert walk.page.locator(".chapter .part").first.evaluate(paper) == "rgb(255, 255, 255)"
    assert walk.text(".part .controls").split("\n") == ["Layer", "per-token layers", "Mask", "none"]


def test_what_is_not_made_yet_cannot_be_read_in_forced_colours_either(walk: Walk) -> None:
    walk.page.emulate_media(forced_colors="active")
    walk.open(step=7, q=2)
    colours = "el => [getComputedStyle(el).color, getComputedStyle(document.body).backgroundColor]"
    ink, page = walk.page.locator(".walk .s5 .later").first.evaluate(colours)
    assert ink == page
    ink, page = walk.page.locator(".walk .s1 .res:not(.later)").first.evaluate(colours)
    assert ink != page
