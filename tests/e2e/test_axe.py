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
# The themes are two sets of colours of one document: what is not about colour is the same in both.
OF_COLOUR = ("color-contrast", "link-in-text-block")
PAGES = {"light": "rgb(251, 251, 250)", "dark": "rgb(16, 18, 20)"}


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """A page that axe may be put into, although the page's own policy lets no foreign script in."""
    context = browser.new_context(viewport=WIDE, bypass_csp=True, reduced_motion="reduce")
    context.set_default_timeout(60_000)
    context.add_init_script(path=AXE)
    yield context.new_page()
    context.close()


def faults(page: Page, rules: tuple[str, ...] = ()) -> list[str]:
    """Return what axe finds by these rules, or by all of them: the rule, what it says, and where."""
    options = {"resultTypes": ["violations"], **({"runOnly": rules} if rules else {})}
    found = page.evaluate("options => axe.run(document, options).then(found => found.violations)", options)
    return [
        f"{one['id']}: {node['target']} {node['failureSummary']}" for one in found for node in one["nodes"]
    ]


def in_every_look(page: Page, url: str, ready: str) -> list[str]:
    """Return what axe finds at `url`, wide and narrow: by all rules in light, by those of colour in dark."""
    page.emulate_media(color_scheme="light")
    page.goto(url)
    page.wait_for_selector(ready)
    page.wait_for_selector("main[aria-busy=false]")
    found = []
    for size in (WIDE, NARROW):
        page.set_viewport_size(size)
        for theme, rules in (("light", ()), ("dark", OF_COLOUR)):
            page.emulate_media(color_scheme=theme)
            page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
            assert page.evaluate("getComputedStyle(document.body).backgroundColor") == PAGES[theme]
            found += [f"{theme} {size['width']}: {fault}" for fault in faults(page, rules)]
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


def test_the_walk_has_no_fault_where_a_number_was_refused(page: Page, server: str) -> None:
    page.set_viewport_size(WIDE)
    page.goto(f"{server}/walk?chapter=2&step=29&theme=light")
    field = page.get_by_label("key of cat, component 1", exact=True)
    field.fill("two")
    field.press("Enter")
    page.wait_for_selector("[aria-invalid=true]")
    assert faults(page) == []
    page.locator("#theme").click()
    assert faults(page, OF_COLOUR) == []


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


def test_the_map_has_no_fault(page: Page, server: str) -> None:
    state = {"model": "embedded", "text": "ROMEO:\nBut, soft! what light", "layer": 2, "head": 1}
    assert in_every_look(page, f"{server}/map?{urlencode(state)}", ".sheet:not([data-blank])") == []
    page.set_viewport_size(WIDE)
    page.keyboard.press("h")
    page.wait_for_selector("dialog .hd[aria-selected=true]")
    assert faults(page) == []


def test_explore_has_no_fault_where_something_was_refused(page: Page, server: str) -> None:
    refused = urlencode({"model": "embedded", "text": "x" * 300})
    assert in_every_look(page, f"{server}/explore?{refused}", ".card.bad") == []


def test_axe_does_find_a_fault_where_there_is_one(page: Page, server: str) -> None:
    page.goto(f"{server}/explore?model=embedded&text=a")
    page.wait_for_selector("main[aria-busy=false]")
    page.evaluate("document.querySelector('main').append(document.createElement('button'))")
    assert any(fault.startswith("button-name") for fault in faults(page))
    page.evaluate(
        "document.querySelector('main').style.color = getComputedStyle(document.body).backgroundColor"
    )
    assert any(fault.startswith("color-contrast") for fault in faults(page, OF_COLOUR))
