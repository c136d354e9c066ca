"""Explore shows what the model really did: tokens, heads, weights, and the arithmetic of each."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.e2e.pages import Explore

SAMPLE = "ROMEO:\nBut, soft! what light"
CELL = {"text": SAMPLE, "layer": 2, "head": 1, "i": 27, "j": 21}


def seven(weight: float) -> str:
    """A weight as tooltips and tables write it."""
    if round(weight, 7):
        return f"{weight:.7f}".removeprefix("0")
    digit, power = f"{weight:.0e}".split("e-")
    return f"{digit}e−{int(power)}"


def number(written: str) -> float:
    """A number as the page writes it: no leading zero, a true minus, commas."""
    return float(written.replace("−", "-").replace(",", ""))


def test_the_page_shows_28_tokens_and_all_heads(explore: Explore) -> None:
    explore.page.goto(f"{explore.base}/explore?model={explore.model}&text={SAMPLE.replace(chr(10), '%0A')}")
    explore.settle()
    assert explore.page.locator(".flow .tok").count() == 28
    heads = explore.page.locator("[aria-label='Heads, layers down, heads across'] canvas")
    size = re.search(r"(\d+) layers × (\d+) heads", explore.text(".fits"))
    assert size and heads.count() == int(size[1]) * int(size[2])
    assert "28 of 256 characters" in explore.text(".fits")
    assert f"{heads.count()} of {heads.count()} heads" in explore.text("#badge")
    assert "logits bit-equal" in explore.text("#badge")


def test_the_weights_on_screen_are_those_that_look_prints(
    explore: Explore, look: Callable[..., dict[str, Any]]
) -> None:
    explore.open(text=SAMPLE, layer=0, head=0, i=0, j=0)
    explore.page.get_by_role("gridcell", name=re.compile("^Layer 2 head 1,")).click()
    explore.page.locator(".flow .tok").nth(27).click()
    explore.settle()
    assert explore.text(".map h2") == "Layer 2 · Head 1"
    explore.page.keyboard.press("t")
    rows = [row.split("\t") for row in explore.texts("dialog tbody tr")]
    printed = look(explore.model, SAMPLE, layer=2, head=1, query=27)["row"]
    assert [weight for _, _, weight, _ in rows] == [seven(key["weight"]) for key in printed]
    assert [int(at) for at, *_ in rows] == [key["j"] for key in printed]
    ranks = [1 + sum(other["weight"] > key["weight"] for other in printed) for key in printed]
    assert [int(rank) for *_, rank in rows] == ranks


def test_pointing_at_a_cell_shows_its_weight_to_seven_places_and_its_rank(
    explore: Explore, look: Callable[..., dict[str, Any]]
) -> None:
    explore.open(**CELL)
    plane = explore.page.locator(".plane").bounding_box()
    assert plane
    cell = plane["width"] / 28
    explore.page.mouse.move(plane["x"] + 6.5 * cell, plane["y"] + 27.5 * cell)
    row = look(explore.model, SAMPLE, layer=2, head=1, query=27)["row"]
    rank = 1 + sum(key["weight"] > row[6]["weight"] for key in row)
    tip = explore.text(".hm .tip").split()
    wanted = f"Layer 2 · Head 1 {seven(row[6]['weight'])} query i 27 t key j 6 ↵ in its row {rank} of 28"
    assert tip == wanted.split()
    explore.page.mouse.move(plane["x"] + 25.5 * cell, plane["y"] + 20.5 * cell)
    assert "0 not visible" in explore.text(".hm .tip")


def test_a_receipt_adds_up_from_the_numbers_on_screen(explore: Explore) -> None:
    for place in ({"i": 27, "j": 21}, {"i": 14, "j": 3}, {"i": 5, "j": 5}):
        explore.open(**{**CELL, **place})
        explore.page.get_by_role("button", name="show ▾").click()
        lines = [line.split("\n") for line in explore.texts(".rcpt .product .ln")]
        *terms, (_, *rounding, total) = lines
        left = number(rounding[0].removeprefix("rounding ")) if rounding else 0.0
        unit = 10_000  # the last place of a receipt; what is smaller is written with a power
        written = [number(term[-1]) for term in terms if "e" not in term[-1]]
        added = sum(round(value * unit) for value in [*written, left])
        assert added == round(number(total) * unit)
        assert len(terms) == int(explore.text(".rcpt .product .aside").split()[0])
        for _, product, value in terms:
            q, k = (number(factor) for factor in product.split(" × "))
            assert math.isclose(q * k, number(value), abs_tol=1e-4 * (abs(q) + abs(k) + 1))
        scale = number(explore.text(".rcpt .score .ln .how").split("= ")[1])
        score = number(explore.texts(".rcpt .score .ln")[0].split("\n")[-1])
        assert math.isclose(number(total) * scale, score, rel_tol=1e-3, abs_tol=1e-3)
        difference = number(explore.text(".rcpt .weight .sum").split("\n")[-1])
        weight = number(explore.text(".rcpt .big > :last-child"))
        assert math.isclose(math.exp(difference), weight, abs_tol=1e-4)
        assert "re-add to the shown weight" in explore.text(".rcpt .ok")


def test_folding_leaves_the_results(explore: Explore) -> None:
    explore.open(**CELL)
    weight = explore.text(".rcpt .big > :last-child")
    explore.page.get_by_role("button", name="Fold all").click()
    assert explore.page.locator(".rcpt .ln:visible").count() == 0
    assert explore.text(".rcpt .weight .result") == weight
    explore.page.get_by_role("button", name="Unfold all").click()
    assert explore.page.locator(".rcpt .ln:visible").count() > 10


def test_looked_at_by_shows_the_column_of_the_chosen_token(
    explore: Explore, look: Callable[..., dict[str, Any]]
) -> None:
    explore.open(**{**CELL, "i": 21})
    explore.page.get_by_role("button", name="looked at by").click()
    explore.settle()
    assert explore.state()["way"] == "by" and explore.state()["j"] == "21"
    explore.page.keyboard.press("t")
    rows = [row.split("\t") for row in explore.texts("dialog tbody tr")]
    printed = look(explore.model, SAMPLE, layer=2, head=1, query=27)["row"]
    assert rows[27][2] == seven(printed[21]["weight"])
    assert rows[20][2:] == ["0", "not visible"]


def test_hiding_the_first_column_says_what_it_holds_and_rescales_nothing(explore: Explore) -> None:
    explore.open(**CELL)
    cell = int(explore.page.locator(".plane").evaluate("el => el.offsetWidth")) // 28
    inside, first = (cell * 15 + 5, cell * 27 + 5), (5, cell * 27 + 5)
    shown = [explore.pixel(*inside), explore.pixel(*first), explore.chip_colour(15)]
    explore.page.get_by_label("Hide first column").check()
    explore.settle()
    held, rest = explore.text(".note").split(" of this head’s weight. ")
    assert re.fullmatch(r"It holds \.\d{3}", held)
    assert rest == "The others are shown as they are, not rescaled."
    assert [explore.pixel(*inside), explore.chip_colour(15)] == [shown[0], shown[2]]
    assert explore.pixel(*first) != shown[1]
    assert explore.state()["hide"] == "1"
    explore.page.keyboard.press("x")
    explore.settle()
    assert explore.pixel(*first) == shown[1]


def test_each_scale_has_its_ticks_and_chip_and_heatmap_share_a_colour(explore: Explore) -> None:
    explore.open(**CELL)
    cell = int(explore.page.locator(".plane").evaluate("el => el.offsetWidth")) // 28
    ticks = {"log": "≤ 1e−4", "row": "half", "rank": "median", "linear": ".25"}
    colours = set()
    for key, (name, tick) in zip("2341", ticks.items(), strict=True):
        explore.page.keyboard.press(key)
        explore.settle()
        assert tick in explore.text(".legend")
        assert explore.texts(".map .seg[aria-label='Colour scale'] [aria-pressed=true]") == [name]
        assert explore.chip_colour(22) == explore.pixel(cell * 22 + 5, cell * 27 + 5)
        colours.add(explore.chip_colour(22))
    assert len(colours) == 4


def test_the_next_characters_come_with_their_probabilities(explore: Explore) -> None:
    explore.open(**CELL)
    assert explore.text(".next h2") == "Next character"
    chances = [number(p) for p in explore.texts(".pred .p")]
    assert len(chances) == 5 and chances == sorted(chances, reverse=True) and sum(chances) <= 1
    assert re.fullmatch(r"entropy \d?\.\d\d nats", explore.text(".next .end"))


def test_keys_that_come_within_one_frame_all_count(explore: Explore) -> None:
    explore.open(**CELL)
    explore.page.locator(".hd[aria-selected=true]").focus()
    explore.page.evaluate(
        """() => ['ArrowDown', 'ArrowRight', 'ArrowRight'].forEach(key => {
            const event = new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true })
            document.activeElement.dispatchEvent(event)
        })"""
    )
    explore.settle()
    assert (explore.state()["layer"], explore.state()["head"]) == ("3", "3")
