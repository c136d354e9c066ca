"""Explore in words: the switch, the sum behind a cell, finding a token, and who speaks in a chat."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from attnscope.models import open_model
from attnscope.models.tokens import of_text, special
from attnscope.recording import Places
from tests.e2e.pages import Explore, served

TEXT = "ROMEO:\nBut, soft! what light"
CHAT = [
    "<|im_start|>",
    "user",
    "\n",
    "Who",
    " is",
    " it",
    "?",
    "<|im_end|>",
    "<|im_start|>",
    "assistant",
    "\n",
]


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An app on a recording whose places are those of a chat."""
    recording = open_model("lesson").run("Who is it? ").recording
    tokens = [(special(i, w) if w.startswith("<") else of_text(i, w)).to_dict() for i, w in enumerate(CHAT)]
    recording.places = {"decoder": Places(tuple(tokens))}
    where = recording.save(tmp_path_factory.mktemp("chat") / "chat")
    with served(Path(where)) as base:
        yield base


def test_words_stand_where_tokens_stood_and_the_place_is_kept(explore: Explore) -> None:
    explore.open(text=TEXT, layer=2, head=1, i=27, j=23)
    token = explore.text(".cell .big span:last-child")
    explore.page.keyboard.press("w")
    explore.page.wait_for_selector(".word-cells")
    explore.settle()
    assert explore.texts(".flow .tok") == [
        "ROMEO",
        ":",
        "↵",
        "But",
        ",",
        "␣",
        "soft",
        "!",
        "␣",
        "what",
        "␣",
        "light",
    ]
    state = explore.state()
    assert (state["words"], state["i"], state["j"]) == ("mark", "27", "23")
    rows = explore.page.locator(".word-cells tbody tr")
    assert rows.count() == 5 and rows.first.locator("td").count() == 6
    sums = [float(text) for text in explore.texts(".word-cells tbody td:last-child")]
    shown = float(explore.text(".cell .big span:last-child"))
    assert shown == pytest.approx(sum(sums) / 5, abs=0.002)
    explore.page.get_by_role("button", name="tokens", exact=True).click()
    explore.page.wait_for_selector(".rcpt details")
    explore.settle()
    assert explore.text(".cell .big span:last-child") == token
    assert len(explore.texts(".flow .tok")) == len(TEXT)


def test_a_text_is_found_among_the_tokens(explore: Explore) -> None:
    explore.open(text=TEXT, layer=2, head=1, i=0)
    explore.page.keyboard.press("f")
    explore.page.keyboard.type("t")
    explore.page.keyboard.press("Enter")
    assert explore.state()["i"] == "9" and explore.text(".finder [role=status]") == "1 of 4"
    explore.page.keyboard.press("Shift+Enter")
    assert explore.state()["i"] == "27" and explore.text(".finder [role=status]") == "4 of 4"
    explore.page.keyboard.type("xyz")
    explore.page.keyboard.press("Enter")
    assert explore.text(".finder [role=status]") == "not here"


def test_a_chat_says_who_speaks(explore: Explore, chat: str) -> None:
    one = Explore(explore.page, chat)
    one.page.goto(f"{chat}/explore?layer=0&head=0")
    one.settle()
    assert one.texts(".flow .turn") == ["user", "assistant"]
    one.page.get_by_role("button", name="fold specials", exact=True).click()
    one.page.wait_for_selector(".word-cells")
    assert "<specials>" in one.texts(".flow .tok")
