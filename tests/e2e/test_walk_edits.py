"""The walk's numbers, words and d are changed, refused, undone and made again."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.pages import Walk


@pytest.mark.parametrize("typed", ["x", "", "∞", "inf", "1e9", "2;3", "--1", "NaN", "0x10"])
def test_a_wrong_number_is_refused_beside_the_field_and_nothing_breaks(walk: Walk, typed: str) -> None:
    walk.open(step=29, q=2)
    before = walk.numbers()
    field = walk.page.get_by_label("key of cat, component 1")
    field.fill(typed)
    walk.press("Enter")
    assert field.get_attribute("aria-invalid") == "true"
    reason = walk.page.locator(f"#{field.get_attribute('aria-describedby')}")
    assert reason.is_visible() and len(reason.inner_text()) > 10
    near = (reason.bounding_box(), field.bounding_box())
    assert near[0] and near[1] and abs(near[0]["y"] - near[1]["y"] - near[1]["height"]) < 12
    after = walk.numbers()
    assert {**after, "k:1,0": before["k:1,0"]} == before
    assert "edit" not in walk.state()
    walk.press("Escape")
    assert field.input_value() == "2" and field.get_attribute("aria-invalid") is None
    field.fill("-.5")
    walk.press("Enter")
    assert walk.read("products", 2)[1] == "−1"


def test_escape_brings_back_the_number_that_was_there_before_the_typing(walk: Walk) -> None:
    walk.open(step=29, q=2)
    before = walk.numbers()
    field = walk.page.get_by_label("key of cat, component 1")
    for typed in ("7", "1e400"):  # 1e4 is a number on the way
        field.click()
        field.press("Control+a")
        field.press_sequentially(typed)
        walk.press("Escape")
        assert field.input_value() == "2" and field.get_attribute("aria-invalid") is None
        assert walk.numbers() == before


def test_nine_words_one_word_and_an_empty_word_are_refused_in_place(walk: Walk) -> None:
    walk.open(step=29, q=2)
    walk.page.get_by_role("button", name="Words 4").click()
    count = walk.page.get_by_label("Number of words")
    for typed in ("9", "1", "many", "", "2.5"):
        count.fill(typed)
        walk.press("Enter")
        assert count.get_attribute("aria-invalid") == "true", typed
        assert walk.page.locator(".floating [role=alert]").first.is_visible()
        said = walk.text(".floating [role=alert]:not(:empty)")
        assert said.endswith("There can be 2 to 8 words.") and "such as" not in said
    assert walk.page.get_by_role("radio").count() == 4
    walk.press("Escape")
    word = walk.page.get_by_label("Word 2", exact=True)
    for typed in ("", "   ", "a" * 25):
        word.fill(typed)
        walk.press("Enter")
        assert word.get_attribute("aria-invalid") == "true", typed
    assert [chip.strip() for chip in walk.texts(".opts [role=radio]")] == ["the", "cat", "sat", "down"]
    word.fill("dog")
    walk.press("Enter")
    assert walk.texts(".opts [role=radio]") == ["the", "dog", "sat", "down"]


def test_words_and_d_are_changed_and_everything_follows(walk: Walk) -> None:
    walk.open(step=29, q=2)
    walk.page.get_by_role("button", name="Words 4").click()
    walk.type("Number of words", "8")
    assert walk.place() == "Step 53 of 53 · paused"
    assert walk.page.get_by_role("radio").count() == 8
    walk.press("Escape")
    walk.page.get_by_role("button", name="d = 2").click()
    walk.type("Components d", "8")
    assert len(walk.read("q", 2)) == 8
    assert walk.text(".say .change").startswith("d is now 8 (was 2).")
    walk.button("Undo")
    walk.button("Undo")
    assert walk.place() == "Step 29 of 29 · paused"
    assert walk.text(".walk .out").split() == [".168", ".928"]


def test_a_repeated_word_shares_its_row(walk: Walk) -> None:
    walk.open(step=29, q=2)
    walk.page.get_by_role("button", name="Words 4").click()
    walk.type("Word 4", "cat")
    assert walk.read("k", 3) == walk.read("k", 1) == ["2", "0"]
    assert [re.sub(r"\s", "", chip) for chip in walk.texts(".opts [role=radio]")] == [
        "the",
        "cat1",
        "sat",
        "cat3",
    ]


def test_a_word_typed_through_another_keeps_its_own_row(walk: Walk) -> None:
    walk.open(step=29, q=2)
    walk.page.get_by_role("button", name="Words 4").click()
    walk.type("Word 2", "satin")  # it is "sat" on the way
    assert walk.read("k", 1) == ["2", "0"]
    assert walk.texts(".opts [role=radio]") == ["the", "satin", "sat", "down"]
    walk.press("Escape")
    walk.button("Undo")
    assert walk.texts(".opts [role=radio]") == ["the", "cat", "sat", "down"]


def test_undo_goes_back_through_many_edits(walk: Walk) -> None:
    walk.open(step=29, q=2)
    outs = [walk.text(".walk .out")]
    for at in range(1, 7):
        walk.type("value of cat, component 1", str(at))
        walk.page.get_by_label("Scale by √d").click()
        outs.append(walk.text(".walk .out"))
    for wanted in reversed(outs[:-1]):
        walk.page.locator("#title-2").click()
        walk.press("Control+z", "Control+z")
        assert walk.text(".walk .out") == wanted
    assert walk.page.get_by_role("button", name="Undo").is_disabled()


def test_redo_makes_again_what_was_undone_until_something_else_is_changed(walk: Walk) -> None:
    walk.open(step=29, q=2)
    walk.button("causal")
    walk.page.get_by_label("Scale by √d").uncheck()
    edited = walk.numbers()
    walk.page.locator("#title-2").click()
    walk.press("Control+z", "Control+z")
    assert walk.text(".walk .out").split() == [".168", ".928"]
    walk.press("Control+Shift+Z")
    assert walk.text(".walk .out").split() == [".152", ".950"]
    assert walk.text("#live").startswith("The causal mask is on")
    walk.button("Redo")
    assert walk.numbers() == edited
    assert walk.page.get_by_role("button", name="Redo").is_disabled()
    walk.button("Undo")
    walk.page.get_by_role("group", name="Mask").get_by_role("button", name="none").click()
    assert walk.page.get_by_role("button", name="Redo").is_disabled()


def test_undo_works_from_the_field_that_was_edited(walk: Walk) -> None:
    walk.open(step=29, q=2)
    walk.type("key of cat, component 1", "0")
    assert walk.read("products", 2)[1] == "0"
    walk.press("Control+z")
    assert walk.read("products", 2)[1] == "4"
    assert walk.page.get_by_label("key of cat, component 1").input_value() == "2"
