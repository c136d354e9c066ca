"""The walk is stepped, edited, undone, saved and opened by hand, by keyboard and by link."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from tests.e2e.conftest import Walk


def test_section_2_as_a_new_user_reads_it(walk: Walk) -> None:
    """Acceptance 2 of the lesson: step, mask, edit, undo, reset."""
    walk.page.goto(f"{walk.base}/walk")
    walk.page.get_by_role("link", name="Four words by hand").first.click()
    walk.settle()
    assert walk.place() == "Step 1 of 29 · paused"
    assert walk.text(".opts [aria-checked=true]") == "sat"
    while walk.page.locator(".step").is_enabled():
        walk.button("Step")
    assert walk.place() == "Step 29 of 29 · paused"
    assert walk.text(".walk .out").split() == [".168", ".928"]
    assert walk.read("weights", 2) == [".048", ".808", ".097", ".048"]
    walk.button("causal")
    assert walk.text(".walk .out").split() == [".152", ".950"]
    assert walk.read("weights", 2) == [".050", ".848", ".102", "0"]
    walk.page.get_by_label("key of cat, component 1").click()
    walk.page.keyboard.type("0")
    walk.press("Tab")
    walk.page.keyboard.type("2")
    walk.press("Enter")
    assert walk.read("weights", 2) == [".248", ".248", ".503", "0"]
    assert walk.text(".walk .out").split() == [".752", ".752"]
    changed = walk.text(".say .change")
    assert changed.startswith("cat’s key is now [0, 2] (was [2, 0]).")
    assert changed.endswith("sat now looks mostly at itself.")
    walk.button("Undo")
    assert walk.read("k", 1) == ["2", "0"]
    assert walk.text(".walk .out").split() == [".152", ".950"]
    walk.button("Reset")
    assert walk.text(".walk .out").split() == [".168", ".928"]
    assert walk.text(".opts [aria-pressed=true]") == "none"
    assert walk.page.get_by_role("button", name="Reset").is_disabled()


def test_the_word_that_asked_comes_back_with_the_words_that_were_taken_out(walk: Walk) -> None:
    walk.open(step=29, q=2)
    for way_back in ("Undo", "Reset"):
        walk.button("Words 4 ▾")
        walk.type("Number of words", "2")
        walk.press("Escape")
        assert walk.text(".opts [role=radio][aria-checked=true]") == "cat"
        walk.button(way_back)
        assert walk.text(".opts [role=radio][aria-checked=true]") == "sat"
        assert walk.text(".walk .out").split() == [".168", ".928"]


def test_nothing_plays_by_itself(walk: Walk) -> None:
    walk.open()
    walk.page.wait_for_timeout(2500)
    assert walk.place() == "Step 1 of 29 · paused"


def test_play_goes_on_until_the_end_and_pause_stops_it(walk: Walk) -> None:
    walk.page.emulate_media(reduced_motion="reduce")
    walk.open(step=26)
    walk.button("Play")
    assert walk.place() == "Step 26 of 29 · playing"
    expect(walk.page.locator(".player .count")).to_have_text("Step 27 of 29 · playing")
    walk.press("Space")
    assert walk.place().endswith("paused")
    at = walk.place()
    walk.page.wait_for_timeout(1500)
    assert walk.place() == at
    walk.page.locator("#title-2").click()
    walk.press("Space")
    expect(walk.page.locator(".player .count")).to_have_text("Step 29 of 29 · paused")


def test_a_step_by_hand_stops_play(walk: Walk) -> None:
    walk.open(step=5)
    walk.press("Space")
    walk.press("ArrowLeft")
    assert walk.place() == "Step 4 of 29 · paused"
    walk.page.wait_for_timeout(2500)
    assert walk.place() == "Step 4 of 29 · paused"


def test_the_keys_of_the_walk(walk: Walk) -> None:
    walk.open(step=5, q=2)
    for key, place in (
        ("ArrowRight", 6), ("ArrowLeft", 5), ("Shift+ArrowRight", 7), ("Shift+ArrowRight", 11),
        ("Shift+ArrowLeft", 7), ("End", 29), ("Home", 1),
    ):  # fmt: skip
        walk.press(key)
        assert walk.place() == f"Step {place} of 29 · paused", key
    walk.press("ArrowDown")
    assert walk.text(".opts [role=radio][aria-checked=true]") == "down"
    walk.press("ArrowDown", "ArrowUp", "ArrowUp")
    assert walk.text(".opts [role=radio][aria-checked=true]") == "cat"
    walk.page.get_by_label("Scale by √d").uncheck()
    walk.press("Control+z")
    assert walk.page.get_by_label("Scale by √d").is_checked()


def test_the_whole_walk_is_reached_by_keyboard(walk: Walk) -> None:
    walk.open(step=28, q=2)
    walk.page.get_by_role("radio", name="sat").focus()
    walk.press("ArrowRight")
    assert walk.text("#live").startswith("Mix, 4 of 5. ")
    walk.press("ArrowLeft", "Tab", "Tab", "Space")
    assert not walk.page.get_by_label("Scale by √d").is_checked()
    walk.press("Space", "Tab", "Tab", "Enter")
    assert walk.page.get_by_label("Number of words").is_visible()
    walk.press("Escape")
    assert walk.page.evaluate("document.activeElement.textContent") == "Words 4 ▾"
    for _ in range(40):
        walk.press("Tab")
        if walk.page.evaluate("document.activeElement.getAttribute('role')") == "slider":
            break
    else:
        pytest.fail("the scrubber is not reached")
    walk.press("ArrowRight")
    assert walk.place() == "Step 29 of 29 · paused"
    walk.press("Home")
    slider = walk.page.get_by_role("slider", name="Step")
    assert slider.get_attribute("aria-valuetext") == "Step 1 of 29: Project, 1 of 3"


def test_each_step_is_announced_once(walk: Walk) -> None:
    walk.open(step=3, q=2)
    walk.page.locator("#live").evaluate(
        """live => { window.said = []
            const keep = () => window.said.push(live.textContent)
            new MutationObserver(keep).observe(live, {childList: true}) }"""
    )
    walk.press("ArrowRight", "ArrowRight")
    walk.page.wait_for_timeout(100)
    said = walk.page.evaluate("window.said")
    assert said == [
        "Score, 1 of 4. How well does sat’s query fit the’s key? 2 × 0 + 0 × 1 = 0.",
        "Score, 2 of 4. How well does sat’s query fit cat’s key? 2 × 2 + 0 × 0 = 4.",
    ]


@pytest.mark.parametrize(
    ("name", "from_"),
    [
        ("weights:2,1", {"exps:2,1", "sums:2"}),
        ("out:2,0", {"parts:2,0,0", "parts:2,1,0", "parts:2,2,0", "parts:2,3,0"}),
        ("products:2,1", {"q:2,0", "q:2,1", "k:1,0", "k:1,1"}),
    ],
)
def test_every_number_tells_where_it_comes_from(walk: Walk, name: str, from_: set[str]) -> None:
    walk.open(step=29, q=2)
    number = walk.page.locator(f".walk .row:not(:has(.m)) [data-ref='{name}']")
    marked = "all => [...new Set(all.map(el => el.dataset.ref))]"
    number.hover()
    assert set(walk.page.locator(".walk .from").evaluate_all(marked)) == from_
    assert walk.page.locator(".trace").is_visible()
    walk.page.mouse.move(5, 400)
    assert walk.page.locator(".walk .from").count() == 0
    number.focus()
    assert set(walk.page.locator(".walk .from").evaluate_all(marked)) == from_
    assert ", from " in walk.text("#live")


def test_arrows_go_from_number_to_number(walk: Walk) -> None:
    walk.open(step=29, q=2)
    walk.page.locator(".walk .row:not(:has(.m)) [data-ref='products:2,1']").focus()
    seen = []
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft"):
        walk.press(key)
        seen.append(walk.page.evaluate("document.activeElement.dataset.ref"))
    assert seen == ["scaled:2,1", "scores:2,1", "exps:2,1", "weights:2,1", "weights:2,2", "exps:2,2"]
    assert walk.place() == "Step 29 of 29 · paused"
    walk.press("Escape")
    assert walk.page.evaluate("document.activeElement.getAttribute('role')") == "slider"


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


def test_nine_words_one_word_and_an_empty_word_are_refused_in_place(walk: Walk) -> None:
    walk.open(step=29, q=2)
    walk.page.get_by_role("button", name="Words 4").click()
    count = walk.page.get_by_label("Number of words")
    for typed in ("9", "1", "many", "", "2.5"):
        count.fill(typed)
        walk.press("Enter")
        assert count.get_attribute("aria-invalid") == "true", typed
        assert walk.page.locator(".floating [role=alert]").first.is_visible()
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


def test_undo_works_from_the_field_that_was_edited(walk: Walk) -> None:
    walk.open(step=29, q=2)
    walk.type("key of cat, component 1", "0")
    assert walk.read("products", 2)[1] == "0"
    walk.press("Control+z")
    assert walk.read("products", 2)[1] == "4"
    assert walk.page.get_by_label("key of cat, component 1").input_value() == "2"


def test_a_prediction_is_judged_at_the_step(walk: Walk) -> None:
    walk.open(step=4, q=2)
    walk.page.get_by_role("checkbox", name="Predict").check()
    assert "What is sat’s query times cat’s key" in walk.text(".predict")
    walk.page.locator(".predict input").fill("3")
    walk.press("Enter")
    assert walk.text(".say .answer") == "It is 4, so 3 is 1 too low."
    assert "It is 4, so 3 is 1 too low." in walk.text("#live")
    walk.page.keyboard.type("1")
    walk.press("Enter")
    assert walk.text(".say .answer") == "Right, it is 1."
    walk.press("Escape")
    walk.button("Step")
    assert not walk.page.locator(".say .answer").is_visible()
    walk.page.locator(".predict input").fill("abc")
    walk.press("Tab")
    assert walk.page.locator(".predict input").get_attribute("aria-invalid") == "true"


@pytest.mark.parametrize(
    ("link", "step", "out"),
    [
        ({"step": 29, "q": 2}, "Step 29 of 29 · paused", [".168", ".928"]),
        ({"step": 29, "q": 2, "mask": "causal"}, "Step 29 of 29 · paused", [".152", ".950"]),
        ({"step": 29, "q": 0, "mask": "causal"}, "Step 29 of 29 · paused", ["1.000", "0"]),
        ({"step": 99, "q": 9}, "Step 29 of 29 · paused", [".202", ".908"]),
        ({"step": "x", "q": "-1", "words": "a", "edit": "zzz", "mask": "odd"}, "Step 1 of 29 · paused", None),
    ],
)
def test_a_link_opens_any_place(
    walk: Walk, link: dict[str, object], step: str, out: list[str] | None
) -> None:
    walk.open(**link)
    assert walk.place() == step
    if out:
        assert walk.text(".walk .out").split() == out


def test_a_link_keeps_query_step_mask_and_edits(walk: Walk) -> None:
    walk.open(step=20, q=3, mask="causal")
    walk.type("key of cat, component 2", "1.5")
    walk.press("Escape")
    walk.page.locator("#title-2").click()
    walk.press("ArrowRight")
    seen = (walk.numbers(), walk.place(), walk.text(".step-says"))
    state = walk.state()
    assert {"chapter": "2", "step": "21", "q": "3", "mask": "causal"}.items() <= state.items()
    link = walk.page.evaluate("location.href")
    walk.page.goto("about:blank")
    walk.page.goto(link)
    walk.settle()
    assert (walk.numbers(), walk.place(), walk.text(".step-says")) == seen


def test_back_leads_to_the_example_before(walk: Walk) -> None:
    walk.open(step=29, q=2)
    walk.type("key of cat, component 1", "0")
    walk.state()
    walk.page.go_back()
    expect(walk.page.get_by_label("key of cat, component 1")).to_have_value("2")
    assert walk.text(".walk .out").split() == [".168", ".928"]


def test_the_chapters_are_left_and_found_again_as_they_were(walk: Walk) -> None:
    walk.open(step=17, q=1)
    walk.press("p")
    expect(walk.page.locator("section[data-chapter='1'] h1")).to_be_visible()
    assert walk.state()["chapter"] == "1"
    walk.press("n")
    assert walk.place() == "Step 17 of 29 · paused"
    assert walk.state()["step"] == "17"
    walk.page.go_back()
    expect(walk.page.locator("section[data-chapter='1'] h1")).to_be_visible()
