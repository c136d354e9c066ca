"""SmolLM2 over 8,192 tokens of a play: every head drawn at once, then from a whole grid to one cell and back.

What is shown is held against float64, computed here from the recorded q and k: blocks of the server's own
tiles, and the cells as they stand on the screen.
"""

from __future__ import annotations

import re
import statistics
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, Request

from attnscope import load
from attnscope.models import open_model
from attnscope.recording import Site
from tests.e2e.pages import COMMAND, Map, chromium, desk_of, served, watched

from .loaders import smollm2_folder

pytestmark = pytest.mark.real

T, LAYERS, HEADS = 8_192, 30, 9
PLAY = Path(__file__).parents[1] / "gpt" / "last-tenth.txt"
Measure = Callable[[str, str, str], None]
RUN = f"smollm2 of {T:,} tokens in the page"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recording that `attnscope record` makes of the play's first 8,192 tokens; q and k are kept."""
    text, at = (tmp_path_factory.mktemp("flight") / name for name in ("play.txt", "play"))
    model = smollm2_folder()
    text.write_text(open_model(str(model)).codec.fitting(PLAY.read_text("utf-8")), encoding="utf-8")
    command = [COMMAND, "record", str(model), "--file", str(text), "--keep", "qk", "-o", str(at)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return at


@pytest.fixture(scope="module")
def sites(folder: Path) -> list[Site]:
    """The recorded calls, a layer each."""
    found = load(folder).runs[-1].sites
    assert [(site.heads, site.tq) for site in found] == [(HEADS, T)] * LAYERS
    return list(found)


@pytest.fixture(scope="module")
def base(folder: Path) -> Iterator[str]:
    """The address of `attnscope app FOLDER`."""
    with served(folder) as address:
        yield address


@pytest.fixture(scope="module")
def desk() -> Iterator[Page]:
    """A page of Chromium."""
    with chromium() as browser, desk_of(browser) as page:
        yield page


@pytest.fixture
def sheet(base: str, desk: Page) -> Iterator[Map]:
    """The page Map. A request that fails fails the test; a tile that left the view may be given up."""
    one, failed = Map(desk, base), list[str]()

    def note(request: Request) -> None:
        if not (request.failure == "net::ERR_ABORTED" and "/map/tiles/" in request.url):
            failed.append(f"{request.url}: {request.failure}")

    desk.on("requestfailed", note)
    with watched(desk, one):
        yield one
    desk.remove_listener("requestfailed", note)
    assert failed == []


def exact(site: Site, head: int, rows: slice) -> np.ndarray[Any, Any]:
    """The weights of some rows (r t) in float64, from q and k alone; -1 where the future is hidden."""
    group = site.heads // site.key_heads
    q, k = site.q[0, head, rows].double(), site.k[0, head // group].double()
    scores = q @ k.T * site.d**-0.5
    future = torch.arange(T) > torch.arange(rows.start, rows.stop)[:, None]
    weights = scores.masked_fill(future, -torch.inf).softmax(-1)
    found: np.ndarray[Any, Any] = weights.masked_fill(future, -1.0).numpy()
    return found


def test_all_270_heads_are_drawn_within_two_seconds(base: str, desk: Page, measure: Measure) -> None:
    assert desk.context.browser
    tall = desk.context.browser.new_context(viewport={"width": 1440, "height": 2_400})  # room for all heads
    page, took = tall.new_page(), list[float]()
    page.add_init_script(
        f"""const look = () => {{
            const drawn = document.querySelectorAll('.hd canvas[width]').length
            if (drawn < {LAYERS * HEADS}) requestAnimationFrame(look)
            else window.drawnAfter = performance.now() / 1000
        }}
        look()"""
    )
    for _ in range(4):
        page.goto(f"{base}/explore")
        while (after := page.evaluate("window.drawnAfter")) is None:
            page.wait_for_timeout(50)
        took.append(after)
    tall.close()
    first, *again = took
    measure(RUN, "all heads drawn after", f"{first:.2f} s, again {statistics.median(again):.2f} s")
    assert min(took) < 2


def test_one_flies_from_the_whole_to_a_cell_and_back(sheet: Map, sites: list[Site]) -> None:
    sheet.open(layer=17, head=5)
    assert re.search(r"1 pixel = \d+ × \d+ cells, their largest weight", sheet.text(".foot .said"))
    whole = sheet.page.locator("#view > canvas").evaluate("canvas => canvas.toDataURL()")
    sheet.page.locator("#view").focus()
    for _ in range(9):  # a step at a time: what left the view is given up
        sheet.page.keyboard.press("+")
        sheet.settle()
    assert "1 pixel = 1 cell" in sheet.text(".foot .said")
    sheet.page.keyboard.press("n")
    sheet.settle()
    i, j = int(sheet.state()["i"]), int(sheet.state()["j"])
    shown = float(re.findall(r"[\d.e−-]+", sheet.text(".ro .w"))[0].replace("−", "-"))
    assert shown == pytest.approx(exact(sites[17], 5, slice(i, i + 1))[0, j], abs=1e-6)
    for _ in range(9):
        sheet.page.keyboard.press("-")
    sheet.page.keyboard.press("0")
    sheet.settle()
    assert "view" not in sheet.state()
    assert sheet.page.locator("#view > canvas").evaluate("canvas => canvas.toDataURL()") == whole


def test_fifty_blocks_of_tiles_are_those_of_float64(sheet: Map, sites: list[Site], measure: Measure) -> None:
    sheet.open(layer=0, head=0)
    run = next(found[0] for url in sheet.asked if (found := re.search(r"/api/runs/\w+", url)))
    read = """async (address) => {
        const answer = await fetch(address)
        return [answer.headers.get('X-Shape'), Array.from(new Float32Array(await answer.arrayBuffer()))]
    }"""
    chosen, worst = np.random.default_rng(8), 0.0
    for _ in range(50):
        layer, head = int(chosen.integers(LAYERS)), int(chosen.integers(HEADS))
        i, j = sorted((int(at) * 64 for at in chosen.integers(0, T // 64, 2)), reverse=True)
        address = f"{sheet.base}{run}/sites/{layer}/heads/{head}/map/tiles/5/{i // 256}/{j // 256}"
        shape, values = sheet.page.evaluate(read, address)
        tile = np.array(values).reshape([int(n) for n in shape.split(",")])[0]
        block = tile[i % 256 : i % 256 + 64, j % 256 : j % 256 + 64]
        wanted = exact(sites[layer], head, slice(i, i + 64))[:, j : j + 64]
        assert block.shape == (64, 64)
        assert np.array_equal(block < 0, wanted < 0)
        worst = max(worst, float(np.abs(block - wanted).max()))
    measure(RUN, "50 blocks of 64 x 64 differ from float64 by", f"{worst:.1e} at most")
    assert worst < 4e-6


@pytest.mark.parametrize(("layer", "head", "i"), [(2, 7, 5_003), (17, 5, 8_100), (29, 0, 411)])
def test_the_cells_on_the_screen_are_those_of_float64(
    sheet: Map, sites: list[Site], measure: Measure, layer: int, head: int, i: int
) -> None:
    j = i - 9
    sheet.open(layer=layer, head=head, i=i, j=j, view=f"{i - 10} {j - 10} 24")
    weights = exact(sites[layer], head, slice(i - 10, i + 16))
    lens = sheet.page.locator(".lens .cl").evaluate_all(
        "all => all.map(el => [Number(el.dataset.i), Number(el.dataset.j), el.textContent])"
    )
    assert len(lens) == 64
    for row, col, text in lens:
        wanted = weights[row - i + 10, col]
        if wanted < 0:
            assert text == ""
        else:
            shown = float(text.replace("−", "-"))
            assert shown == pytest.approx(wanted, abs=5e-4 if wanted >= 5e-4 else wanted * 0.5), (row, col)
    colours = """async ([rows, top, left]) => {
        const { makeMap, parseStops } = await import('./static/js/pure/colour.js')
        const { scaleOf } = await import('./static/js/pure/map/paint.js')
        const map = makeMap(parseStops(getComputedStyle(document.documentElement).getPropertyValue('--map')))
        const wanted = { name: 'log', reduction: 'max', largest: () => 1, sorted: new Float32Array(0) }
        const place = scaleOf(wanted)
        const context = document.querySelector('#view > canvas').getContext('2d')
        let [seen, far] = [0, 0]
        rows.forEach((row, r) => row.forEach((weight, c) => {
            const [x, y] = [Math.floor((c + .5) * 24), Math.floor((r + .5) * 24)]
            const [red, green, blue, opaque] = context.getImageData(x, y, 1, 1).data
            seen++
            if (weight < 0) far = Math.max(far, opaque)
            else map.at(place(weight)).forEach((part, at) => {
                far = Math.max(far, Math.abs(part - [red, green, blue][at]))
            })
        }))
        return [seen, far]
    }"""
    part = weights[:, j - 10 : j + 16].tolist()
    seen, far = sheet.page.evaluate(colours, [part, i - 10, j - 10])
    measure(RUN, f"colours of layer {layer} head {head}", f"{seen} cells, off by {far} of 255 at most")
    assert seen == 26 * 26
    assert far <= 2  # of 255: a weight on the border of two colours may take either
