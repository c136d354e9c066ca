"""Where there is nothing to show, the page says why and what to try; what was refused is not drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.e2e.pages import Explore

SAMPLE = "ROMEO:\nBut, soft! what light"
RESULT = r"/api/runs/[^/]+$"


def test_a_text_that_is_too_long_is_offered_its_beginning(explore: Explore) -> None:
    explore.expected.append("400")
    explore.open(wait=".card", text="x" * 412)
    assert explore.text(".card h3") == "412 characters, the limit is 256"
    assert "412 of 256 characters" in explore.text(".fits")
    assert explore.page.locator(".plane:visible, .flow .tok").count() == 0
    explore.page.get_by_role("button", name="Use the first 256").click()
    explore.settle()
    assert explore.page.locator(".flow .tok").count() == 256
    assert explore.state()["text"] == "x" * 256


def test_an_empty_text_is_offered_the_sample(explore: Explore) -> None:
    explore.open(wait=".card", text="")
    assert explore.text(".card h3") == "No text yet"
    assert "bad" not in (explore.page.locator(".card").get_attribute("class") or "")
    explore.page.locator(".card button").click()
    explore.settle()
    assert explore.page.locator("textarea").input_value() == SAMPLE


def test_a_refused_head_is_not_drawn_and_says_by_how_much(explore: Explore) -> None:
    def refuse(answer: Any) -> Any:
        if answer["result"]:
            verdict = answer["result"]["sites"][2]["certificate"][1]
            verdict.update(verdict="refused", z=88.1, reason="z is 88.1")
        return answer

    explore.answer(RESULT, refuse)
    explore.open(wait=".card.bad", text=SAMPLE, layer=2, head=1)
    assert explore.text(".card h3") == "Layer 2 head 1 refused"
    assert "residual 88.1, allowed 8. Nothing of this head is drawn." in explore.text(".card")
    assert explore.page.locator(".plane:visible, .rcpt .ln").count() == 0
    assert explore.text(".hd[aria-selected=true]") == "refused"
    assert explore.page.locator(".hd[aria-selected=true] canvas").count() == 0
    assert "1 refused" in explore.text("#badge")
    assert not any("/heads/1/" in url and "/sites/2/" in url for url in explore.asked)
    explore.page.get_by_role("button", name="Go to head 0").click()
    explore.settle()
    assert explore.text(".map h2") == "Layer 2 · Head 0"


def test_a_layer_without_softmax_attention_says_so_and_leads_to_one_that_has_it(explore: Explore) -> None:
    def leave_out(answer: Any) -> Any:
        if answer["result"]:
            reason = "Mixer: a recurrence, no softmax attention"
            answer["result"]["missing"] = [{"layer": 99, "name": "layers.99.mixer", "reason": reason}]
        return answer

    explore.answer(RESULT, leave_out)
    explore.open(wait=".card", text=SAMPLE, layer=99, head=0)
    assert explore.text(".card h3") == "No softmax attention in layer 99"
    assert "no softmax attention. Layers 0, 1" in explore.text(".card")
    assert explore.text(".hd.gap") == "Mixer: a recurrence, no softmax attention"
    explore.page.locator(".card button").focus()
    explore.page.keyboard.press("Enter")
    explore.settle()
    assert explore.page.locator(".plane").is_visible()
    assert explore.page.evaluate("document.activeElement.matches('.hd[aria-selected=true]')")


def test_a_long_run_shows_its_step_and_can_be_stopped(explore: Explore) -> None:
    def slow(answer: Any) -> Any:
        return {
            **answer,
            "state": "running",
            "step": "Recording layer 19 of 30",
            "done": 19,
            "total": 30,
            "seconds_left": 4.1,
            "result": None,
            "error": None,
        }

    explore.answer(RESULT, slow)
    explore.page.goto(f"{explore.base}/explore?model={explore.model}")
    explore.page.wait_for_selector(".card .prog")
    assert "Recording layer 19 of 30 · about 4 s left" in explore.text(".card")
    explore.page.get_by_role("button", name="Cancel").click()
    explore.page.wait_for_selector(".card:not([aria-busy])")
    assert explore.text(".card h3") == "Cancelled"


def test_a_server_that_is_gone_is_named(explore: Explore) -> None:
    explore.expected.append("ERR_FAILED")
    explore.page.route("**/api/models", lambda route: route.abort())
    explore.open(wait=".card.bad")
    assert explore.text(".card h3") == "The server does not answer"
    assert "attnscope app" in explore.text(".card")


def test_a_run_that_the_server_forgot_can_be_run_again(explore: Explore) -> None:
    gone = {"error": {"title": "This run is gone", "message": "It was dropped.", "hint": "", "offer": None}}
    explore.expected.append("404")
    explore.page.route("**/grid?*", lambda route: route.fulfill(status=404, json=gone), times=1)
    explore.open(wait=".card.bad", text=SAMPLE)
    assert explore.text(".card h3") == "This run is gone"
    explore.page.get_by_role("button", name="Run again").click()
    explore.settle()
    assert explore.page.locator(".plane").is_visible()


def test_right_to_left_text_and_emoji_are_shown_as_the_model_reads_them(explore: Explore) -> None:
    text = "שלום world 🙂\tשלום\n"
    explore.open(text=text, model="tiny", layer=1, head=3)
    chips = explore.texts(".flow .tok")
    assert chips[0] == "שלום" and chips[-2:] == ["שלום", "↵"]
    assert "⇥" in chips and any(chip.startswith("␣") for chip in chips)
    smile = explore.texts(".flow .tok .byte")
    assert smile == [f"{byte:02X}" for byte in "🙂".encode()]
    isolated = explore.page.locator(".flow .tok bdi").first.evaluate("el => getComputedStyle(el).unicodeBidi")
    assert isolated == "isolate"
    assert explore.page.locator("textarea").input_value() == text
    assert explore.text(".fits").startswith(f"{len(chips)} of 512 tokens")


def test_a_long_text_shows_a_window_that_follows_the_choice(explore: Explore) -> None:
    explore.open(text="world " * 300, model="tiny", layer=0, head=0)
    total = explore.page.locator(".flow .tok").count()
    assert total > 256
    assert explore.text(".about").endswith(f"of {total}")
    explore.page.locator(".flow .tok").first.focus()
    explore.page.keyboard.press("Home")
    explore.settle()
    assert explore.text(".about").startswith("rows 0 to ")
    explore.page.keyboard.press("End")
    explore.settle()
    assert f"to {total - 1}, columns" in explore.text(".about")
