"""Section 2: every number and every sentence of the walk on screen is Python's, step by step."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from attnscope.lesson.walk import Sheet, first_sheet, walk
from attnscope.lesson.walk.sentences import FORM
from attnscope.lesson.walk.sheet import Edit
from attnscope.lesson.walk.writing import FORMS

if TYPE_CHECKING:
    from attnscope.lesson.walk import Walk as Steps
    from tests.e2e.pages import Walk

STAGES = ["project", "score", "scale", "mask", "normalise", "mix"]
# the column in which a grid's numbers stand
COLUMN = {
    "q": 0, "k": 0, "v": 0, "products": 1, "scaled": 2, "scores": 3, "exps": 4, "sums": 4, "weights": 4,
    "wholes": 4, "parts": 5, "out": 5,
}  # fmt: skip
ALL_QUERIES = {"products", "scaled", "scores", "weights", "out"}


def written(made: Steps, name: str) -> str:
    """A number of the walk as the page writes it."""
    grid, at = name.split(":")
    value = made.values.at(grid, *map(int, at.split(",")))
    if grid == "scores":
        return "−∞" if value == float("-inf") else "✓"
    return FORMS[FORM.get(grid, "three")](value)


def fits(text: str, made: Steps, name: str) -> bool:
    """Whether it is the number as Python writes it, or, where room is short, the same number rounded."""
    whole = written(made, name)
    if text == whole:
        return True
    value = made.values.at(name.split(":")[0], *map(int, name.split(":")[1].split(",")))
    digits, _, power = text.replace("−", "-").replace(",", "").partition("e")
    last = len(digits.partition(".")[2]) - int(power or 0)
    near = abs(float(f"{digits}e{power or 0}") - value) <= 0.5 * 10.0**-last * (1 + 1e-9)
    return near and len(text) < max(len(whole), 6)


def wanted(made: Steps, at: int) -> set[str]:
    """The names of the numbers that are on screen after so many steps."""
    ends = [max(step.number for step in made.steps if step.stage == stage) for stage in STAGES]
    due = {
        f"{grid}:{','.join(map(str, place))}": step.number
        for step in made.steps
        for grid, place in step.results
    }
    names = set()
    for grid, column in COLUMN.items():
        for place in (
            made.values.grids[grid].isfinite().logical_or(made.values.grids[grid].isinf()).nonzero().tolist()
        ):
            name = f"{grid}:{','.join(map(str, place))}"
            shown = grid in {"q", "k", "v", *ALL_QUERIES} or place[0] == made.query
            if shown and (grid in {"q", "k", "v"} or at >= due.get(name, ends[column])):
                names.add(name)
    return names


def compare(page: Walk, made: Steps, at: int) -> None:
    """Hold everything on screen against Python's walk."""
    read = page.numbers()
    assert set(read) == wanted(made, at), f"step {at}"
    wrong = {name: texts for name, texts in read.items() for text in texts if not fits(text, made, name)}
    assert wrong == {}, f"step {at}"
    step = made.steps[at - 1]
    assert page.text(".step-says") == step.text
    assert page.text(".say .place") == f"{step.stage.capitalize()}, {step.index} of {step.of}"
    assert page.place() == f"Step {at} of {len(made.steps)} · paused"
    marked = set(
        page.page.locator(".walk .row:not(:has(.m)) .now").evaluate_all(
            "all => all.map(el => (el.dataset.ref ?? el.firstElementChild.dataset.ref))"
        )
    )
    results = {f"{grid}:{','.join(map(str, place))}" for grid, place in step.results}
    assert marked and marked <= results | {name.rpartition(",")[0] + ",0" for name in results}


@pytest.mark.parametrize("mask", ["none", "causal"])
def test_every_number_of_every_step_is_that_of_python(walk: Walk, mask: str) -> None:
    made = steps_of(replace(first_sheet(), causal=mask == "causal"), 2)
    walk.open(step=1, q=2, mask=mask)
    for at in range(1, len(made.steps) + 1):
        compare(walk, made, at)
        if at < len(made.steps):
            walk.press("ArrowRight")
    assert walk.page.locator(".step").is_disabled()
    for at in range(len(made.steps) - 1, 0, -1):
        walk.press("ArrowLeft")
        assert walk.page.locator(".step-says").inner_text() == made.steps[at - 1].text
    compare(walk, made, 1)


def steps_of(sheet: Sheet, query: int) -> Steps:
    return walk_of(sheet, query)


walk_of = walk  # the fixture has the name


@pytest.mark.parametrize("query", [0, 1, 3])
def test_every_query_ends_in_the_numbers_of_python(walk: Walk, query: int) -> None:
    made = walk_of(first_sheet(), query)
    walk.open(step=29, q=query)
    compare(walk, made, 29)


def test_edited_cells_lead_to_the_numbers_of_python_at_once(walk: Walk) -> None:
    sheet = first_sheet()
    walk.open(step=29, q=2)
    edits = [("k", 1, 0, -1.5), ("k", 3, 1, 2.0), ("q", 2, 1, 0.25), ("v", 0, 0, 12.125)]
    for grid, i, c, value in edits:
        name = {"q": "query", "k": "key", "v": "value"}[grid]
        walk.type(f"{name} of {sheet.words[i]}, component {c + 1}", str(value))
        sheet = replace(sheet, edited=(*sheet.edited, Edit(grid, i, c, value)))
        compare(walk, walk_of(sheet, 2), 29)
    walk.page.get_by_label("Scale by √d").uncheck()
    compare(walk, walk_of(replace(sheet, scale=False), 2), 29)


def test_x_and_the_matrices_lead_to_all_that_follows(walk: Walk) -> None:
    sheet = first_sheet()
    walk.open(step=1, q=2)
    walk.page.get_by_role("button", name="Projections").click()
    walk.type("x of sat, component 1", ".5")
    walk.type("Wk, row 2, column 2", "-3")
    x = [list(row) for row in sheet.x]
    wk = [list(row) for row in sheet.wk]
    x[2][0], wk[1][1] = 0.5, -3.0
    sheet = Sheet(sheet.words, x, sheet.wq, wk, sheet.wv)  # type: ignore[arg-type]
    walk.page.locator(".player .segs").focus()
    walk.press("End")
    compare(walk, walk_of(sheet, 2), 29)
    read = walk.numbers(".projections")
    assert read["x:2,0"] == {".5"} and read["wk:1,1"] == {"−3"}


@pytest.mark.parametrize(("n", "d"), [(2, 1), (5, 3), (8, 8)])
def test_other_sizes_show_the_numbers_of_python_too(walk: Walk, n: int, d: int) -> None:
    words = ("the", "cat", "sat", "down", "on", "a", "warm", "mat")[:n]
    grids = [[[((7 * r + 3 * c + s) % 9 - 4) / 4 for c in range(d)] for r in range(n)] for s in (1, 2, 5)]
    x = [[float(r == c) for c in range(n)] for r in range(n)]
    sheet = Sheet(words, x, *grids, causal=True)  # type: ignore[arg-type]
    text = {
        name: "*".join("_".join(f"{value:g}" for value in row) for row in rows)
        for name, rows in zip(("wq", "wk", "wv", "x"), (*grids, x), strict=True)
    }
    made = walk_of(sheet, n - 1)
    walk.page.set_viewport_size({"width": 2200, "height": 1400})
    walk.open(step=len(made.steps), q=n - 1, mask="causal", words="_".join(words), **text)
    compare(walk, made, len(made.steps))
    assert walk.page.locator(".walk").get_attribute("data-fit") == "wide"
