"""The walk is stepped, played, traced and predicted by hand, by keyboard and by link."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from tests.e2e.pages import Walk


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


def test_a_button_that_goes_out_hands_the_focus_on(walk: Walk) -> None:
    focused = "document.activeElement.textContent"
    walk.open(step=28, q=2)
    walk.page.locator(".player .step").focus()
    walk.press("Enter")
    assert walk.page.evaluate(focused) == "Play"
    walk.press("Home")
    walk.page.get_by_label("Scale by √d").uncheck()
    walk.page.get_by_role("button", name="Undo").focus()
    walk.press("Enter")
    assert walk.page.evaluate(focused) == "Redo"
    walk.press("Enter")
    assert walk.page.evaluate(focused) == "Undo"
    walk.button("Words 4 ▾")
    walk.page.get_by_role("button", name="Take the last one out").focus()
    walk.press("Enter", "Enter")
    assert walk.page.evaluate(focused) == "Add a word"


def test_play_ends_when_another_chapter_is_opened(walk: Walk) -> None:
    walk.open(step=5)
    walk.press("Space", "n", "p")
    assert walk.place() == "Step 5 of 29 · paused"


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
