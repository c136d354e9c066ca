"""The page Compare: two recordings, their heads ranked, one of each beside its difference, as a link."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from attnscope.comparison import compare
from attnscope.models import open_model
from tests.e2e.pages import Explore, served

A, B = "ROMEO: But soft", "ROMEO: But, so hard"


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An app on two recordings of one model."""
    subject, at = open_model("lesson"), tmp_path_factory.mktemp("two")
    folders = [subject.run(text).recording.save(at / name) for name, text in (("one", A), ("other", B))]
    with served(*folders) as base:
        yield base


def test_heads_are_ranked_and_a_place_can_be_linked(explore: Explore, two: str) -> None:
    subject = open_model("lesson")
    found = compare(subject.run(A).recording, subject.run(B).recording)
    explore.page.goto(f"{two}/compare")
    explore.page.wait_for_selector(".ranks tbody tr")
    explore.settle(".pictures canvas[width]")
    names = explore.texts(".ranks tbody td:first-child")
    assert names == [f"L{one.layer} · H{one.head}" for one in found.heads]
    assert f"L{found.heads[0].layer} · H{found.heads[0].head}" in explore.text("tr[aria-selected=true]")
    explore.page.locator(".ranks tbody tr").nth(2).click()
    explore.page.keyboard.press("a")
    explore.settle(".pictures canvas[width]")
    state = explore.state()
    assert (state["layer"], state["align"]) == (str(found.heads[2].layer), "position")
    plane = explore.page.locator(".pictures .plane").nth(2)
    plane.focus()
    explore.page.keyboard.press("Home")
    explore.settle(".pictures canvas[width]")
    assert explore.state()["j"] == "0"
    link, shown = explore.page.url, explore.texts(".here .big")
    explore.page.goto("about:blank")
    explore.page.goto(link)
    explore.settle(".pictures canvas[width]")
    assert explore.texts(".here .big") == shown


def test_a_long_comparison_tells_how_far_it_is_and_can_be_cancelled(explore: Explore, two: str) -> None:
    """The server's answers are held back: whatever this machine's speed, the comparison is under way."""
    state = {"id": "x", "state": "running", "step": "layers.1.attention, head 0", "done": 2, "total": 8}
    held = json.dumps(state | {"error": None, "seconds_left": None})
    stopped: list[str] = []

    def hold(route: Any) -> None:
        if route.request.method == "DELETE":
            stopped.append(route.request.url)
        route.fulfill(status=200, content_type="application/json", body=held)

    explore.page.route("**/api/comparisons/*", hold)
    explore.page.goto(f"{two}/compare")
    expect(explore.page.locator(".three .card:has(.prog)")).to_contain_text("layers.1.attention, head 0")
    assert explore.page.locator("#save").is_disabled()
    explore.page.get_by_role("button", name="Cancel").click()
    explore.page.wait_for_selector("text=The comparison was cancelled")
    assert len(stopped) == 1
    explore.page.unroute("**/api/comparisons/*")
    explore.page.get_by_role("button", name="Compare", exact=True).click()
    explore.page.wait_for_selector(".ranks tbody tr")
    expect(explore.page.locator(".three h2")).to_contain_text("Layer ")  # after the list, once it is drawn


def test_the_list_and_the_picture_are_saved(explore: Explore, two: str) -> None:
    explore.page.goto(f"{two}/compare?by=largest")
    explore.page.wait_for_selector(".ranks tbody tr")
    explore.settle(".pictures canvas[width]")
    explore.page.locator("#save").click()
    for form, begins in (("CSV", b"# attnscope {"), ("PNG", b"\x89PNG")):
        with explore.page.expect_download() as saved:
            explore.page.get_by_role("button", name=form, exact=True).click()
        assert saved.value.path().read_bytes().startswith(begins)


def test_on_a_phone_nothing_scrolls_sideways_and_two_lines_of_text_are_whole(
    explore: Explore, two: str
) -> None:
    explore.page.set_viewport_size({"width": 390, "height": 844})
    explore.page.goto(f"{two}/compare?a=lesson&b=lesson")
    field = explore.page.locator(".pick textarea").first
    field.fill("ROMEO:\nBut, soft!")
    assert explore.page.evaluate("document.documentElement.scrollWidth") == 390
    assert field.evaluate("el => el.scrollHeight <= el.clientHeight")
