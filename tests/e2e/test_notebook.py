"""A notebook is run, saved, and opened again with the network off: its picture is alive, as it is in the
frames that Jupyter and VS Code give it, and so is the page as a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
import torch
from playwright.sync_api import Browser, Frame, Page, expect

import attnscope as ats
from attnscope import gpt
from tests.kernels import execute

# What Visual Studio Code lets the output of a cell do (its notebook's back layer).
_VSCODE = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src https: http: data:; font-src https:; connect-src https:; child-src https: data: blob:"
)
_CELL = """
import torch
import attnscope as ats
from attnscope import gpt

model = gpt.load_shipped("embedded")
text = "ROMEO:\\nBut, soft! what light"
ids = torch.tensor([model.tokenizer.encode(text)])
with torch.no_grad(), ats.record(model, tokens=list(text)) as recording:
    model(ids)
ats.show(recording)
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A notebook of one cell that was run and saved."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(_CELL)])
    execute(book)
    file = tmp_path_factory.mktemp("notebook") / "romeo.ipynb"
    nbformat.write(book, file)
    return file


@pytest.fixture
def offline(browser: Browser) -> Iterator[Page]:
    """A page without a network; what it asks for or complains of fails the test."""
    context = browser.new_context(viewport={"width": 1000, "height": 900}, offline=True)
    context.set_default_timeout(60_000)
    expect.set_options(timeout=60_000)
    page = context.new_page()
    asked, said = list[str](), list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("console", lambda line: said.append(line.text) if line.type in ("error", "warning") else None)
    yield page
    context.close()
    assert all(url.startswith(("file:", "about:", "data:")) for url in asked)
    assert [line for line in said if "willReadFrequently" not in line] == []


def output_of(file: Path) -> dict[str, str]:
    """The last output of a notebook, as it lies on the disk."""
    book = nbformat.read(file, as_version=4)
    data: dict[str, str] = book.cells[-1].outputs[-1]["data"]
    return data


def opened(page: Page, file: Path, html: str, *, policy: str = "") -> Frame:
    """Open a page that holds the output of a cell, as a notebook puts it there, and return its frame."""
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">' if policy else ""
    file.write_text(f"<!doctype html><meta charset=utf-8>{meta}<div id=output>{html}</div>", "utf-8")
    page.goto(file.as_uri())
    frame = page.query_selector("iframe").content_frame()  # type: ignore[union-attr]
    assert frame is not None
    frame.wait_for_selector("main[aria-busy=false]")
    return frame


@pytest.mark.parametrize("policy", ["", _VSCODE], ids=["jupyter", "vscode"])
def test_a_saved_picture_is_alive_without_a_network(
    policy: str, saved: Path, offline: Page, tmp_path: Path
) -> None:
    frame = opened(offline, tmp_path / "opened.html", output_of(saved)["text/html"], policy=policy)
    assert frame.locator("#panel-map h2").inner_text() == "Layer 2 · Head 1"
    frame.locator(".heads-grid .line").nth(4).locator(".hd").nth(3).click()
    expect(frame.locator("#panel-map h2")).to_have_text("Layer 4 · Head 3")
    plane = frame.locator(".plane")
    box = plane.bounding_box()
    assert box is not None
    plane.hover(position={"x": 2, "y": box["height"] - 3})
    tip = frame.locator(".hm .tip").first
    expect(tip).to_be_visible()
    assert re.search(r"Layer 4 · Head 3", tip.inner_text())
    plane.click(position={"x": 2, "y": box["height"] - 3})
    expect(frame.locator("#python code")).to_have_text("recording.runs[0].sites[4].cell(3, 27, 0)")


def test_the_numbers_are_those_of_the_recording(saved: Path, offline: Page, tmp_path: Path) -> None:
    model = gpt.load_shipped("embedded")
    ids = torch.tensor([model.tokenizer.encode("ROMEO:\nBut, soft! what light")])
    with torch.no_grad(), ats.record(model) as recording:
        model(ids)
    frame = opened(offline, tmp_path / "opened.html", output_of(saved)["text/html"])
    frame.get_by_role("button", name="as a table").click()
    frame.wait_for_selector("dialog tbody tr")
    cells = frame.locator("dialog tbody tr td:nth-child(3)").all_inner_texts()
    wanted = recording.site(2).weights(1, 27)[0].tolist()
    assert [float(cell.replace("−", "-")) for cell in cells] == pytest.approx(wanted, abs=5.1e-8)


def test_it_is_used_by_keyboard_in_the_dark_and_on_a_phone(
    saved: Path, offline: Page, tmp_path: Path
) -> None:
    offline.emulate_media(color_scheme="dark")
    offline.set_viewport_size({"width": 390, "height": 844})
    frame = opened(offline, tmp_path / "opened.html", output_of(saved)["text/html"])
    assert frame.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(16, 18, 20)"
    assert frame.evaluate("document.documentElement.scrollWidth <= innerWidth")
    frame.locator(".hd[tabindex='0']").focus()
    offline.keyboard.press("ArrowDown")
    expect(frame.locator("#panel-map h2")).to_have_text("Layer 3 · Head 1")
    offline.keyboard.press("Enter")
    offline.keyboard.press("ArrowUp")
    expect(frame.locator("#live")).to_contain_text("query 26 h")
    offline.keyboard.press("d")
    assert frame.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(251, 251, 250)"
    offline.keyboard.press("?")
    expect(frame.locator("dialog")).to_contain_text("light or dark")


def test_tokens_cannot_break_out_of_the_page(offline: Page, tmp_path: Path) -> None:
    names = [
        "</script><b id=out>",
        "<!--",
        "\u2028",
        "\u202eabc",
        '"onload="x',
        "&quot;",
        "<img src=x onerror=out=1>",
    ]
    model = gpt.load_shipped("embedded")
    ids = torch.tensor([model.tokenizer.encode("But, so")])
    with torch.no_grad(), ats.record(model, tokens=names) as recording:
        model(ids)
    html = ats.show(recording)._repr_mimebundle_()["text/html"]
    assert "\u202e" not in re.sub(r"<pre.*?</pre>", "", html, flags=re.DOTALL)
    frame = opened(offline, tmp_path / "opened.html", html)
    assert frame.locator("#out, img[src=x]").count() == 0
    assert offline.locator("#out, img[src=x]").count() == 0
    said = frame.locator(".flow .tok").evaluate_all("chips => chips.map(chip => chip.ariaLabel)")
    assert said[0] == "</script><b space id=out>, 0" and said[5] == "&quot;, 5"


def test_some_rows_of_a_long_text_are_walked_where_they_are(offline: Page, tmp_path: Path) -> None:
    model = gpt.load_shipped("embedded")
    text = ("But, soft! what light " * 12)[:250]
    with torch.no_grad(), ats.record(model, tokens=list(text)) as recording:
        model(torch.tensor([model.tokenizer.encode(text)]))
    made = ats.show(recording, 3, 2, slice(100, 120))
    page = made.save(tmp_path / "part.html")
    offline.goto(page.as_uri())
    offline.wait_for_selector("main[aria-busy=false]")
    assert "rows 100 to 119" in offline.locator("#panel-map .about").inner_text()
    assert offline.locator("#panel-heads").is_hidden()
    offline.locator(".plane").focus()
    offline.keyboard.press("End")
    for _ in range(4):
        offline.keyboard.press("PageUp")
    expect(offline.locator("#live")).to_contain_text("query 100 ")
    offline.get_by_role("button", name="as a table").click()
    third = offline.locator("dialog tbody tr").nth(99).locator("td").nth(2).inner_text()
    assert float(third.replace("−", "-")) == pytest.approx(
        float(recording.site(3).weights(2, 100, 99)), abs=5.1e-8
    )
