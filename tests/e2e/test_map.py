"""The page Map in a real browser, over a head of planted structure: from the whole to a cell and back."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from playwright.sync_api import Route, expect
from torch import Tensor
from torch.nn.functional import normalize, scaled_dot_product_attention

from attnscope import load, record
from attnscope.recording import Places
from tests.e2e.pages import Map, served

T, NEEDLE = 1_400, (1_203, 317)


class Planted(torch.nn.Module):
    """Attention alone."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Causal."""
        return scaled_dot_product_attention(q, k, v, is_causal=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of two heads over 1,400 tokens, the last 40 written by the model.

    Head 0 looks at the token before its own; one query of it looks far back, at a needle.
    """
    drawn = torch.Generator().manual_seed(8)
    names = normalize(torch.randn(T, 64, generator=drawn), dim=1)
    q, k = torch.randn(1, 2, T, 64, generator=drawn), torch.randn(1, 2, T, 64, generator=drawn)
    q[0, 0, 1:], k[0, 0] = names[:-1] * 9, names * 9
    q[0, 0, NEEDLE[0]] = names[NEEDLE[1]] * 14
    v = torch.randn(1, 2, T, 64, generator=drawn)
    words = tuple({"text": "needle" if i == NEEDLE[1] else f" w{i}"} for i in range(T))
    at = tmp_path_factory.mktemp("planted") / "planted"
    model = Planted()
    with torch.no_grad(), record(model, path=at) as recording:
        model(q, k, v)
        recording.places = {"decoder": Places(words, generated=T - 40)}
    return at


@pytest.fixture(scope="module")
def base(folder: Path) -> Iterator[str]:
    """The address of `attnscope app FOLDER`."""
    with served(folder) as address:
        yield address


@pytest.fixture
def page(base: str, sheet: Map) -> Map:
    """Map on the server of that recording, at head 0."""
    sheet.base = base
    sheet.open(head=0)
    return sheet


@pytest.fixture(scope="module")
def weights(folder: Path) -> Tensor:
    """Every weight of head 0, in float64 from q and k."""
    site = load(folder).site(0)
    q, k = (x[0, 0].double() for x in (site.q, site.k))
    scores = (q @ k.T) * site.d**-0.5
    return scores.masked_fill(torch.ones(T, T).triu(1).bool(), -torch.inf).softmax(-1)


def test_the_needle_is_first_of_the_largest_off_the_diagonal_and_seen_in_the_whole(page: Map) -> None:
    page.page.get_by_label("First token and diagonal too").uncheck()
    lines = page.texts(".largest tbody tr")
    assert any("1,203" in line and "needle" in line and "886 back" in line for line in lines[:50])
    *colour, opaque = page.pixel(*NEEDLE)
    assert opaque == 255
    nearby = [page.pixel(NEEDLE[0] + 40, NEEDLE[1] + d)[:3] for d in (-40, 40, 80)]
    assert all(sum(colour) < sum(other) - 100 for other in nearby)  # light theme: more is darker
    assert page.pixel(100, 900)[3] == 0  # the future: nothing was drawn, the hatch shows


def test_one_flies_from_the_whole_to_a_cell_and_back(page: Map, weights: Tensor) -> None:
    page.page.locator(".largest tbody tr", has_text="needle").first.click()
    page.settle()
    assert page.state()["i"] == str(NEEDLE[0])
    assert page.state()["j"] == str(NEEDLE[1])
    shown = float(page.text(".ro .w").split("\n")[0].split()[0].replace("back", "")[:8])
    assert shown == pytest.approx(float(weights[NEEDLE]), abs=1e-6)
    assert "needle" in page.text(".ro mark >> nth=1")
    assert "1 pixel = 1 cell" in page.text(".foot .said")
    assert page.page.locator(".rt .word").count() > 10
    expect(page.page.locator(".rt .word").first).to_have_css("writing-mode", "vertical-rl")
    page.page.keyboard.press("0")
    page.settle()
    assert "view" not in page.state()
    assert re.search(r"1 pixel = \d+ × \d+ cells, their largest weight", page.text(".foot .said"))
    page.page.go_back()
    page.settle()
    assert "view" in page.state()


def test_the_lens_and_the_arithmetic_show_the_weights_of_float64(page: Map, weights: Tensor) -> None:
    page.open(head=0, i=NEEDLE[0], j=NEEDLE[1])
    cells = page.page.locator(".lens .cl").evaluate_all(
        "all => all.map(el => [Number(el.dataset.i), Number(el.dataset.j), el.textContent])"
    )
    assert len(cells) == 64
    for i, j, text in cells:
        shown = float(text.replace("−", "-"))
        assert shown == pytest.approx(float(weights[i, j]), abs=5e-4 + 0.05 * float(weights[i, j])), (i, j)
    page.page.get_by_role("button", name="Arithmetic").click()
    receipt = page.page.locator("dialog .rcpt .big")
    expect(receipt).to_be_visible()
    assert float(receipt.inner_text().split("\n")[-1]) == pytest.approx(float(weights[NEEDLE]), abs=1e-4)
    page.page.keyboard.press("Escape")
    expect(page.page.locator("dialog")).to_have_count(0)


def test_random_blocks_of_tiles_are_those_of_float64(page: Map, weights: Tensor) -> None:
    read = """async ([address]) => {
        const answer = await fetch(address)
        return [answer.headers.get('X-Shape'), [...new Float32Array(await answer.arrayBuffer())]]
    }"""
    asked = next(url for url in page.asked if "/map/tiles/" in url).split("/tiles/")[0]
    chosen = np.random.default_rng(3)
    for _ in range(4):
        row = int(chosen.integers(0, 6))
        col = int(chosen.integers(0, row + 1))
        shape, values = page.page.evaluate(read, [f"{asked}/tiles/3/{row}/{col}"])
        tile = torch.tensor(values).reshape([int(n) for n in shape.split(",")])[0]
        wanted = weights[row * 256 : row * 256 + tile.shape[0], col * 256 : col * 256 + tile.shape[1]]
        seen = tile >= 0
        assert torch.equal(seen, torch.ones(T, T).tril().bool()[
            row * 256 : row * 256 + tile.shape[0], col * 256 : col * 256 + tile.shape[1]])  # fmt: skip
        assert float((tile - wanted)[seen].abs().max()) < 2e-6


def test_wheel_and_drag_keep_what_is_under_the_pointer(page: Map) -> None:
    box = page.page.locator("#view").bounding_box()
    assert box
    page.page.mouse.move(box["x"] + 150, box["y"] + 400)
    before = page.texts(".tab.pointed")
    for _ in range(4):
        page.page.mouse.wheel(0, -200)
    page.settle()
    after = page.texts(".tab.pointed")
    near = [abs(_number(a) - _number(b)) for a, b in zip(before, after, strict=True)]
    assert max(near) <= 3
    row, col, scale = (float(x) for x in page.state()["view"].split())
    page.page.mouse.down()
    page.page.mouse.move(box["x"] + 190, box["y"] + 350, steps=3)
    page.page.mouse.up()
    page.settle()
    moved = [float(x) for x in page.state()["view"].split()]
    assert moved == pytest.approx([row + 50 / scale, col - 40 / scale, scale], rel=1e-3)
    for _ in range(8):
        page.page.mouse.wheel(0, 240)
    page.settle()
    assert "view" not in page.state()  # the whole grid again


def test_a_pressed_pixel_chooses_the_largest_cell_behind_it(page: Map) -> None:
    box = page.page.locator("#view").bounding_box()
    assert box
    px = box["width"] / T
    page.page.mouse.click(box["x"] + NEEDLE[1] * px, box["y"] + NEEDLE[0] * px)
    page.settle()
    page.until("location.search.includes('j=317')")
    assert page.state()["i"] == str(NEEDLE[0])


def test_what_left_the_view_is_given_up(page: Map) -> None:
    given_up: list[str] = []
    page.page.on("requestfailed", lambda request: given_up.append(request.url))
    page.page.route("**/map/tiles/3/**", lambda route: None)
    page.page.locator("#view").focus()
    for _ in range(3):
        page.page.keyboard.press("+")
    page.page.wait_for_timeout(300)
    page.page.keyboard.press("0")
    page.until("document.querySelector('main').getAttribute('aria-busy') === 'false'")
    page.page.unroute("**/map/tiles/3/**")
    assert any("/map/tiles/3/" in url for url in given_up)
    page.complaints.clear()


def making(page: Map) -> list[str]:
    """Let the page believe that the map is being made, until this list is emptied."""
    held = ["on"]

    def answer(route: Route) -> None:
        response = route.fetch()
        if held and route.request.method == "GET":
            return route.fulfill(response=response, json=response.json() | {"state": "making", "done": 512})
        return route.fulfill(response=response)

    page.page.route(re.compile(r"/heads/\d+/map$"), answer)
    return held


def test_a_map_that_was_cancelled_goes_on(page: Map) -> None:
    held = making(page)
    page.page.goto(f"{page.base}/map?head=1")
    expect(page.page.locator(".cards")).to_contain_text("512 of 1,400 queries")
    page.page.get_by_role("button", name="Cancel", exact=True).click()
    expect(page.page.locator(".cards")).to_contain_text("The map was cancelled")
    held.clear()
    page.page.get_by_role("button", name="Go on", exact=True).click()
    page.settle()
    assert page.page.locator(".largest tbody tr").count() == 50


def test_single_cells_are_shown_before_the_map_is_made(page: Map, weights: Tensor) -> None:
    held = making(page)
    page.page.goto(f"{page.base}/map?head=0&view=1190+300+24&i={NEEDLE[0]}&j={NEEDLE[1]}")
    page.page.wait_for_selector(".sheet:not([data-blank])")
    expect(page.page.locator(".foot .said")).to_contain_text("Coarser pixels are being made: 512 of 1,400")
    drawn = "document.querySelector('#view > canvas').getContext('2d').getImageData(420, 320, 1, 1).data[3]"
    page.until(drawn)
    assert float(page.text(".ro .w").split()[0][:8]) == pytest.approx(float(weights[NEEDLE]), abs=1e-6)
    assert page.page.locator(".largest").get_by_text("Looking for them…").is_visible()
    held.clear()
    page.settle()
    expect(page.page.locator(".foot .said")).not_to_contain_text("being made")


def test_space_and_a_press_on_a_lettered_cell_open_its_arithmetic(page: Map) -> None:
    page.open(head=0, i=NEEDLE[0], j=NEEDLE[1], view=f"{NEEDLE[0] - 4} {NEEDLE[1] - 4} 48")
    receipt = page.page.locator("dialog .rcpt .big")
    page.page.locator("#view").focus()
    page.page.keyboard.press("Space")
    expect(receipt).to_be_visible()
    page.page.keyboard.press("Escape")
    expect(page.page.locator("dialog")).to_have_count(0)
    page.page.locator("#view").click(position={"x": 2.5 * 48, "y": 6.5 * 48})
    expect(receipt).to_be_visible()
    page.page.keyboard.press("Escape")
    assert (page.state()["i"], page.state()["j"]) == (str(NEEDLE[0] + 2), str(NEEDLE[1] - 2))


def test_what_the_list_leaves_out_stands_in_the_address(page: Map) -> None:
    page.page.get_by_label("First token and diagonal too").check()
    page.settle()
    assert page.state()["list"] == "all"
    page.page.go_back()
    page.settle()
    expect(page.page.get_by_label("First token and diagonal too")).not_to_be_checked()


def test_the_small_whole_has_the_colours_of_the_plane(page: Map) -> None:
    read = """() => {
        const canvas = document.querySelector('.mini canvas')
        return [...canvas.getContext('2d').getImageData(0, canvas.height - 9, 40, 1).data]
    }"""
    seen = []
    for name in ("log", "linear", "rank"):
        page.page.get_by_role("button", name=name, exact=True).click()
        page.settle()
        seen.append(tuple(page.page.evaluate(read)))
    assert len(set(seen)) == 3


def test_on_a_narrow_screen_the_wheel_scrolls_the_page_until_the_map_is_pressed(page: Map) -> None:
    page.page.set_viewport_size({"width": 1024, "height": 768})
    page.settle()
    page.page.locator("#tools .head").focus()
    box = page.page.locator("#view").bounding_box()
    assert box
    page.page.mouse.move(box["x"] + 200, box["y"] + 400)
    page.page.mouse.wheel(0, 200)
    page.until("scrollY > 100")
    expect(page.page.locator("#view .hint")).to_be_visible()
    assert "view" not in page.state()
    page.page.evaluate("scrollTo(0, 0)")
    page.page.mouse.click(box["x"] + 200, box["y"] + 400)
    page.page.mouse.wheel(0, -200)
    page.until("location.search.includes('view=')")
    assert page.page.evaluate("scrollY") == 0
    for _ in range(3):
        page.page.mouse.wheel(0, 400)
    page.until("scrollY > 100")  # at the whole grid the wheel goes on to the page
    assert "view" not in page.state()


def test_go_to_finds_positions_and_text(page: Map) -> None:
    field = page.page.get_by_label("Go to a position, a cell or a text")
    page.page.locator("#view").focus()
    page.page.keyboard.press("g")
    expect(field).to_be_focused()
    for asked, i, j in (("1,203 317", 1203, 317), ("needle", 1203, 317), ("77", 77, None)):
        field.fill(asked)
        field.press("Enter")
        page.settle()
        assert page.state()["i"] == str(i)
        if j is not None:
            assert page.state()["j"] == str(j)
    field.fill("haystack")
    field.press("Enter")
    assert page.text(".tools .said") == "“haystack” is not in the text."


def test_the_map_is_used_by_keyboard_alone(page: Map) -> None:
    keys = page.page.keyboard
    page.page.locator("#view").focus()
    keys.press("+")
    keys.press("+")
    keys.press("ArrowRight")
    page.settle()
    assert float(page.state()["view"].split()[1]) > 0
    keys.press("n")
    page.settle()
    first = page.state()["i"], page.state()["j"]
    keys.press("n")
    page.settle()
    assert (page.state()["i"], page.state()["j"]) != first
    keys.press("p")
    page.settle()
    assert (page.state()["i"], page.state()["j"]) == first
    keys.press("Shift+ArrowUp")
    page.settle()
    assert page.state()["i"] == str(int(first[0]) - 1)
    expect(page.page.locator("#live")).to_have_text(re.compile(r"^query [\d,]+ .*, key [\d,]+ .*weight"))
    keys.press("m")
    page.settle()
    assert page.state()["marks"] == "0"
    keys.press("h")
    expect(page.page.locator("dialog .hd[aria-selected=true]")).to_be_focused()
    keys.press("ArrowRight")
    keys.press("Enter")
    expect(page.page.locator("dialog")).to_have_count(0)
    page.settle()
    assert page.state()["head"] == "1"
    assert page.text(".tools .head") == "Layer 0 · Head 1 ▾"


def test_colours_and_reductions_are_chosen_without_asking_again(page: Map) -> None:
    asked = len([url for url in page.asked if "/tiles/" in url])
    for name in ("mean", "sum", "linear", "rank", "max"):
        page.page.get_by_role("button", name=name, exact=True).click()
        page.settle()
    assert len([url for url in page.asked if "/tiles/" in url]) == asked
    page.page.get_by_role("button", name="mean", exact=True).click()
    expect(page.page.get_by_role("button", name="row", exact=True)).to_be_disabled()


def test_head_and_cell_go_with_one_from_page_to_page(page: Map) -> None:
    page.open(head=0, i=NEEDLE[0], j=NEEDLE[1])
    page.page.get_by_role("link", name="Explore").click()
    page.page.wait_for_selector(".plane canvas[width]")
    state = page.state()
    assert (state["head"], state["i"], state["j"]) == ("0", str(NEEDLE[0]), str(NEEDLE[1]))
    page.page.get_by_role("link", name="Map").click()
    page.settle()
    assert page.state()["j"] == str(NEEDLE[1])


def test_the_list_is_saved_with_the_certificate_of_its_head(page: Map) -> None:
    with page.page.expect_download() as saved:
        page.page.get_by_role("button", name="CSV").click()
    with saved.value.path().open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 50
    assert {(line["layer"], line["head"], line["certificate"]) for line in lines} == {("0", "0", "passed")}
    needle = next(line for line in lines if line["key_token"] == "needle")
    assert (needle["query"], needle["key"], needle["query_token"]) == ("1203", "317", " w1203")


def test_a_phone_shows_grid_rulers_received_and_lens(page: Map) -> None:
    page.page.set_viewport_size({"width": 390, "height": 844})
    page.settle()
    assert page.page.evaluate("document.documentElement.scrollWidth") == 390
    for part in ("#view", ".rt", ".rl", ".rec", ".lens"):
        expect(page.page.locator(part)).to_be_visible()
    for part in (".ent", ".mini"):
        expect(page.page.locator(part)).to_be_hidden()


def test_letters_over_the_grid_stand_upright_where_each_has_room(sheet: Map) -> None:
    sheet.open(model="embedded", text="ROMEO:")
    expect(sheet.page.locator(".rt .word").first).to_have_css("writing-mode", "horizontal-tb")
    sheet.page.set_viewport_size({"width": 390, "height": 844})
    expect(sheet.page.locator(".lens .hd").first).to_have_css("writing-mode", "horizontal-tb")


def _number(tab: str) -> int:
    return int(tab.split()[-1].replace(",", ""))
