"""The pages of the app in a real browser that may speak to nothing else, and the servers that show them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route, ViewportSize, expect, sync_playwright

COMMAND = str(Path(sys.executable).with_name("attnscope"))
MODEL = "embedded"
SIZE: ViewportSize = {"width": 1440, "height": 900}
# The first of them that is found; the shell is the same engine without a window, for half the CPU.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
# One process draws every page: with a new one for each, a page takes twice the CPU until it stands.
ONE_PROCESS = "--renderer-process-limit=1"
WAIT = 60_000  # ms; a busy machine is slow, not wrong


@dataclass
class Opened:
    """A browser page on the app, with what it asked for and what it complained of."""

    page: Page
    base: str
    asked: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    # what the test itself provokes
    expected: list[str] = field(default_factory=lambda: ["willReadFrequently"])

    def text(self, selector: str) -> str:
        """Return what one reads there."""
        return self.page.locator(selector).first.inner_text()

    def texts(self, selector: str) -> list[str]:
        """Return what one reads in each of them."""
        return self.page.locator(selector).all_inner_texts()

    def until(self, expression: str) -> None:
        """Wait until this is true of the page.

        wait_for_function looks again from inside the page, whose policy lets no text be run; it works only
        where the first look finds what it waits for.
        """
        end = time.monotonic() + WAIT / 1_000
        while not self.page.evaluate(expression):
            assert time.monotonic() < end, f"{expression}: not after {WAIT / 1_000:.0f} s"
            self.page.wait_for_timeout(20)

    def state(self) -> dict[str, str]:
        """Return the query of the address bar, once it is at rest."""
        self.page.wait_for_timeout(250)
        found = self.page.evaluate("Object.fromEntries(new URLSearchParams(location.search))")
        return {name: str(value) for name, value in found.items()}


@dataclass
class Explore(Opened):
    """A browser page on Explore."""

    model: str = MODEL

    def open(self, *, wait: str = ".plane canvas[width]", **state: object) -> None:
        """Open a link to that state and wait until its picture, or what `wait` names, is drawn."""
        self.page.goto(f"{self.base}/explore?{urlencode({'model': MODEL, **state})}")
        self.settle(wait)

    def settle(self, wait: str = ".plane canvas[width]") -> None:
        """Wait until nothing is on its way any more."""
        self.page.wait_for_selector(wait, state="visible")
        self.page.wait_for_selector("main[aria-busy=false]")

    def pixel(self, x: int, y: int) -> tuple[int, ...]:
        """Return the colour of one pixel of the heatmap."""
        canvas = self.page.locator(".plane canvas")
        read = "(el, [x, y]) => [...el.getContext('2d').getImageData(x, y, 1, 1).data].slice(0, 3)"
        return tuple(canvas.evaluate(read, [x, y]))

    def chip_colour(self, token: int) -> tuple[int, ...]:
        """Return the colour behind a token."""
        css = self.page.locator(".flow .tok").nth(token).evaluate("chip => chip.style.backgroundColor")
        return tuple(int(channel) for channel in re.findall(r"\d+", css))

    def answer(self, pattern: str, change: Callable[[Any], Any]) -> None:
        """Let `change` turn the JSON of what the server answers there into another."""

        def turned(route: Route) -> None:
            response = route.fetch()
            route.fulfill(response=response, json=change(response.json()))

        self.page.route(re.compile(pattern), turned)


@dataclass
class Walk(Opened):
    """A browser page on Walk; without another chapter, on the walk of four words."""

    def open(self, chapter: int = 2, *, wait: str | None = None, **state: object) -> Page:
        """Open a link into a chapter and wait until it, or what `wait` names of it, is drawn."""
        self.page.goto(f"{self.base}/walk?{urlencode({'chapter': chapter, **state})}")
        self._reach(chapter, wait)
        return self.page

    def turn(self, chapter: int = 2, *, wait: str | None = None, **state: object) -> Page:
        """Go to another place of the page that is open, as Back and Forward do, without loading it anew."""
        link = f"?{urlencode({'chapter': chapter, **state})}"
        self.page.evaluate(
            "link => { history.pushState(null, '', link); dispatchEvent(new PopStateEvent('popstate')) }",
            link,
        )
        self._reach(chapter, wait)
        return self.page

    def _reach(self, chapter: int, wait: str | None) -> None:
        shown = f"section[data-chapter='{chapter}']:not([hidden])"
        self.settle(f"{shown} {wait or ('.walk .row' if chapter == 2 else 'h1')}")

    def settle(self, wait: str = ".walk .row") -> None:
        """Wait until the chapter, or what `wait` names of it, is drawn."""
        self.page.locator(wait).first.wait_for(state="attached")
        self.page.wait_for_selector("main[aria-busy=false]")

    def button(self, name: str) -> None:
        """Press the button of that name."""
        self.page.get_by_role("button", name=name, exact=True).click()

    def numbers(self, where: str = ".walk") -> dict[str, set[str]]:
        """Return every number that one reads there by its name, "weights:2,1": what is written of it."""
        found = self.page.locator(f"{where} [data-ref]").evaluate_all(
            """all => all
                .filter(el => !el.classList.contains('later') && !el.closest('.later') && el.offsetParent)
                .map(el => [el.dataset.ref, el.value ?? el.textContent])"""
        )
        read: dict[str, set[str]] = {}
        for name, written in found:
            read.setdefault(name, set()).add(written)
        return read

    def read(self, grid: str, *rows: int) -> list[str]:
        """Return the numbers of a grid's row in order, as they are written."""
        lead = "".join(f"{row}," for row in rows)
        wanted = re.compile(f"{grid}:{lead}" + r"(\d)")
        row = {
            int(found[1]): min(read)
            for name, read in self.numbers().items()
            if (found := wanted.fullmatch(name))
        }
        return [row[at] for at in sorted(row)]

    def press(self, *keys: str) -> None:
        """Press keys one after the other."""
        for key in keys:
            self.page.keyboard.press(key)

    def type(self, label: str, text: str) -> None:
        """Type into a field as a person does: click, mark all, type, Enter."""
        self.page.get_by_label(label, exact=True).click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.type(text)
        self.page.keyboard.press("Enter")

    def place(self) -> str:
        """Return "Step 5 of 29 · paused"."""
        return self.text(".player .count")


@dataclass
class Map(Opened):
    """A browser page on Map."""

    def open(self, **state: object) -> None:
        """Open a link to that state and wait until its tiles are drawn."""
        self.page.goto(f"{self.base}/map?{urlencode(state)}")
        self.settle()

    def settle(self, wait: str = ".sheet:not([data-blank])") -> None:
        """Wait until nothing is on its way any more."""
        self.page.wait_for_selector(wait)
        self.page.wait_for_selector("main[aria-busy=false]")

    def pixel(self, i: float, j: float) -> tuple[int, ...]:
        """Return the colour and opacity of the plane at the middle of a cell, at ratio 1."""
        read = """(canvas, [i, j]) => {
            const at = new URLSearchParams(location.search).get('view')?.split(' ').map(Number)
            const [row, col, scale] = at ?? [0, 0, canvas.width / Number(canvas.dataset.cells)]
            const place = [Math.floor((j + .5 - col) * scale), Math.floor((i + .5 - row) * scale)]
            return [...canvas.getContext('2d').getImageData(...place, 1, 1).data]
        }"""
        return tuple(self.page.locator("#view > canvas").evaluate(read, [i, j]))


@contextmanager
def served(*words: object) -> Iterator[str]:
    """The address of `attnscope app WORDS`, started as a user starts it."""
    command = [COMMAND, "app", *map(str, words), "--port", "0", "--no-browser"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as process:
        said = []
        try:
            assert process.stdout is not None
            for line in process.stdout:
                said.append(line)
                if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                    yield found[0]
                    break
            else:
                pytest.fail("the server did not start: " + "".join(said))
        finally:
            process.terminate()


@contextmanager
def chromium() -> Iterator[Browser]:
    """Chromium as it is installed here."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    assert found, "no Chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", ONE_PROCESS])
        yield started
        started.close()


@contextmanager
def desk_of(browser: Browser) -> Iterator[Page]:
    """A page of 1440 x 900 in a context of its own."""
    context = browser.new_context(viewport=SIZE, color_scheme="light")
    context.set_default_timeout(WAIT)
    yield context.new_page()
    context.close()


@contextmanager
def watched(page: Page, one: Opened) -> Iterator[None]:
    """Hand the page to `one`, empty; what leaves 127.0.0.1 or lands on the console fails the test."""
    expect.set_options(timeout=WAIT)
    wipe(page)
    one.page = page
    listeners: dict[Any, Callable[[Any], object]] = {
        "request": lambda request: one.asked.append(request.url),
        "pageerror": lambda error: one.complaints.append(str(error)),
        "console": lambda said: said.type in ("error", "warning") and one.complaints.append(said.text),
    }
    for event, listener in listeners.items():
        page.on(event, listener)
    try:
        yield
    finally:
        for event, listener in listeners.items():
            page.remove_listener(event, listener)
    assert {urlsplit(url).hostname for url in one.asked if not url.startswith("blob:")} <= {"127.0.0.1"}
    assert [line for line in one.complaints if not any(part in line for part in one.expected)] == []


def wipe(page: Page) -> None:
    """Take back what a test did to the page: its document, routes, size, media, permissions and pointer."""
    page.unroute_all(behavior="ignoreErrors")
    page.goto("about:blank")
    page.set_viewport_size(SIZE)
    page.emulate_media(media="null", color_scheme="light", reduced_motion="null", forced_colors="null")
    page.context.clear_permissions()
    page.mouse.up()
    page.mouse.move(0, 0)
