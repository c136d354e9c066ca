"""The page Map with weight times length of value in place of weights, in a real browser."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from playwright.sync_api import expect
from torch import Tensor

from attnscope import load, record
from attnscope.nn import CausalSelfAttention
from attnscope.recording import Places, Recording, Run
from attnscope.recording.mixes import OLDER
from tests.e2e.pages import Map, served

T, HEAD = 701, 1


@pytest.fixture(scope="module")
def layer() -> CausalSelfAttention:
    """Two heads."""
    torch.manual_seed(5)
    return CausalSelfAttention(32, 2)


@pytest.fixture(scope="module")
def folder(layer: CausalSelfAttention, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of two calls over 701 tokens: the lengths of the second are not known."""
    with record(layer) as heard, torch.no_grad():
        layer(torch.randn(1, T, 32).mul(3))
    site = heard.site(0)
    older = replace(site, index=1, layer=1, name="later", shelf=replace(site.shelf, lengths=OLDER))  # type: ignore[type-var]
    words = tuple({"text": f" w{i}"} for i in range(T))
    recording = Recording(
        [Run(0, "", [site, older])], model=heard.model, keep="all", places={"decoder": Places(words)}
    )
    return recording.save(tmp_path_factory.mktemp("values") / "values")


@pytest.fixture(scope="module")
def base(folder: Path) -> Iterator[str]:
    """The address of `attnscope app FOLDER`."""
    with served(folder) as address:
        yield address


@pytest.fixture
def page(base: str, sheet: Map) -> Map:
    """Map on the server of that recording, at the weights of a head."""
    sheet.base = base
    sheet.open(site=0, head=HEAD)
    return sheet


@pytest.fixture(scope="module")
def lengths(folder: Path, layer: CausalSelfAttention) -> Tensor:
    """How long each value of the head is after W_O, in float64."""
    v = load(folder).site(0).v[0, HEAD].double()
    part = slice(HEAD * v.shape[-1], (HEAD + 1) * v.shape[-1])
    return (v @ layer.out.weight.detach().double()[:, part].T).norm(dim=-1)


@pytest.fixture(scope="module")
def exact(folder: Path, lengths: Tensor) -> Tensor:
    """Every weight times length of the head, in float64 from q and k."""
    site = load(folder).site(0)
    q, k = (x[0, HEAD].double() for x in (site.q, site.k))
    scores = (q @ k.T) * site.d**-0.5
    return scores.masked_fill(torch.ones(T, T).triu(1).bool(), -torch.inf).softmax(-1) * lengths


def test_the_second_picture_is_chosen_stands_in_the_address_and_says_what_it_is(
    page: Map, lengths: Tensor
) -> None:
    assert "values" not in page.state() and page.text(".largest th >> nth=0") == "weight"
    before = page.pixel(300, 4)
    page.page.get_by_role("button", name="weight × value").click()
    page.settle()
    assert page.state()["values"] == "1" and page.pixel(300, 4) != before
    assert "their largest weight × |v W_O|" in page.text(".foot .said")
    assert page.text(".largest th >> nth=0") == "weight × |v W_O|"
    assert page.text(".cap.received").split() == ["received", "×", "|v", "W_O|"]
    last = page.texts(".legend span")[-1]
    assert float(last) == pytest.approx(float(lengths.max()), rel=0.01)
    page.page.reload()
    page.settle()
    expect(page.page.get_by_role("button", name="weight × value")).to_have_attribute("aria-pressed", "true")
    page.page.get_by_role("button", name="weight", exact=True).click()
    page.settle()
    assert "values" not in page.state() and page.pixel(300, 4) == before


def test_tiles_and_list_are_those_of_float64(page: Map, exact: Tensor) -> None:
    page.open(site=0, head=HEAD, values=1)
    tiles = next(url for url in page.asked if "/map/tiles/" in url and "values=1" in url).split("/tiles/")[0]
    read = "async (address) => [...new Float32Array(await (await fetch(address)).arrayBuffer())]"
    chosen = torch.Generator().manual_seed(6)
    fine = torch.tensor(page.page.evaluate(read, f"{tiles}/tiles/2/1/0?values=1")).reshape(256, 256)
    top, left = torch.randint(0, 256 - 64, (2,), generator=chosen).tolist()
    block = exact[256 + top : 320 + top, left : left + 64]
    torch.testing.assert_close(fine[top : top + 64, left : left + 64].double(), block, rtol=2e-5, atol=1e-7)
    whole = torch.tensor(page.page.evaluate(read, f"{tiles}/tiles/0/0/0?values=1")).reshape(3, 176, 176)
    squares = torch.nn.functional.pad(exact, (0, 3, 0, 3)).reshape(176, 4, 176, 4)
    seen = whole[0] >= 0
    for plane, wanted in ((whole[0], squares.amax(dim=(1, 3))), (whole[2], squares.sum(dim=(1, 3)))):
        torch.testing.assert_close(plane[seen].double(), wanted[seen], rtol=2e-5, atol=1e-7)
    page.page.get_by_label("First token and diagonal too").check()
    page.settle()
    value, i, j = (page.text(f".largest tbody tr >> nth=0 >> td >> nth={at}") for at in (0, 1, 3))
    assert int(i) * T + int(j) == int(exact.argmax())
    assert float(value) == pytest.approx(float(exact.max()), rel=1e-5)


def test_a_cell_is_told_as_weight_times_length(page: Map, exact: Tensor, lengths: Tensor) -> None:
    i, j = 500, 77
    page.open(site=0, head=HEAD, values=1, i=i, j=j)
    moves = float(page.text(".ro .w").split()[0].replace("−", "-"))
    assert "W_O is out" not in page.text(".foot .said")  # room is for what a pixel is
    page.page.locator("#view").press("Enter")
    page.settle()
    assert "1 cell, its weight × |v W_O|" in page.text(".foot .said")
    assert "W_O is out, this head’s part of it." in page.text(".foot .said")
    lines = page.texts(".ro > *")
    at = lines.index("weight")
    weight, length = float(lines[at + 1]), float(lines[at + 2].split()[-1])
    assert "× |v W_O|" in lines[at + 2]
    assert moves == pytest.approx(float(exact[i, j]), abs=2e-7)
    assert length == pytest.approx(float(lengths[j]), abs=1e-4)
    assert weight * length == pytest.approx(moves, rel=1e-3)
    cells = page.page.locator(".lens .cl").evaluate_all(
        "all => all.map(el => [Number(el.dataset.i), Number(el.dataset.j), el.textContent])"
    )
    for row, col, text in cells:
        assert float(text.replace("−", "-")) == pytest.approx(float(exact[row, col]), rel=0.05, abs=5e-4)
    page.page.get_by_role("button", name="Arithmetic").click()
    expect(page.page.locator("dialog .cell")).to_contain_text(f"× length of v W_O {length:.4f}")


def test_a_pressed_pixel_chooses_the_largest_product_behind_it(page: Map, exact: Tensor) -> None:
    page.open(site=0, head=HEAD, values=1)
    box = page.page.locator("#view").bounding_box()
    assert box
    scale = box["height"] / T
    page.page.mouse.click(box["x"] + 210 * scale, box["y"] + 620 * scale)
    page.settle()
    i, j = int(page.state()["i"]), int(page.state()["j"])
    rows, cols = slice(i // 2 * 2, i // 2 * 2 + 2), slice(j // 2 * 2, j // 2 * 2 + 2)
    assert float(exact[i, j]) == float(exact[rows, cols].max())


def test_what_is_saved_of_it_says_so(page: Map) -> None:
    page.open(site=0, head=HEAD, values=1)
    page.page.get_by_role("button", name="Save", exact=True).click()
    expect(page.page.locator("dialog h2")).to_have_text(f"Save Layer 0 · Head {HEAD} · weight × |v W_O|")
    with page.page.expect_download() as waiting:
        page.page.get_by_role("button", name="SVG", exact=True).click()
    assert waiting.value.suggested_filename == f"layer-0-head-{HEAD}-values.svg"
    assert "weight × |v W_O|" in waiting.value.path().read_text("utf-8")
    page.page.keyboard.press("Escape")
    with page.page.expect_download() as listed:
        page.page.locator(".largest").get_by_role("button", name="CSV").click()
    assert listed.value.suggested_filename.endswith("-largest-cells-values.csv")
    with listed.value.path().open(encoding="utf-8", newline="") as file:
        assert next(csv.reader(file))[0] == "weight_times_length"


def test_it_goes_with_one_to_explore_and_back(page: Map) -> None:
    page.open(site=0, head=HEAD, values=1, i=500, j=77)
    page.page.get_by_role("link", name="Explore").click()
    page.page.wait_for_selector(".plane canvas[width]")
    assert page.state()["values"] == "1"
    expect(page.page.get_by_role("button", name="weight × value")).to_have_attribute("aria-pressed", "true")
    page.page.get_by_role("link", name="Map").click()
    page.settle()
    assert page.state()["values"] == "1" and "|v W_O|" in page.text(".largest th >> nth=0")


def test_colour_by_row_asks_for_the_largest_of_each_row(page: Map) -> None:
    page.open(site=0, head=HEAD, values=1)
    page.page.get_by_role("button", name="row", exact=True).click()
    page.settle()
    assert any(url.endswith("/map/rows") for url in page.asked)


def test_a_head_whose_lengths_are_not_known_says_why_and_offers_its_weights(page: Map) -> None:
    page.page.goto(f"{page.base}/map?site=1&head={HEAD}&values=1")
    card = page.page.locator(".cards .card")
    expect(card).to_contain_text("No second picture: the recording is from before")
    expect(card).to_contain_text("site.mixes(head, projection=W)")
    run = next(url for url in page.asked if "/api/runs/" in url).split("/api/runs/")[1].split("/")[0]
    status, said = page.page.evaluate(
        "(address) => fetch(address).then(async (got) => [got.status, (await got.json()).error.title])",
        f"{page.base}/api/runs/{run}/sites/1/heads/{HEAD}/map?values=1",
    )
    page.expected.append("409")
    assert status == 409 and "later has no lengths of values" in said
    card.get_by_role("button", name="Show weights").click()
    page.settle()
    assert "values" not in page.state()


@pytest.mark.parametrize("width", [1440, 390])
def test_it_has_room(width: int, page: Map) -> None:
    page.page.set_viewport_size({"width": width, "height": 844})
    page.open(site=0, head=HEAD, values=1)
    assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
