"""Chapters 10 and 11 of the page, and the glossary: what stands there is Python's, and keys reach it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Locator, Page, expect

from attnscope import lesson
from attnscope.lesson.knockout import KnockOut, Without
from attnscope.lesson.line import in_sight
from attnscope.lesson.norms import ValueNorms
from attnscope.looks.numbers import number, weight

if TYPE_CHECKING:
    from tests.e2e.pages import Walk


@pytest.fixture(scope="module")
def norms() -> ValueNorms:
    return lesson.value_norms()


@pytest.fixture(scope="module")
def out() -> KnockOut:
    return lesson.knock_out()


def part(page: Page, name: str) -> Locator:
    return page.locator(f'section:not([hidden]) [data-live="{name}"]')


def test_the_arcs_are_python_s_weights_and_causal_makes_them_the_same(walk: Walk) -> None:
    """Section 10: width and number both say the weight."""
    page, found = walk.open(10), lesson.arcs()
    pictures = part(page, "arcs").locator("figure")
    expect(pictures).to_have_count(2)
    assert pictures.locator("figcaption .faint").all_inner_texts() == ["invented weights"] * 2
    for mask in found.masks:
        if mask == "causal":
            page.get_by_role("group", name="Mask").get_by_role("button", name="causal").click()
            expect(part(page, "arcs").locator(".said")).to_contain_text(
                "both sentences give the same weights"
            )
        for at, ending in enumerate(found.endings):
            row = found.row(ending, mask).tolist()
            numbers = pictures.nth(at).locator("text.number").all_text_contents()
            assert numbers == [weight(w) for w in row]
            widths = (
                pictures.nth(at)
                .locator("path.arc")
                .evaluate_all("all => all.map(el => Number(el.getAttribute('stroke-width')))")
            )
            others = [w for j, w in enumerate(row) if j != found.asking and w]
            assert widths == pytest.approx([max(0.5, 22 * w) for w in others])


def test_a_link_opens_the_causal_arcs(walk: Walk) -> None:
    page = walk.open(10, mask="causal")
    said = part(page, "arcs").locator(".said")
    expect(said).to_contain_text("whose weight on it is 0: both sentences give the same weights, animal .410")


def test_every_arrow_of_the_pipeline_shows_its_shape_and_every_box_what_it_does(walk: Walk) -> None:
    """Section 10, by keyboard alone."""
    page, found = walk.open(10), lesson.pipeline()
    flow = part(page, "pipeline")
    shapes = flow.locator("text.shape").all_text_contents()
    assert shapes == [" × ".join(map(str, arrow.shape)) for arrow in found.arrows]
    flow.get_by_role("option", selected=True).focus()
    page.keyboard.press("Home")
    for box in found.boxes:
        chosen = flow.get_by_role("option", selected=True)
        expect(chosen).to_be_focused()
        expect(chosen).to_have_attribute("data-box", box.id)
        expect(flow.locator(".flow-says")).to_contain_text(box.says)
        page.keyboard.press("ArrowRight")
    expect(flow.get_by_role("option", selected=True)).to_have_attribute("data-box", "out")


def test_pointing_at_a_box_says_what_it_does_and_does_not_choose_it(walk: Walk) -> None:
    page, says = walk.open(10), {box.id: box.says for box in lesson.pipeline().boxes}
    flow = part(page, "pipeline")
    flow.locator('[data-box="softmax"]').hover()
    expect(flow.locator(".flow-says")).to_contain_text(says["softmax"])
    page.mouse.move(5, 5)
    expect(flow.locator(".flow-says")).to_contain_text(says["scores"])


def test_the_chosen_head_lights_up_on_its_way(walk: Walk) -> None:
    """Section 10: 64 inputs, 4 heads of 16."""
    page, found = walk.open(10), lesson.through_heads()
    heads = part(page, "heads")
    assert heads.locator("text.shape").all_text_contents() == [
        " × ".join(map(str, stage.shape)) for stage in found.stages
    ]
    assert heads.locator("li").all_text_contents() == [f"{one.text} {one.says}" for one in found.stages]
    heads.get_by_role("button", name="0", exact=True).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(heads.locator("rect.chosen")).to_have_count(3 + 1 + 1 + 1)
    assert set(heads.locator("rect.chosen").evaluate_all("all => all.map(el => el.dataset.head)")) == {"2"}
    assert walk.state()["part"] == "2"


def test_the_glossary_is_python_s(walk: Walk) -> None:
    page, entries = walk.open(10), lesson.glossary().entries
    listed = part(page, "glossary")
    assert listed.locator("dt").all_inner_texts() == [entry.term for entry in entries]
    assert listed.locator("dd").all_inner_texts() == [entry.says for entry in entries]


@pytest.mark.parametrize("chapter", [2, 5, 10, 11])
def test_a_glossary_word_shows_its_sentence_by_pointer_and_by_key(walk: Walk, chapter: int) -> None:
    page, says = walk.open(chapter), {entry.term: entry.says for entry in lesson.glossary().entries}
    word = page.locator("section:not([hidden]) .term").first
    sentence, tip = says[str(word.get_attribute("data-term"))], page.locator(".tip.glossary")
    word.hover()
    expect(tip).to_contain_text(sentence)
    page.mouse.move(5, 5)
    expect(tip).to_be_hidden()
    word.focus()
    expect(tip).to_contain_text(sentence)
    page.keyboard.press("Escape")
    expect(tip).to_be_hidden()
    page.keyboard.press("Enter")
    expect(tip).to_be_visible()
    page.keyboard.press("Tab")
    expect(tip.filter(has_text=sentence)).to_be_hidden()
    read = page.evaluate("el => document.getElementById(el.getAttribute('aria-describedby')).textContent",
                         word.element_handle())  # fmt: skip
    assert read == sentence


def test_every_marked_word_is_in_the_glossary_and_one_stop_a_chapter(walk: Walk) -> None:
    page, terms = walk.open(10), [entry.term for entry in lesson.glossary().entries]
    sections = page.locator("section.chapter").evaluate_all(
        """all => all.map(el => [...el.querySelectorAll('[data-term]')].map(
            word => [word.dataset.term, word.getAttribute('tabindex')]))"""
    )
    assert len(sections) == 11
    met = set()
    for words in sections:
        assert {term for term, _ in words} <= set(terms)
        stops = [term for term, stop in words if stop == "0"]
        assert len(stops) == len(set(stops)) == len({term for term, _ in words})
        met |= set(stops)
    assert met == set(terms)


def test_weights_and_products_are_python_s_for_every_head(walk: Walk, norms: ValueNorms) -> None:
    """Section 11: weight times the norm of the projected value, beside the weight."""
    walk.open(11)
    for layer, head in ((0, 5), (3, 2), (5, 2)):
        page = walk.turn(11, row=f"{layer}.{head}.12")
        columns = part(page, "norms").locator(".twin")
        above = columns.locator(".twin-number:first-child .amount").all_text_contents()
        below = columns.locator(".twin-number:last-child .amount").all_text_contents()
        assert above == [weight(float(w)) for w in norms.weights[layer, head, -1]]
        assert below == [weight(float(p)) for p in norms.products[layer, head, -1]]
        assert columns.locator(".twin-char .char").all_text_contents() == [in_sight(c) for c in norms.line]


def test_the_heads_in_which_another_key_comes_first_are_pointed_out(walk: Walk, norms: ValueNorms) -> None:
    page = walk.open(11)
    found = part(page, "norms").get_by_role("group", name="Another key comes first in")
    names = [f"L{one.layer} H{one.head}" for one in norms.changes]
    assert found.get_by_role("button").all_inner_texts() == names
    for name, change in zip(names, norms.changes, strict=True):
        found.get_by_role("button", name=name).click()
        line, last = norms.line, norms.products[change.layer, change.head, -1]
        said = part(page, "norms").locator(".said")
        expect(said).to_contain_text(
            f"is on “{in_sight(line[change.by_weight])}” {change.by_weight}, and yet"
        )
        expect(said).to_contain_text(
            f"{weight(float(last[change.by_product]))} against {weight(float(last[change.by_weight]))}"
        )
    expect(part(page, "norms").locator(".said")).to_contain_text("in 113 of 1,008")


def test_a_key_is_chosen_with_the_arrow_keys(walk: Walk, norms: ValueNorms) -> None:
    page = walk.open(11, row="1.0.23")
    twins = part(page, "norms").get_by_role("listbox")
    twins.get_by_role("option", selected=True).focus()
    page.keyboard.press("ArrowLeft")
    expect(twins.get_by_role("option", selected=True)).to_be_focused()
    key = 22
    told = part(page, "norms").locator(".small.dim")
    expect(told).to_contain_text(f"weight {weight(float(norms.weights[1, 0, -1, key]))} × norm")
    expect(told).to_contain_text(f"× norm {weight(float(norms.norms[1, 0, key]))} =")
    assert walk.state()["row"] == "1.0.22"
    page.keyboard.press("Home")
    assert walk.state()["row"] == "1.0.0"
    page.keyboard.press("ArrowLeft")
    assert walk.state()["row"] == "1.0.0"
    page.keyboard.press("End")
    assert walk.state()["row"] == "1.0.27"


def bars(page: Page) -> list[list[str]]:
    lines = part(page, "knockout").locator(".bars-line").all()
    return [
        [line.locator(".bars-word").inner_text(), *line.locator(".bars-number").all_inner_texts()]
        for line in lines
    ]


def expected(out: KnockOut, found: Without, at: tuple[int, ...]) -> list[list[str]]:
    after = found.after[at]
    most = (after - out.before).abs().topk(3).indices.tolist()
    ids = out.shown.tolist() + [one for one in most if one not in out.shown.tolist()]
    return [
        [in_sight(out.characters[i]), number(float(out.before[i]), 4), number(float(after[i]), 4)]
        for i in ids
    ]


def test_the_next_character_with_and_without_an_edge_is_python_s(walk: Walk, out: KnockOut) -> None:
    """Section 11, both ways of taking an edge out."""
    walk.open(11)
    for layer, head, key in ((0, 2, 26), (2, 4, 19), (4, 3, 6)):
        for way, found in (("share", out.shared), ("stay", out.stayed)):
            page = walk.turn(11, cut=f"{layer}.{head}.{key}", way=way)
            at = (layer, head, key)
            assert bars(page) == expected(out, found, at)
            said = part(page, "knockout").locator(".said")
            expect(said).to_contain_text(f"the probabilities move by {number(float(found.moved[at]), 4)}.")
            moved = part(page, "knockout").locator(".twin-number:last-child .amount").all_text_contents()
            assert moved == [weight(float(x)) for x in found.moved[layer, head]]


def test_the_next_character_without_a_whole_head_is_python_s(walk: Walk, out: KnockOut) -> None:
    """Section 11, by keyboard alone."""
    page = walk.open(11)
    knockout = part(page, "knockout")
    cells = knockout.get_by_role("gridcell").all_text_contents()
    assert cells == [weight(float(x)) for row in out.heads.moved for x in row]
    knockout.get_by_role("button", name="one weight").focus()
    page.keyboard.press("ArrowRight")
    knockout.get_by_role("gridcell", selected=True).focus()
    for key in ("ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    assert walk.state()["cut"] == "1.3.26"
    assert walk.state()["out"] == "head"
    said, moved = knockout.locator(".said"), number(float(out.heads.moved[1, 3]), 4)
    expect(said).to_contain_text(f"Without the whole of layer 1, head 3 the probabilities move by {moved}")
    assert bars(page) == expected(out, out.heads, (1, 3))


def test_a_large_weight_changes_little_and_a_small_one_more_on_the_page(walk: Walk, out: KnockOut) -> None:
    page = walk.open(11)
    assert part(page, "found").inner_text() == out.says
    expect(part(page, "knockout").locator(".said")).to_contain_text("Without the weight .551 on “h” 26")
    page.get_by_role("button", name="the small one that changes more").click()
    expect(part(page, "knockout").locator(".said")).to_contain_text("Without the weight .092 on “h” 19")
    assert walk.state()["cut"] == "2.4.19"
    page.go_back()
    expect(part(page, "knockout").locator(".said")).to_contain_text("Without the weight .551 on “h” 26")


def test_a_link_with_a_wrong_place_shows_the_first(walk: Walk) -> None:
    walk.open(11)
    for wrong in ("9.0.0", "0.9.0", "0.0.99", "a.b.c", "1.2", "", "-1.0.0", "1e1.0.0"):
        walk.turn(11, row="1.0.3", cut="1.2.3", out="head")
        page = walk.turn(11, row=wrong, cut=wrong, out="nothing", way="up")
        expect(part(page, "norms").locator(".said")).to_contain_text("Layer 0, head 5")
        expect(part(page, "knockout").locator(".said")).to_contain_text("Without the weight .551 on “h” 26")


@pytest.mark.parametrize("chapter", [10, 11])
def test_nothing_scrolls_sideways(walk: Walk, chapter: int) -> None:
    page = walk.open(chapter)
    for width in (390, 1024):
        page.set_viewport_size({"width": width, "height": 844})
        page.wait_for_timeout(200)
        assert page.evaluate("document.documentElement.scrollWidth") == width


def test_the_brackets_of_the_formula_are_as_tall_as_what_they_hold(walk: Walk) -> None:
    page = walk.open(10)
    heights = page.locator("section:not([hidden]) math:has([stretchy=true])").first.evaluate(
        """math => ['[stretchy=true]', 'mfrac']
            .map(one => math.querySelector(one).getBoundingClientRect().height)"""
    )
    assert heights[0] >= 0.8 * heights[1]


def test_paper_is_light_and_the_screen_is_dark_again_afterwards(walk: Walk) -> None:
    page = walk.open(10, theme="dark")
    animal = part(page, "arcs").locator("rect.word").nth(1)
    dark = animal.get_attribute("fill")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    light = animal.get_attribute("fill")
    assert light != dark
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert animal.get_attribute("fill") == dark


def test_sliding_over_the_bars_chooses_the_key_under_the_pointer(walk: Walk) -> None:
    page = walk.open(11, row="1.0.23")
    columns = part(page, "norms").get_by_role("option")
    columns.nth(3).hover()
    page.mouse.down()
    columns.nth(9).hover()
    page.mouse.up()
    assert walk.state()["row"] == "1.0.9"
