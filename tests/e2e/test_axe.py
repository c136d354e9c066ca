"""axe-core finds nothing to mend on any page, in either theme, on a wide screen and on a narrow one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page

from attnscope.lesson import SECTIONS

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
THEMES = ("light", "dark")


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """A page that axe may be put into, although the page's own policy lets no foreign script in."""
    context = browser.new_context(viewport=WIDE, bypass_csp=True, reduced_motion="reduce")
    context.set_default_timeout(60_000)
    context.add_init_script(path=AXE)
    yield context.new_page()
    context.close()


def faults(page: Page) -> list[str]:
    """Return what axe finds: the rule, what it says, and where."""
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']}).then(found => found.violations)")
    return [
        f"{one['id']}: {node['target']} {node['failureSummary']}" for one in found for node in one["nodes"]
    ]


def in_every_look(page: Page, url: str, ready: str) -> list[str]:
    """Return what axe finds at `url` in both themes, wide and narrow."""
    found = []
    for theme in THEMES:
        for size in (WIDE, NARROW):
            page.set_viewport_size(size)
            page.goto(f"{url}&theme={theme}")
            page.wait_for_selector(ready)
            page.wait_for_selector("main[aria-busy=false]")
            found += [f"{theme} {size['width']}: {fault}" for fault in faults(page)]
    return found


@pytest.mark.parametrize("number", [one.number for one in SECTIONS])
def test_a_chapter_has_no_fault(page: Page, server: str, number: int) -> None:
    assert in_every_look(page, f"{server}/walk?chapter={number}", f"#title-{number}") == []


@pytest.mark.parametrize(
    "state",
    [
        {"step": 29, "panel": 1},
        {"step": 5, "predict": 1},
        {"step": 24, "mask": "causal", "scale": "off", "edit": "k_1_0_0*k_1_1_2"},
        {"step": 9, "words": "the_cat_sat_down_on_the_warm_mat"},
    ],
    ids=["projections open", "predicting", "edited, masked, not scaled", "eight words"],
)
def test_the_walk_has_no_fault_in_any_state(page: Page, server: str, state: dict[str, object]) -> None:
    assert in_every_look(page, f"{server}/walk?{urlencode({'chapter': 2, **state})}", ".player") == []


@pytest.mark.parametrize("theme", THEMES)
def test_the_walk_has_no_fault_where_a_number_was_refused(page: Page, server: str, theme: str) -> None:
    page.set_viewport_size(WIDE)
    page.goto(f"{server}/walk?chapter=2&step=29&theme={theme}")
    field = page.get_by_label("key of cat, component 1", exact=True)
    field.fill("two")
    field.press("Enter")
    page.wait_for_selector("[aria-invalid=true]")
    assert faults(page) == []


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_explore_has_no_fault(page: Page, server: str, scale: str) -> None:
    state = {
        "model": "embedded",
        "text": "ROMEO:\nBut, soft! what light",
        "layer": 2,
        "head": 1,
        "scale": scale,
    }
    assert in_every_look(page, f"{server}/explore?{urlencode(state)}", ".plane canvas[width]") == []


def test_explore_has_no_fault_where_something_was_refused(page: Page, server: str) -> None:
    refused = urlencode({"model": "embedded", "text": "x" * 300})
    assert in_every_look(page, f"{server}/explore?{refused}", ".card.bad") == []


def test_axe_does_find_a_fault_where_there_is_one(page: Page, server: str) -> None:
    page.goto(f"{server}/explore?model=embedded&text=a")
    page.wait_for_selector("main[aria-busy=false]")
    page.evaluate("document.querySelector('main').append(document.createElement('button'))")
    assert any(fault.startswith("button-name") for fault in faults(page))
