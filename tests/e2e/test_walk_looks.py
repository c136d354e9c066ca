"""The walk on a desk, on a small screen, on a phone and on paper, in both themes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.pages import Walk


WIDTHS = (360, 390, 768, 1024, 1320, 1440)
# What is made in .walk and can be read: numbers of one line with under 2 px between them, numbers that leave
# their cell, sums that are cut; and the page, where it is wider than the window.
CROWDED = """() => {
    const found = [], boxes = []
    for (const el of document.querySelectorAll('.walk [data-ref]:not(input)')) {
        const style = getComputedStyle(el)
        if (!el.offsetParent || el.closest('.later') || style.visibility !== 'visible') continue
        if (style.color === 'rgba(0, 0, 0, 0)') continue
        const range = document.createRange()
        range.selectNodeContents(el)
        const box = range.getBoundingClientRect()
        const cell = el.closest('[role=cell]').getBoundingClientRect()
        const name = `${el.dataset.ref} ${el.textContent}`
        if (box.left < cell.left - 1 || box.right > cell.right + 1) found.push(`${name} leaves its cell`)
        boxes.push({ name, left: box.left, right: box.right, line: Math.round((box.top + box.bottom) / 8) })
    }
    boxes.sort((a, b) => a.line - b.line || a.left - b.left)
    boxes.forEach((b, at) => {
        const a = boxes[at - 1]
        if (a && a.line === b.line && b.left - a.right < 2) found.push(`${a.name} touches ${b.name}`)
    })
    for (const el of document.querySelectorAll('.walk .why:not(.later)')) {
        if (el.offsetParent && el.scrollWidth > el.clientWidth) found.push(`${el.textContent} is cut`)
    }
    const page = document.documentElement.scrollWidth
    return page > innerWidth ? [...found, `the page is ${page} px wide`] : found
}"""


def resize(walk: Walk, width: int) -> None:
    """Make the page that wide, and wait until it is laid out anew."""
    walk.page.set_viewport_size({"width": width, "height": 900})
    walk.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def too_wide(walk: Walk) -> list[int]:
    """Return the widths of the window at which the page is wider than it."""
    found = []
    for width in WIDTHS:
        resize(walk, width)
        if walk.page.evaluate("document.documentElement.scrollWidth") != width:
            found.append(width)
    return found


def test_nothing_scrolls_sideways(walk: Walk) -> None:
    walk.open()
    for link in ({"step": 1}, {"step": 12}, {"step": 29, "panel": 1}):
        walk.turn(**link)
        assert too_wide(walk) == [], link
    walk.button("Words 4 ▾")
    walk.type("Number of words", "8")
    assert too_wide(walk) == []
    walk.press("Escape")
    walk.button("d = 2 ▾")
    walk.type("Components d", "8")
    walk.press("Escape")
    assert too_wide(walk) == []


def crowd(n: int, d: int, words: list[str]) -> dict[str, str]:
    """A link to n words whose queries, keys and values have d numbers of many digits, of both signs."""
    cycle = ["1.25", "-.75", ".5", "-2.125", "3", ".333", "-1.5", "2"]

    def rows(start: int, width: int) -> str:
        return "*".join("_".join(cycle[(start + r + c) % 8] for c in range(width)) for r in range(n))

    x = "*".join("_".join("1" if r == c else "0" for c in range(n)) for r in range(n))
    return {"words": "_".join(words[:n]), "x": x, "wq": rows(0, d), "wk": rows(3, d), "wv": rows(5, d)}


@pytest.mark.parametrize(("n", "d"), [(2, 8), (3, 2), (4, 2), (8, 8)])
def test_no_number_of_the_walk_touches_another_or_is_cut(walk: Walk, n: int, d: int) -> None:
    link = crowd(n, d, ["the", "cat", "sat", "down", "on", "my", "warm", "mat"])
    walk.open(**link)
    for width in (390, 1024, 1440):
        resize(walk, width)
        for step in (2 * n, 4 * n + 4, 5 + 6 * n):  # in the scores, in the sums, at the end
            walk.turn(step=step, **link)
            assert walk.page.evaluate(CROWDED) == [], (width, step)


def test_the_longest_words_never_make_the_page_too_wide(walk: Walk) -> None:
    walk.open()
    for letter in ("W", "漢"):
        words = [letter * 23 + str(at) for at in range(8)]
        for n, d in ((2, 1), (8, 1), (8, 8)):
            walk.turn(step=999, **crowd(n, d, words))
            assert too_wide(walk) == [], (letter, n, d)


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


def test_nothing_that_gets_the_focus_stands_behind_the_player(walk: Walk) -> None:
    walk.open(step=29)
    walk.page.locator(".player select").focus()
    player = walk.page.locator(".player").bounding_box()
    assert player
    for link in ("Self-attention", "query"):
        word = walk.page.locator(".chapter:not([hidden]) .term[tabindex='0']").filter(has_text=link).first
        word.focus()
        box = word.bounding_box()
        assert box and box["y"] + box["height"] <= player["y"], link
