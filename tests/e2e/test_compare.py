"""The page Compare: two recordings, their heads ranked, one of each beside its difference, as a link."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

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
