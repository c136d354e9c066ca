"""The recipe: JSON that the page reads, the same as the one that the page's own tests read."""

from __future__ import annotations

import json
from pathlib import Path

from attnscope.lesson.walk import first_sheet, recipe
from attnscope.lesson.walk.rules import AXES, RULES
from attnscope.lesson.walk.sentences import FORM, STAGES, STEPS

KEPT = Path(__file__).parents[2] / "js" / "walk.json"


def kept() -> str:
    return (
        json.dumps({"recipe": recipe(), "sheet": first_sheet().to_dict()}, ensure_ascii=False, indent=1)
        + "\n"
    )


def test_the_recipe_of_the_pages_tests_is_this_one() -> None:
    assert KEPT.read_text("utf-8") == kept(), f"write kept() of {Path(__file__).name} to {KEPT.name}"


def test_the_recipe_holds_no_number_that_json_has_not() -> None:
    assert json.loads(json.dumps(recipe(), allow_nan=False)) == recipe()


def test_every_grid_has_its_indices_and_its_form() -> None:
    assert set(FORM) | {"shifts"} == set(AXES)
    assert set(RULES) == set(AXES) - {"x", "wq", "wk", "wv"}


def test_every_step_belongs_to_a_stage_and_the_stages_follow_each_other() -> None:
    order = [name for name, *_ in STAGES]
    places = [order.index(rule.stage) for rule in STEPS]
    assert places == sorted(places)
    assert set(places) == set(range(6))
