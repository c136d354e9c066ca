"""The page that `attnscope heads -o heads.html` writes: alive from the disk with the network off."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Browser, Page, expect

from attnscope.gpt import GPT, CharacterTokenizer, GPTConfig
from attnscope.measure import HeadTable, heads
from attnscope.web.alone.heads import write_heads

TEXTS = ("to be, or not to be, that is it.", "the cat sat on the mat, the end!")


@pytest.fixture(scope="module")
def table() -> HeadTable:
    model = GPT(GPTConfig(26, 40, 2, 3, 24), CharacterTokenizer(" ,.!abcdefghijklmnoprstuwy"), seed=4)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() == 2:
                weight.normal_(std=0.4, generator=torch.Generator().manual_seed(len(name)))
    return heads(model, TEXTS, draws=2)


@pytest.fixture
def page(table: HeadTable, browser: Browser, tmp_path: Path) -> Iterator[Page]:
    file = write_heads(table, tmp_path / "the heads, 100 % é.html")
    context = browser.new_context(viewport={"width": 1440, "height": 900}, offline=True)
    context.set_default_timeout(60_000)
    expect.set_options(timeout=60_000)
    opened = context.new_page()
    asked: list[str] = []
    complaints: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("console", lambda said: complaints.append(said.text))
    opened.goto(file.as_uri())
    opened.wait_for_selector("main[aria-busy=false]")
    yield opened
    assert complaints == []
    assert all(url.startswith("file:") for url in asked)
    context.close()


def first_column(page: Page) -> list[str]:
    page.wait_for_selector("main[aria-busy=false]")
    return page.locator("#rows tbody th").all_inner_texts()


def test_a_click_on_a_column_sorts_and_the_link_keeps_it(page: Page, table: HeadTable) -> None:
    assert first_column(page) == [f"L{row.layer} H{row.head}" for row in table.rows]
    page.get_by_role("button", name="sink", exact=True).click()
    ranked = [f"L{row.layer} H{row.head}" for row in table.ranked("sink")]
    assert first_column(page) == ranked
    assert page.url.endswith("#sort=sink")
    assert page.locator("th[aria-sort=descending]").inner_text().startswith("sink")
    page.reload()
    page.wait_for_selector("main[aria-busy=false]")
    assert first_column(page) == ranked


def test_the_keyboard_moves_and_opens_a_head_with_every_score(page: Page, table: HeadTable) -> None:
    page.locator("#rows tbody tr").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    row = table.rows[1]
    expect(page.locator("#detail h2")).to_have_text(f"Layer {row.layer} · Head {row.head}")
    told = page.locator("#detail tbody tr").all_inner_texts()
    assert len(told) == len(row.scores)
    assert any("the model has no learned sink" in line for line in told)
    expect(page.locator("#rows tbody tr:focus")).to_have_attribute("aria-selected", "true")
    expect(page.locator("circle.chosen")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator("#detail")).to_be_hidden()


def test_a_class_narrows_the_table_and_the_scatter(page: Page, table: HeadTable) -> None:
    every = Counter(name for row in table.rows for name in row.classes or ("no class",))
    rarest = min(every, key=lambda name: every[name])
    named = [row for row in table.rows if rarest in (row.classes or ("no class",))]
    assert 0 < len(named) < len(table.rows)
    page.locator("#classes button", has_text=rarest).click()
    expect(page.locator("#rows tbody tr")).to_have_count(len(named))
    page.locator("#scatter select").first.select_option("entropy")
    expect(page.locator("#scatter circle")).to_have_count(len(named))
    assert "y=entropy" in page.url


def test_the_keys_of_a_file_are_told_and_none_copies_a_link(page: Page) -> None:
    page.keyboard.press("?")
    told = page.locator("dialog").inner_text()
    assert "choose the head" in told and "light or dark" in told and "in the order of y" in told
    assert "copy" not in told and "best text" not in told


def test_a_phone_and_the_dark_have_no_sideways_scroll_of_the_page(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.keyboard.press("d")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
