"""An address that means nothing: whatever stands in it, a chapter opens as it does without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.pages import Walk

# every parameter that a chapter keeps in its address
NAMES = (
    "big", "box", "budget", "cut", "d", "edit", "head", "i", "j", "key", "layer", "length", "line", "longest",
    "mask", "number", "order", "out", "p", "panel", "part", "predict", "q", "row", "scale", "sequence",
    "show", "slope", "step", "token", "way", "window", "words", "worth", "wk", "x",
)  # fmt: skip


GARBAGE = ("99999999999999999999", "-1.5", "<b>٣%00 nan", "")


@pytest.mark.parametrize("chapter", range(5, 12))
def test_a_chapter_opens_as_ever_whatever_its_address_says(walk: Walk, chapter: int) -> None:
    shown = f"section[data-chapter='{chapter}']"
    walk.open(chapter)
    as_ever = walk.text(shown)
    walk.open(chapter, **{name: GARBAGE[at % len(GARBAGE)] for at, name in enumerate(NAMES)})
    assert walk.text(shown) == as_ever
    assert not walk.page.locator(".card.bad").count()
