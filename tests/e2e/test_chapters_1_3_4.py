"""Chapters 1, 3 and 4 of Walk in a browser: every number on the screen is Python's, and keys reach it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import pytest

from attnscope import lesson
from attnscope.lesson.context import Context
from attnscope.lesson.forgotten import ForgottenPositions
from attnscope.lesson.late_word import LateWord
from attnscope.lesson.mistakes import Mistakes
from attnscope.lesson.scaling import Saturation, Spread
from attnscope.looks.numbers import number, weight

if TYPE_CHECKING:
    from tests.e2e.pages import Walk


made = functools.cache(lambda name: getattr(lesson, name)())


def rows(walk: Walk, table: str) -> list[list[str]]:
    """Return the numbers of a table of vectors, a row a line."""
    found: list[list[str]] = walk.page.locator(f"{table} tbody tr").evaluate_all(
        "all => all.map(row => [...row.querySelectorAll('td')].map(cell => cell.lastChild.textContent))"
    )
    return found


def written(vector: Any, places: int = 2) -> list[str]:
    return [number(x, places) for x in vector.tolist()]


def vectors_of(found: Context, layer: str, mask: str) -> tuple[Any, Any]:
    if layer == "tokens":
        return found.token_by_token[0][-1], found.token_by_token[1][-1]
    return found.causal if mask == "causal" else found.bidirectional


@pytest.mark.parametrize(
    ("layer", "mask"), [("tokens", "none"), ("attention", "none"), ("attention", "causal")]
)
def test_chapter_1_shows_the_vectors_of_bank_and_their_difference(walk: Walk, layer: str, mask: str) -> None:
    found: Context = made("context")
    walk.open(1, wait=".vectors td", layer=layer, mask=mask)
    one, two = (
        vectors[place] for vectors, place in zip(vectors_of(found, layer, mask), found.places, strict=True)
    )
    assert rows(walk, "[data-live=bank] .vectors") == [
        written(one),
        written(two),
        written(one.double() - two.double()),
    ]
    same = walk.page.locator("[data-live=bank] .difference .same").count()
    said = walk.text("[data-live=bank] .said")
    if layer == "tokens":
        assert same == 8 and "bit for bit" in said
    else:
        assert same == 0 and number(found.bidirectional_difference, 3) in said
        looks = found.looks_causal if mask == "causal" else found.looks_bidirectional
        expected = [weight(x) for both in looks for x in both.tolist()]
        assert walk.texts("[data-live=bank] .look b") == expected


@pytest.mark.parametrize(
    ("layer", "mask"), [("tokens", "none"), ("attention", "none"), ("attention", "causal")]
)
def test_chapter_1_shows_what_the_last_word_changes_at_each_word(walk: Walk, layer: str, mask: str) -> None:
    found: LateWord = made("late_word")
    walk.open(1, wait=".vectors td", layer=layer, mask=mask)
    change = found.token_by_token_change
    if layer == "attention":
        change = found.causal_change if mask == "causal" else found.bidirectional_change
    shown = walk.texts("[data-live=late] .bars-number:not([hidden])")
    assert shown == [weight(x) for x in change.tolist()]
    said = walk.text("[data-live=late] .said")
    assert ("exactly 0" in said) == (float(change[found.place]) == 0)
    if layer == "attention" and mask == "none":
        assert number(float(change[found.place]), 3) in said


def test_chapter_1_is_switched_by_keyboard_alone_and_kept_in_the_address(walk: Walk) -> None:
    walk.open(1, wait=".vectors td")
    walk.page.get_by_role("button", name="per-token layers").first.focus()
    walk.press("ArrowRight")
    assert walk.state() == {"chapter": "1", "layer": "attention"}
    assert "differ by up to" in walk.text("[data-live=bank] .said")
    walk.press("Tab", "ArrowRight")
    assert walk.state() == {"chapter": "1", "layer": "attention", "mask": "causal"}
    assert "exactly 0" in walk.text("[data-live=late] .said")
    assert "exactly 0" in walk.text("#live")
    walk.page.go_back()
    walk.page.go_back()
    assert walk.state() == {"chapter": "1"}
    assert "bit for bit" in walk.text("[data-live=bank] .said")


@pytest.mark.parametrize("d", [1, 64, 512, 1024])
def test_chapter_3_shows_pythons_numbers_at_every_stop(walk: Walk, d: int) -> None:
    spread: Spread = made("spread")
    saturation: Saturation = made("saturation")
    at = saturation.at(d)
    walk.open(3, wait=".curve-line", d=d)
    read = walk.texts("[data-live=spread] .curve-key b")
    assert read == [number(float(x[at]), 2) for x in (spread.raw, spread.roots, spread.scaled)]
    middle = len(spread.edges) // 2 - 1
    shares = [float(x[at, middle]) / spread.pairs for x in (spread.raw_counts, spread.scaled_counts)]
    assert walk.texts("[data-live=spread] .histogram-read b") == [number(x, 4) for x in shares]
    bars = walk.texts("[data-live=saturation] .bars-line .bars-number")
    both = zip(saturation.weights[0, at].tolist(), saturation.weights[1, at].tolist(), strict=True)
    assert bars == [weight(x) for pair in both for x in pair]
    cells = walk.texts("[data-live=saturation] .measures td:not(:empty)")
    largest = [*saturation.largest[:, at], *saturation.middle_largest[:, at]]
    assert cells[:4] == [weight(float(x)) for x in largest]
    finer = [saturation.entropy, saturation.middle_entropy, saturation.gradient, saturation.middle_gradient]
    values = [float(x[s, at]) for x in finer for s in (0, 1)]
    for shown, x in zip(cells[4:], values, strict=True):
        assert float(shown.replace("−", "-")) == pytest.approx(x, rel=0.051, abs=5.1e-5)


def test_chapter_3_the_slider_moves_both_parts_by_keyboard(walk: Walk) -> None:
    spread: Spread = made("spread")
    walk.open(3, wait=".curve-line")
    sliders = walk.page.get_by_role("slider", name="Width d")
    assert sliders.first.get_attribute("aria-valuetext") == "512"
    sliders.first.focus()
    walk.press("ArrowLeft", "ArrowLeft")
    assert walk.state() == {"chapter": "3", "d": "128"}
    assert sliders.nth(1).get_attribute("aria-valuetext") == "128"
    assert number(float(spread.raw[7]), 2) in walk.text("[data-live=spread] .said")
    sliders.nth(1).focus()
    walk.press("End")
    assert "d = 1,024" in walk.text("[data-live=saturation] .said")
    assert walk.text("#live").startswith("At d = 1,024 the products have")


def test_chapter_3_the_curve_is_read_with_the_arrow_keys(walk: Walk) -> None:
    spread: Spread = made("spread")
    walk.open(3, wait=".curve-line", d=64)
    walk.page.get_by_role("slider", name="Standard deviation of products by width").focus()
    walk.press("Home", "ArrowRight", "ArrowRight")
    assert walk.text("[data-live=spread] .curve-reading").startswith("width d 4")
    assert walk.texts("[data-live=spread] .curve-key b")[0] == number(float(spread.raw[2]), 2)
    assert walk.state()["d"] == "64"  # reading is not choosing
    rows_told = walk.page.locator("[data-live=spread] .curve-table tbody tr").count()
    assert rows_told == len(spread.widths)


@pytest.mark.parametrize("wrong", ["abc", "7", "-4", "1e3", ""])
def test_chapter_3_a_width_that_is_not_there_is_the_default(walk: Walk, wrong: str) -> None:
    walk.open(3, wait=".curve-line", d=wrong)
    assert walk.page.get_by_role("slider", name="Width d").first.get_attribute("aria-valuetext") == "512"


def test_chapter_4_shows_every_mistake_with_its_numbers_and_findings(walk: Walk) -> None:
    mistakes: Mistakes = made("mistakes")
    walk.open(4, wait=".mistake .one")
    for case in mistakes.cases:
        part = f"#mistake-{case.name}"
        grids = walk.page.locator(f"{part} [role=grid]")
        assert grids.count() == 2
        for grid, weights in ((grids.nth(0), case.right), (grids.nth(1), case.weights)):
            shown = grid.locator(".one").evaluate_all("all => all.map(cell => cell.textContent)")
            seen = (case.visible | (weights > 0)).flatten().tolist()
            expected = [weight(x) if s else "" for x, s in zip(weights.flatten().tolist(), seen, strict=True)]
            assert shown == expected
        assert walk.texts(f"{part} .sums.rows b") == written(case.rows, 3)
        assert walk.texts(f"{part} .sums.columns b") == written(case.columns, 3)
        verdict = " ".join(walk.texts(f"{part} .verdict dd"))
        for one in case.found:
            assert one.name.replace("_", " ") in verdict and one.sentence in verdict and one.remedy in verdict


def test_chapter_4_shows_the_losses_with_and_without_positions(walk: Walk) -> None:
    found: ForgottenPositions = made("forgotten_positions")
    walk.open(4, wait=".curve-line")
    read = dict(
        zip(
            walk.texts("[data-live=losses] .curve-key"),
            walk.texts("[data-live=losses] .curve-key b"),
            strict=True,
        )
    )
    assert [value for name, value in read.items() if name.startswith("with positions")] == ["1.6942"]
    assert [value for name, value in read.items() if name.startswith("without positions")] == ["1.7511"]
    cells = walk.texts("[data-live=losses] .orders td:not(:empty)")
    with_, without = found.order_with, found.order_without
    assert with_.unmasked is not None and without.unmasked is not None
    assert cells[2] == "1.6942" and cells[5] == "1.7511"
    assert cells[0] == number(with_.as_it_is.difference, 4) and cells[1] == number(
        with_.unmasked.difference, 4
    )
    assert "the mask alone carries order" in walk.text("[data-live=losses] ul")


@pytest.mark.parametrize("chapter", [1, 3, 4])
@pytest.mark.parametrize("width", [390, 1024])
def test_nothing_of_chapters_1_3_and_4_scrolls_sideways(walk: Walk, chapter: int, width: int) -> None:
    walk.page.set_viewport_size({"width": width, "height": 844})
    walk.open(chapter, wait=".live .part", layer="attention")
    assert walk.page.evaluate("document.documentElement.scrollWidth") == width


def test_chapter_4_no_sum_touches_the_next(walk: Walk) -> None:
    walk.open(4)
    gaps = walk.page.locator(".sums.columns").evaluate_all(
        """all => all.flatMap(line => {
            const boxes = [...line.querySelectorAll('b')].map(el => el.getBoundingClientRect())
            return boxes.slice(1).map((box, at) => box.left - boxes[at].right)
        })"""
    )
    assert gaps and min(gaps) >= 4
