"""Explore on recordings: two sides, what the model wrote, and what was not kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers import BertConfig, BertModel, T5Config, T5ForConditionalGeneration

from attnscope import record
from attnscope.recording import Places
from tests.e2e.pages import Explore, Map, served

LONG = 2_011


class Causal(torch.nn.Module):
    """Attention alone."""

    def forward(self, q: Tensor) -> Tensor:
        """Every token looks back."""
        return scaled_dot_product_attention(q, q, q, is_causal=True)


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """An encoder with a decoder that wrote from its third token on, that as sums alone, twelve heads, and a
    long text.
    """
    torch.manual_seed(6)
    sizes = {"vocab_size": 50, "d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 2, "num_heads": 2}
    model = T5ForConditionalGeneration(T5Config(**sizes, decoder_start_token_id=0)).eval()
    ids = torch.randint(1, 49, (1, 9))
    places = {
        "encoder": Places(tuple({"text": f"e{i}"} for i in range(9))),
        "decoder": Places(tuple({"text": f"d{i}"} for i in range(5)), generated=2),
    }
    at = tmp_path_factory.mktemp("recordings")
    for name, keep in (("pair", "qkv"), ("sums", "summary")):
        with torch.no_grad(), record(model, path=at / name, keep=keep) as recording:
            model(input_ids=ids, decoder_input_ids=ids[:, :5])
            recording.places = places
    bert = BertModel(
        BertConfig(
            vocab_size=50, hidden_size=48, num_hidden_layers=1, num_attention_heads=12, intermediate_size=16
        )
    ).eval()
    with torch.no_grad(), record(bert, path=at / "wide") as recording:
        bert(torch.randint(1, 49, (1, 40)))
        recording.places = {"encoder": Places(tuple({"text": f"word{i}"} for i in range(40)))}
    q = torch.randn(1, 1, LONG, 8)
    causal = Causal()
    with torch.no_grad(), record(causal, path=at / "long") as recording:
        causal(q)
        recording.places = {"decoder": Places(tuple({"text": f" w{i}"} for i in range(LONG)))}
    return [at / "pair", at / "sums", at / "wide", at / "long"]


@pytest.fixture(scope="module")
def base(recordings: list[Path]) -> Iterator[str]:
    """The address of `attnscope app FOLDER FOLDER`."""
    with served(*recordings) as address:
        yield address


@pytest.fixture
def page(base: str, explore: Explore) -> Explore:
    """Explore on the server of the recordings."""
    explore.base = base
    return explore


def go(page: Explore, wait: str = ".plane canvas[width]", **state: object) -> None:
    page.page.goto(f"{page.base}/explore?{urlencode(state)}")
    page.settle(wait)


def test_the_switch_leads_from_the_encoder_through_the_decoder_to_cross_attention(page: Explore) -> None:
    go(page, model="pair", site=0)
    assert page.text(".map h2") == "Encoder layer 0 · Head 1"
    assert page.texts(".strip .tok") == [f"e{i}" for i in range(9)]
    page.page.get_by_role("button", name="Decoder", exact=True).click()
    page.settle()
    assert page.texts(".strip .tok") == [f"d{i}" for i in range(5)]
    page.page.keyboard.press("ArrowRight")
    page.settle()
    assert page.text(".map h2") == "Layer 0, cross · Head 1"
    assert page.texts(".side:first-of-type .tok, .side .tok") == [
        *(f"d{i}" for i in range(5)),
        *(f"e{i}" for i in range(9)),
    ]
    box = page.page.locator(".plane").bounding_box()
    assert box and box["width"] / box["height"] == pytest.approx(9 / 5, rel=0.02)
    assert page.text(".facts").startswith("Certificate: passed z ")


def test_a_token_of_a_side_is_looked_from_or_looked_at(page: Explore) -> None:
    go(page, model="pair", site=3, head=0)
    page.page.locator(".tok", has_text="d1").click()
    page.settle()
    assert page.state()["i"] == "1"
    assert page.page.locator(".side:nth-of-type(2) .tok.shaded").count() == 9
    page.page.locator(".tok", has_text="e7").click()
    page.settle()
    assert page.state() == page.state() | {"i": "1", "j": "7", "way": "by"}
    assert page.page.locator(".side:nth-of-type(1) .tok.shaded").count() == 5


def test_what_the_model_wrote_stands_behind_a_rule(page: Explore) -> None:
    go(page, model="pair", site=2)
    before = page.page.locator(".wrote").evaluate("el => el.previousElementSibling.textContent")
    assert before == "d1"
    assert page.page.locator(".over .rule").count() == 2
    assert "written from 2 on" in page.text(".foot")
    assert page.page.get_by_role("option", name="d3, 3, written by the model").count() == 1


def test_nothing_that_is_listed_is_cut_off(page: Explore) -> None:
    go(page, model="wide", layer=0, head=11)
    assert page.page.locator(".heads .scroll").evaluate("el => el.scrollWidth <= el.clientWidth")
    last = page.page.locator(".flow .tok").last
    assert last.get_attribute("aria-selected") == "true"
    gaps = page.page.locator(".flow").first.evaluate(
        """el => {
            const top = el.getBoundingClientRect().top
            return [...el.querySelectorAll('.tok')].map((chip) => chip.getBoundingClientRect().top - top)
        }"""
    )
    assert gaps[0] < 0, "the strip is to be longer than its room"
    assert min(abs(gap - 3) for gap in gaps) < 1, "a whole line stands at the top, with room for its ring"
    room = page.page.locator(".flow").first.evaluate("el => el.clientHeight")
    assert 0 < gaps[-1] < room - 30


def test_of_a_long_text_chips_are_made_where_one_looks(page: Explore) -> None:
    go(page, model="long")
    chips, chosen = page.page.locator(".flow .tok"), page.page.locator(".flow .tok[aria-selected=true]")
    assert chosen.get_attribute("aria-posinset") == chosen.get_attribute("aria-setsize") == str(LONG)
    made = chips.count()
    assert 40 < made < LONG / 2
    inside = """el => {
        const [own, flow] = [el, el.closest('.flow')].map((one) => one.getBoundingClientRect())
        return own.top >= flow.top && own.bottom <= flow.bottom
    }"""
    assert chosen.evaluate(inside)
    chosen.focus()
    for keys, i in (("Home", 0), ("End", LONG - 1), ("Home", 0)):
        page.page.keyboard.press(keys)
        page.settle()
        assert page.state()["i"] == str(i)
        assert chosen.get_attribute("data-i") == str(i) and chosen.evaluate(inside)
    page.page.locator(".flow").first.evaluate("el => { el.scrollTop = el.scrollHeight / 2 }")
    page.until(
        'document.querySelector(\'.flow .tok[data-i="1005"].shaded, .flow .tok[data-i="1005"].hatch\')'
    )
    page.page.keyboard.press("f")
    page.page.keyboard.type("w777")
    page.page.keyboard.press("Enter")
    page.settle()
    assert page.state()["i"] == "777" and chosen.evaluate(inside)


def test_lines_go_on_from_one_stretch_of_a_long_text_to_the_next(page: Explore) -> None:
    go(page, model="long", i=1_024)
    page.page.locator(".flow .tok[aria-selected=true]").focus()
    page.page.keyboard.press("ArrowUp")
    page.settle()
    above = int(page.state()["i"])
    assert 960 < above < 1_024
    page.page.keyboard.press("ArrowDown")
    page.settle()
    assert 1_024 <= int(page.state()["i"]) < 1_064


def test_a_second_visit_asks_the_server_for_no_file_of_the_page(page: Explore) -> None:
    go(page, model="wide")
    go(page, model="wide", layer=0, head=3)
    sent = """performance.getEntriesByType('resource')
        .filter((one) => one.name.includes('/static/') && one.transferSize > 0).map((one) => one.name)"""
    assert page.page.evaluate(sent) == []


def test_a_row_as_a_table_carries_the_certificate_of_its_head(page: Explore) -> None:
    go(page, model="wide", layer=0, head=11)
    page.page.keyboard.press("t")
    assert re.match(r"Certificate: passed z \S+ of 8, t \S+ of 8; huggingface/sdpa", page.text("dialog p"))
    page.page.keyboard.press("Escape")


def test_sums_without_weights_and_missing_predictions_are_said(page: Explore) -> None:
    go(page, ".card", model="sums")
    assert "has no weights here" in page.text(".card h3")
    assert "keep=summary" in page.text(".card")
    assert page.text("#panel-next p") == "A recording keeps no predictions."
    assert page.page.get_by_role("button", name="Run", exact=True).count() == 0
    assert page.page.locator("textarea[readonly]").count() == 1


def test_the_map_of_cross_attention_has_no_distances_and_finds_both_texts(base: str, sheet: Map) -> None:
    sheet.base = base
    sheet.open(model="pair", site=3, head=0)
    assert sheet.page.locator(".largest th").count() == 5
    assert sheet.page.locator(".largest td.far").count() == 0
    assert sheet.text(".largest label") == "First key too"
    field = sheet.page.get_by_label("Go to a position, a cell or a text")
    for asked, side, at in (("e7", "j", "7"), ("d3", "i", "3")):
        field.fill(asked)
        field.press("Enter")
        sheet.settle()
        assert sheet.state()[side] == at
    assert sheet.text(".tools .said") == "1 of 1, a query"
