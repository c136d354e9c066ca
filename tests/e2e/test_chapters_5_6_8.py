"""Chapters 5, 6 and 8 of the page: what stands there is what Python computes, and keys reach all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Locator, Page, expect

from attnscope import lesson
from attnscope.looks.numbers import count, number, weight

if TYPE_CHECKING:
    from tests.e2e.pages import Walk


def grid(page: Page, label: str) -> Locator:
    """The grid of that name in the chapter that is shown."""
    return page.get_by_role("grid", name=label, exact=True)


def spoken(found: Locator) -> list[str]:
    """What each cell of a grid says of itself, row after row."""
    return found.get_by_role("gridcell").evaluate_all(
        "all => all.map(cell => cell.getAttribute('aria-label'))"
    )


def written(found: Locator) -> list[str]:
    """What stands on each cell of a grid, row after row."""
    return found.get_by_role("gridcell").evaluate_all("all => all.map(cell => cell.textContent)")


def test_the_designed_heads_on_the_page_are_python_s_at_every_line_and_worth(walk: Walk) -> None:
    """Section 5: .980 and .493 are read on the cells."""
    found = lesson.designed_heads()
    titles = ("Head A: the position before", "Head B: copies of the same word")
    walk.open(5)
    for at, step in ((1, 0), (2, 8), (3, 5), (0, 5)):
        line = found.lines[at]
        page = walk.turn(5, line=at, worth=count(int(found.worths[step])))
        for head, title in enumerate(titles):
            t = len(line.words)
            want = [
                weight(float(line.weights[step, head, i, j])) if j <= i else ""
                for i in range(t)
                for j in range(t)
            ]
            assert written(grid(page, title)) == want
    a, b = (written(grid(page, title)) for title in titles)
    assert a[3 * 6 + 2] == ".980" and a[0] == "1.000"
    assert b[5 * 6 + 5] == ".493" and b[5 * 6 + 1] == ".493"
    says = page.locator(".arith").all_inner_texts()
    assert "148.41 ÷ 151.41 = .980" in says[0]
    assert "148.41 ÷ 300.83 = .493" in says[1]


def test_a_cell_is_chosen_by_keyboard_and_its_arithmetic_follows(walk: Walk) -> None:
    page = walk.open(5)
    a = grid(page, "Head A: the position before")
    a.locator("[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    assert walk.state()["a"] == "3.3"
    expect(page.locator(".arith").first).to_contain_text("no match, score 0, exp 0 = 1.00")
    focused = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert focused == "query 3 not, key 3 not, weight .007"
    expect(page.locator(".grid .tip:visible")).to_contain_text(
        number(float(lesson.designed_heads().weights[0, 3, 3]), 7)
    )
    page.keyboard.press("ArrowRight")
    expect(page.locator(".arith").first).to_contain_text("its weight is exactly 0")
    page.keyboard.press("Escape")
    expect(page.locator(".grid .tip:visible")).to_have_count(0)


def test_the_worth_of_a_match_is_a_slider_for_the_keyboard(walk: Walk) -> None:
    page = walk.open(5)
    slider = page.get_by_label("A match is worth")
    slider.focus()
    page.keyboard.press("Home")
    assert walk.state()["worth"] == "0"
    a = written(grid(page, "Head A: the position before"))
    assert [a[5 * 6 + j] for j in range(6)] == [".167"] * 6
    page.keyboard.press("End")
    assert slider.get_attribute("aria-valuetext") == "10"
    page.get_by_label("Line").select_option("1")
    assert walk.state()["line"] == "1"
    rows = grid(page, "Head B: copies of the same word").get_by_role("rowheader")
    assert rows.all_inner_texts() == ["a", "rose", "is", "a", "rose", "is", "a", "rose"]


def test_the_split_shows_the_same_number_in_both_pictures(walk: Walk) -> None:
    """Section 5: (1, 10, 64) is (1, 4, 10, 16) and back."""
    found = lesson.split()
    page = walk.open(5, token=7)
    strip = written(grid(page, "The query as one run of numbers"))
    heads = written(grid(page, "The query as four heads"))
    want = [number(float(x), 3) for x in found.queries[0, 7]]
    assert strip == want == heads
    assert page.locator(".split").inner_text().count("(1, 4, 10, 16)") == 1
    grid(page, "The query as four heads").get_by_role("gridcell").nth(50).click()
    assert walk.state()["number"] == "50"
    expect(page.locator(".found")).to_have_text(
        f"Number 50 of this query, {want[50]}, is number 2 of head 3, {want[50]}."
    )


def test_each_head_of_chapter_5_has_its_own_weights_and_all_64_inputs(walk: Walk) -> None:
    found = lesson.split()
    page = walk.open(5)
    for head in range(4):
        want = [
            f"query {i}, key {j}, "
            + (f"weight {weight(float(found.weights[head, i, j]))}" if j <= i else "not visible")
            for i in range(10)
            for j in range(10)
        ]
        assert spoken(grid(page, f"Head {head}")) == want
    moved = written(grid(page, "As the layer makes them"))
    assert moved == [weight(float(x)) for x in found.influence.flatten()]
    assert written(grid(page, "As slices of the input")).count("0") == 4 * 48


def outputs(page: Page, way: str) -> list[list[str]]:
    """The rows of a table of outputs: word, numbers, moved by."""
    rows = page.get_by_role("table", name=f"Outputs, {way}").locator("tbody tr")
    read: list[list[str]] = rows.evaluate_all(
        "all => all.map(row => [...row.cells].map(cell => cell.textContent))"
    )
    return read


def expected_outputs(found: Any, way: int, order: list[int]) -> list[list[str]]:
    at = found.orders.tolist().index(order)
    return [
        [
            found.words[word],
            *(number(float(x), 2) for x in found.out[way, at, place]),
            number(float(found.by_word[way, at, place]), 4),
        ]
        for place, word in enumerate(order)
    ]


def test_shuffled_outputs_on_the_page_are_python_s(walk: Walk) -> None:
    """Section 6: without positions the same outputs, with them or a causal mask others."""
    found = lesson.shuffle()
    walk.open(6)
    for order in ([2, 1, 0, 3, 4], [4, 3, 2, 1, 0], [0, 1, 2, 3, 4]):
        page = walk.turn(6, order="".join(map(str, order)))
        for way, name in enumerate(found.names):
            assert outputs(page, name) == expected_outputs(found, way, order)
    page = walk.turn(6, order="43210")
    verdicts = page.locator(".ways p").all_inner_texts()
    assert verdicts[0].endswith("the same outputs, shuffled.")
    assert all(verdict.endswith("the order has changed the outputs.") for verdict in verdicts[1:])


def test_tokens_are_swapped_by_keyboard_and_shuffled_by_a_button(walk: Walk) -> None:
    found = lesson.shuffle()
    page = walk.open(6)
    chips = page.locator(".deck .tok")
    assert chips.all_inner_texts() == ["man", "bites", "dog", "at", "noon"]
    page.get_by_role("button", name="Swap dog and at").focus()
    page.keyboard.press("Enter")
    assert chips.all_inner_texts() == ["man", "bites", "at", "dog", "noon"]
    assert walk.state()["order"] == "21304"
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Swap at and dog"
    expect(page.locator("#live")).to_contain_text("man bites at dog noon")
    for way, name in enumerate(found.names):
        assert outputs(page, name) == expected_outputs(found, way, [2, 1, 3, 0, 4])
    page.get_by_role("button", name="Shuffle").click()
    shuffled = walk.state().get("order", "21034")
    assert shuffled != "21304" and sorted(shuffled) == list("01234")
    page.get_by_role("button", name="First order").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.textContent") == "Shuffle"
    assert chips.all_inner_texts() == list(found.words)
    page.go_back()
    expect(page.locator(".deck .tok").first).to_have_text(found.words[int(shuffled[0])])


def test_the_column_of_the_waves_is_dragged_and_moved_by_keys(walk: Walk) -> None:
    """Section 6: 1.0, .966, .734, .590, .490 stand there for position 10."""
    waves, learned = lesson.sinusoids(), lesson.learned_positions()
    page = walk.open(6)
    rows = page.locator(".waves table.nums tbody tr")

    def read(line: int) -> list[str]:
        return rows.nth(line).locator("td").all_inner_texts()

    assert read(1) == ["1.000", ".966", ".734", ".590", ".490"]
    plane = page.get_by_role("slider", name="Position in the picture of waves")
    plane.scroll_into_view_if_needed()
    box = plane.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 5, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 30.5 / 64, box["y"] + 40)
    page.mouse.up()
    assert walk.state()["p"] == "30"
    assert read(1) == [number(float(waves.similarity[30, other]), 3) for other in waves.others]
    assert read(2) == [number(float(learned.similarity[30, other]), 3) for other in waves.others]
    plane.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
    assert plane.get_attribute("aria-valuetext") == "position 31"
    page.keyboard.press("End")
    assert walk.state()["p"] == "63"
    page.mouse.move(box["x"] + box["width"] * 2.5 / 64, box["y"] + box["height"] * 5.5 / 64)
    expect(page.locator(".wave-read")).to_have_text(
        f"Position 2, number 5 of its vector: {number(float(waves.table[2, 5]), 7)}"
    )


def test_query_and_key_moved_together_keep_their_product(walk: Walk) -> None:
    """Section 6: the product depends on i - j only, to 1e-6."""
    found = lesson.rotations()
    page = walk.open(6)
    product = page.locator(".product b")

    def read() -> float:
        text = product.inner_text().replace("−", "-")
        return float(text)

    assert product.inner_text() == number(float(found.products[9, 6]), 7)
    first = read()
    together = page.get_by_label("Both together")
    together.focus()
    for step in range(1, 15):
        page.keyboard.press("ArrowRight")
        assert product.inner_text() == number(float(found.products[9 + step, 6 + step]), 7)
        assert abs(read() - first) < 1e-6
    page.keyboard.press("End")
    assert {name: walk.state()[name] for name in ("i", "j")} == {"i": "23", "j": "20"}
    page.get_by_label("Query at i").focus()
    page.keyboard.press("ArrowLeft")
    assert abs(read() - first) > 0.01
    parts = [number(float(x), 3) for x in found.parts[22, 20]]
    assert page.locator(".dial b").all_inner_texts() == parts
    products = grid(page, "Products of every query and key position")
    products.get_by_role("gridcell").nth(5 * 24 + 5).click()
    assert {name: walk.state()[name] for name in ("i", "j")} == {"i": "5", "j": "5"}
    assert written(products) == [number(float(x), 3) for x in found.products.flatten()]


def test_the_slopes_and_the_two_sentences_are_python_s(walk: Walk) -> None:
    found, order = lesson.slopes(), lesson.word_order()
    page = walk.open(6, slope=3)
    table = page.locator(".sloped table tbody tr")
    assert table.nth(3).get_attribute("aria-current") == "true"
    for head in range(8):
        want = [weight(float(found.weights[head, 15, 15 - back])) for back in (0, 1, 2, 4, 8)]
        assert table.nth(head).locator("td").all_inner_texts() == [*want, number(float(found.reach[head]), 2)]
    says = spoken(grid(page, "Weights of a head by its slope alone"))
    assert says[15 * 16 + 15].endswith(weight(float(found.weights[3, 15, 15])))
    rows = page.locator("[data-live=order] tbody tr")
    for i in range(3):
        assert rows.nth(i).locator("td").all_inner_texts() == [number(float(x), 4) for x in order.moved[:, i]]


def test_the_code_of_chapter_8_is_the_code_that_runs(walk: Walk) -> None:
    """Section 8: code with shapes, 16,640 parameters, nothing above the diagonal, about 1.2e-7."""
    found = lesson.module()
    page = walk.open(8)
    lines = page.locator(".code tbody tr").evaluate_all(
        "all => all.map(row => [...row.cells].map(cell => cell.textContent))"
    )
    assert [(code.rstrip(), shape) for code, shape in lines] == [
        (line.code, line.shape) for line in found.code
    ]
    parameters = page.locator("[data-live=parameters] tbody tr").last
    assert parameters.inner_text().split() == ["Together", "16,640"]
    values = page.locator(".held dd").all_inner_texts()
    assert values == [
        "0",
        *(f"{x:.1e}".replace("e-0", "e−") for x in (found.difference, found.short_difference)),
    ]


def test_the_four_grids_of_chapter_8_are_python_s_for_both_sequences(walk: Walk) -> None:
    found = lesson.module()
    page = walk.open(8)
    for sequence in range(2):
        if sequence:
            page.get_by_role("group", name="Sequence").get_by_role("button", name="0").focus()
            page.keyboard.press("ArrowRight")
            assert walk.state()["sequence"] == "1"
        for head in range(4):
            want = [
                f"query {i}, key {j}, "
                + (
                    f"weight {weight(float(found.weights[sequence, head, i, j]))}"
                    if j <= i
                    else "not visible"
                )
                for i in range(12)
                for j in range(12)
            ]
            assert spoken(grid(page, f"Head {head}")) == want


@pytest.mark.parametrize(
    ("chapter", "wrong"),
    [
        (5, {"line": "9", "worth": "x", "a": "9.9", "b": "1.2.3", "token": "-1", "number": "64"}),
        (6, {"order": "00123", "p": "64", "i": "1e9", "j": "", "slope": "8"}),
        (8, {"sequence": "2"}),
    ],
)
def test_wrong_parameters_of_a_link_fall_back(walk: Walk, chapter: int, wrong: dict[str, str]) -> None:
    right = walk.open(chapter).locator("section.chapter:visible").inner_text()
    assert walk.turn(chapter, **wrong).locator("section.chapter:visible").inner_text() == right


@pytest.mark.parametrize("chapter", [5, 6, 8])
def test_a_chapter_fits_a_phone_and_a_small_desk(walk: Walk, chapter: int) -> None:
    page = walk.open(chapter)
    for width in (390, 1024, 1440):
        page.set_viewport_size({"width": width, "height": 844})
        page.wait_for_timeout(120)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_prose_of_a_chapter_holds_no_exclamation_mark(walk: Walk) -> None:
    walk.open(5)
    for chapter in (5, 6, 8):
        assert "!" not in walk.turn(chapter).locator("section.chapter:visible").inner_text()


def test_what_a_change_does_is_announced(walk: Walk) -> None:
    """Chapters 5 to 8: what the eye sees change is said to those who do not see it."""
    live = walk.open(5).locator("#live")
    for chapter, control, key, said in (
        (5, "Token", "ArrowRight", "Number 37 of this query, "),
        (5, "A match is worth", "End", "exp 10 = 22,026.47"),
        (6, "Key at j", "ArrowRight", "i − j = 2. All 22 places"),
        (6, "Head, by its slope", "ArrowRight", "With slope 1/4 the key one back"),
        (7, "Window", "ArrowLeft", "cells that a window of 256 computes: "),
    ):
        walk.turn(chapter).get_by_label(control, exact=True).focus()
        walk.press(key)
        expect(live).to_contain_text(said)
    walk.turn(8).get_by_role("group", name="Sequence").get_by_role("button", name="0").focus()
    walk.press("ArrowRight")
    expect(live).to_have_text("Weights of sequence 1.")


def test_the_tokens_of_chapter_6_stand_in_one_line_on_a_phone(walk: Walk) -> None:
    page = walk.open(6)
    page.set_viewport_size({"width": 390, "height": 844})
    tops = page.locator(".deck .tok").evaluate_all("all => all.map(el => el.getBoundingClientRect().top)")
    assert len(tops) == 5 and len(set(tops)) == 1
