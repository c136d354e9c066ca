"""Sections 7 and 9 on the page: what one reads is Python's; the measurement runs, stops and is refused."""

from __future__ import annotations

import json
import re
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from attnscope import lesson
from attnscope.looks.numbers import count, number, size, weight

if TYPE_CHECKING:
    from attnscope.lesson.cost import Cost
    from attnscope.lesson.trained import TrainedHeads
    from tests.e2e.pages import Walk

MEASURE = "[data-live=measure]"
BUTTON = f"{MEASURE} .btn.main"


@pytest.fixture(scope="module")
def cost() -> Cost:
    found: Cost = lesson.cost()
    return found


@pytest.fixture(scope="module")
def trained() -> TrainedHeads:
    found: TrainedHeads = lesson.trained_heads()
    return found


def read_costs(walk: Walk) -> list[list[str]]:
    rows = walk.page.locator(".cost-nums tbody tr")
    return [[cell.strip() for cell in row.locator("td").all_inner_texts()] for row in rows.all()]


def test_every_length_of_section_7_shows_pythons_numbers(walk: Walk, cost: Cost) -> None:
    walk.open(7, wait=".cost-nums td")
    slider = walk.page.get_by_label("Length", exact=True)
    slider.focus()
    walk.page.keyboard.press("Home")
    window = cost.windows.index(512)
    for at, tokens in enumerate(cost.lengths):
        expect(walk.page.locator("[data-live=law] .said")).to_contain_text(f"{count(tokens)} tokens")
        whole, kept, tile, band = read_costs(walk)
        megabytes = f"{count(cost.grid_bytes[at] // 2**20)} MB = " if cost.grid_bytes[at] >= 2**30 else ""
        assert whole == [count(cost.cells[at]), megabytes + size(cost.grid_bytes[at])]
        assert kept == [count(cost.rows_bytes[at] // 4), size(cost.rows_bytes[at])]
        assert tile == [count(cost.tile_bytes[at] // 4), size(cost.tile_bytes[at])]
        assert band[0] == count(cost.window_cells[at][window])
        walk.page.keyboard.press("ArrowRight")
    assert "65,536 MB = 64 GB" in walk.text("[data-live=law] .said")
    assert walk.state()["length"] == "131072"


def test_the_square_the_strip_and_the_band_are_drawn_to_one_scale(walk: Walk, cost: Cost) -> None:
    walk.open(7, wait=".square .whole", length=4096, window=1024)
    box = {
        name: walk.page.locator(f".square .{name}").evaluate(
            "el => ({width: +el.getAttribute('width'), height: +el.getAttribute('height')})"
        )
        for name in ("whole", "strip", "half", "tile")
    }
    side = box["whole"]["width"]
    assert box["whole"]["height"] == side
    assert box["strip"]["height"] == side
    assert box["strip"]["width"] == pytest.approx(side * 66 / 4096, rel=1e-6)
    assert box["half"] == {"width": side / 2, "height": side / 2}
    at = cost.lengths.index(4096)
    assert box["tile"]["height"] == pytest.approx(side * cost.tiles[at][0] / 4096)
    assert box["tile"]["width"] == pytest.approx(side * cost.tiles[at][1] / 4096)
    corners = walk.page.locator(".square .band").get_attribute("points")
    assert corners == f"0.00,0.00 {side:.2f},{side:.2f} {side * 3 / 4:.2f},{side:.2f} 0.00,{side / 4:.2f}"
    assert "Under one pixel" not in walk.text(".square + figcaption")


def test_a_link_opens_the_curve_of_cells_and_a_wrong_one_the_default(walk: Walk) -> None:
    walk.open(7, wait=".cost-nums td", show="cells", length=77, window="x")
    assert walk.texts("[data-live=curve] [aria-pressed=true]") == ["cells computed"]
    assert "1,024 tokens" in walk.text("[data-live=law] .said")
    assert "window of 512" in walk.text("[data-live=curve] .curve:not([hidden])")


def test_every_length_is_in_one_table_on_screen_and_in_print(walk: Walk, cost: Cost) -> None:
    walk.open(7, wait=".cost-nums td", window=128)
    rows = walk.page.locator(".every tbody tr")
    expect(rows.first).to_be_hidden()
    walk.page.locator(".every summary").click()
    at = cost.windows.index(128)
    assert [row.split("\t") for row in rows.all_inner_texts()] == [
        [count(tokens), count(cells), size(grid), size(kept + tile), count(seen[at])]
        for tokens, cells, grid, kept, tile, seen in zip(
            cost.lengths,
            cost.cells,
            cost.grid_bytes,
            cost.rows_bytes,
            cost.tile_bytes,
            cost.window_cells,
            strict=True,
        )
    ]
    walk.page.locator(".every summary").click()
    walk.page.emulate_media(media="print")
    expect(rows.last).to_be_visible()


def test_a_small_measurement_runs_to_its_tables(walk: Walk) -> None:
    walk.open(7, wait=BUTTON, budget=64, longest=4096)
    assert "at most 64 MB" in walk.text(f"{MEASURE} .caption")
    walk.page.locator(BUTTON).focus()
    walk.page.keyboard.press("Enter")
    expect(walk.page.locator(f"{MEASURE} [role=progressbar]")).to_be_visible()
    assert walk.page.evaluate("document.activeElement.textContent") == "Cancel"
    walk.page.wait_for_selector(f"{BUTTON}:not([disabled])", timeout=240_000)
    assert walk.text(f"{MEASURE} .note") == "Measured: 15 of 16; 1 would have passed the budget."
    assert walk.text("#live") == walk.text(f"{MEASURE} .note")
    tables = walk.page.locator(f"{MEASURE} table.measure-nums")
    lengths = [tables.nth(at).locator("tbody th").all_inner_texts() for at in range(2)]
    assert lengths == [["512", "1,024", "2,048", "4,096"]] * 2
    for at, form in enumerate((r"[\d.]+", r"[\d.]+ (KB|MB)")):
        cells = tables.nth(at).locator("tbody tr").nth(3).locator("td").all_inner_texts()
        assert cells[0] == "not run"
        assert all(re.fullmatch(form, cell) for cell in cells[1:]), cells
    told = " ".join(walk.texts(f"{MEASURE} .measure-found > .caption"))
    assert "From 4,096 tokens on, whole grid was not run" in told
    assert "The outputs agree" in told
    assert walk.page.evaluate("document.activeElement.textContent") == "Measure on this machine"


def test_a_measurement_is_cancelled_and_another_can_begin(walk: Walk) -> None:
    walk.open(7, wait=BUTTON, longest=32768)
    walk.page.locator(BUTTON).click()
    walk.page.get_by_role("button", name="Cancel").click()
    walk.page.wait_for_selector(f"{BUTTON}:not([disabled])")
    assert walk.text(f"{MEASURE} .note") == "Cancelled. What was measured before stays."
    walk.page.locator(BUTTON).click()
    expect(walk.page.locator(f"{MEASURE} [role=progressbar]")).to_be_visible()
    walk.page.get_by_role("button", name="Cancel").click()
    walk.page.wait_for_selector(f"{BUTTON}:not([disabled])")


def ask(walk: Walk, path: str, method: str, body: dict[str, int] | None = None) -> Any:
    """Ask the server as another client does."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{walk.base}/api/{path}", data, method=method)
    return json.loads(urllib.request.urlopen(request, timeout=60).read())


def test_a_second_measurement_is_refused_in_place_with_the_reason(walk: Walk) -> None:
    walk.expected.append("409")
    job = ask(walk, "measure", "POST", {"budget_mb": 32, "longest": 16384})["id"]
    try:
        walk.open(7, wait=BUTTON)
        walk.page.locator(BUTTON).click()
        card = walk.page.locator(f"{MEASURE} .card.bad")
        expect(card).to_contain_text("Another measurement is under way, to 16,384 tokens within 32 MB")
        expect(card).to_contain_text("Wait for its end, or cancel it")
        expect(walk.page.locator(BUTTON)).to_be_focused()
    finally:
        ask(walk, f"measure/{job}", "DELETE")


def cell_text(walk: Walk, part: str, i: int, j: int) -> str:
    """Return what is said of the cell i, j of a large picture."""
    grid = walk.page.locator(f"{part} .onehead [role=grid]")
    row = grid.locator("[role=row]").nth(i + 1)
    return row.locator(".one").nth(j).get_attribute("aria-label") or ""


def test_heads_of_section_9_show_pythons_weights(walk: Walk, trained: TrainedHeads) -> None:
    walk.open(9, wait=".onehead .one", layer=3, head=1, row=20, key=7)
    for at, model in enumerate((trained.untrained, trained.lesson)):
        part = f"[data-live=pair] .trained-two > :nth-child({at + 1})"
        for i, j in ((20, 7), (27, 26), (5, 5)):
            shown = weight(float(model.weights[3, 1, i, j]))
            assert cell_text(walk, part, i, j).endswith(f"weight {shown}")
        assert cell_text(walk, part, 3, 9).endswith("not visible")
        after = walk.page.locator(f"{part} .expects .bars-line")
        read = [line.split() for line in after.all_inner_texts()]
        assert [line[-1] for line in read] == [weight(p) for _, p in model.next[20]]
        row = model.weights[3, 1, 20]
        most, share = float(row.max()), 1 / 21
        assert walk.text(f"{part} .rowsaid") == (
            f"Row 20 a: largest {weight(most)} on {trained.tokens[int(row.argmax())].spoken} "
            f"{int(row.argmax())}, {number(most / share, 1)} times the even share of .048."
        )
    before, after = (weight(float(one.weights[3, 1, 20, 7])) for one in (trained.untrained, trained.lesson))
    assert walk.text("[data-live=pair] .said") == (
        f"In layer 3 head 1, a 20 looks at B 7 with {before} before training and {after} after it; "
        "an even share is .048."
    )


def test_small_pictures_are_walked_by_keyboard_and_announced(walk: Walk, trained: TrainedHeads) -> None:
    walk.open(9, wait=".thumb canvas[width]")
    layer, head, _ = trained.lesson.strongest("previous")
    chosen = walk.page.locator("[data-live=pair] .thumb[aria-selected=true]")
    assert chosen.count() == 2
    label = chosen.nth(1).get_attribute("aria-label")
    last = weight(float(trained.lesson.weights[layer, head, -1].max()))
    assert label == f"Layer {layer} head {head}, lesson, trained: largest of the last row {last}"
    chosen.nth(1).focus()
    walk.page.keyboard.press("ArrowDown")
    walk.page.keyboard.press("ArrowLeft")
    assert (walk.state()["layer"], walk.state()["head"]) == ("1", "2")
    assert walk.text("#live").startswith("In layer 1 head 2, t 27 looks at ")
    assert walk.texts("[data-live=pair] .trained-two > div > h4")[0] == "Layer 1 · Head 2"


def test_a_small_picture_is_coloured_by_row_as_python_sees_it(walk: Walk, trained: TrainedHeads) -> None:
    walk.open(9, wait=".thumb canvas[width]")
    pixels = (
        walk.page.locator("[data-live=pair] .thumb canvas")
        .nth(16 + 3)
        .evaluate(
            """el => {
            const step = el.width / 28, all = el.getContext('2d').getImageData(0, 0, el.width, el.width).data
            const at = (i, j) => 4 * (Math.floor((i + .5) * step) * el.width + Math.floor((j + .5) * step))
            const line = i => Array.from({length: 28}, (_, j) => [...all.slice(at(i, j), at(i, j) + 4)])
            return Array.from({length: 28}, (_, i) => line(i))
        }"""
        )
    )
    grid = trained.lesson.weights[0, 3]
    for i in range(28):
        assert all(pixels[i][j][3] == 0 for j in range(i + 1, 28))
        sums = [sum(pixels[i][j][:3]) for j in range(i + 1)]
        assert sums.index(min(sums)) == int(grid[i, : i + 1].argmax())


def test_a_finding_is_shown_at_one_press(walk: Walk, trained: TrainedHeads) -> None:
    walk.open(9, wait=".seen li")
    findings = trained.findings()
    said = [line.removesuffix(" Show").strip() for line in walk.texts(".seen li")]
    assert said == [one.says for one in findings]
    one = next(one for one in findings if (one.model, one.habit) == ("embedded", "after"))
    walk.page.locator(".seen li").nth(findings.index(one)).get_by_role("button").click()
    assert walk.state()["big"] == f"{one.layer}.{one.head}"
    expect(walk.page.locator(".larger h4").first).to_have_text(re.compile("Next|Layer"))
    assert f"Layer {one.layer} · Head {one.head}" in walk.texts(".larger h4")
    shown = weight(float(trained.embedded.weights[one.layer, one.head, 27, 21]))
    assert cell_text(walk, ".larger", 27, 21).endswith(f"weight {shown}")


def test_other_draws_are_listed_with_pythons_numbers(walk: Walk, trained: TrainedHeads) -> None:
    walk.open(9, wait=".draws td")
    rows = [row.split("\t") for row in walk.texts(".draws tbody tr")]
    assert [row[0] for row in rows] == [str(seed) for seed, *_ in trained.draws]
    assert [row[4] for row in rows] == [weight(most) for *_, most in trained.draws]


@pytest.mark.parametrize("state", [{"layer": 9, "head": 0}, {"row": "x", "key": -1}, {"big": "7.7"}])
def test_a_wrong_link_of_section_9_opens_the_default(walk: Walk, state: dict[str, object]) -> None:
    walk.open(9, wait=".onehead .one", **state)
    assert walk.text("[data-live=pair] .said").startswith("In layer 0 head 3, t 27 looks at h 26")


@pytest.mark.parametrize("chapter", [7, 9])
def test_chapters_7_and_9_fit_a_phone(walk: Walk, chapter: int) -> None:
    walk.page.set_viewport_size({"width": 390, "height": 844})
    walk.open(chapter, wait=".live > *")
    if chapter == 7:
        walk.page.locator(".every summary").click()
    assert walk.page.evaluate("document.documentElement.scrollWidth") == 390
