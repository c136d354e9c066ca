"""The recipe: rules, steps, sentences and spare words as one JSON value, all that the page needs to walk."""

from __future__ import annotations

import math
from typing import Any

from attnscope.lesson.walk import beginning, sheet, word
from attnscope.lesson.walk.change import CHANGE, GUESS
from attnscope.lesson.walk.facts import COUNTS, FEW
from attnscope.lesson.walk.looking import ABOUT, SAME
from attnscope.lesson.walk.rules import AXES, HIDDEN, RULES
from attnscope.lesson.walk.sentences import FORM, LOOK, STAGES, STEPS, Case, StepRule
from attnscope.lesson.walk.values import FAR, ORDINALS


def recipe() -> dict[str, Any]:
    """Return the recipe as JSON values. What each part means is said where Python keeps it."""
    return {
        "version": 1,
        "axes": {grid: list(indices) for grid, indices in AXES.items()},
        "rules": RULES,
        "hidden": list(HIDDEN),
        "roots": [math.sqrt(d) for d in range(1, sheet.DEPTH[1] + 1)],
        "forms": FORM,
        "stages": [{"name": name, "title": title, "part": part} for name, title, part in STAGES],
        "steps": [_step(rule) for rule in STEPS],
        "look": _group(LOOK),
        "change": CHANGE,
        "guess": GUESS,
        "words": {"counts": list(COUNTS), "ordinals": list(ORDINALS)},
        "limits": {
            "words": list(sheet.WORDS),
            "depth": list(sheet.DEPTH),
            "width": list(sheet.WIDTH),
            "characters": word.CHARACTERS,
            "largest": sheet.LARGEST,
            "far": FAR,
            "few": FEW,
            "same": SAME,
            "about": ABOUT,
        },
        "spare": {
            "words": list(beginning.WORDS),
            "wq": [list(row) for row in beginning.WQ],
            "wk": [list(row) for row in beginning.WK],
            "wv": [list(row) for row in beginning.WV],
        },
    }


def first_sheet() -> sheet.Sheet:
    """Return the lesson's own sheet: the cat sat down, d = 2, no mask."""
    n = beginning.FIRST
    wq, wk, wv = (rows[:n] for rows in (beginning.WQ, beginning.WK, beginning.WV))
    return sheet.Sheet(beginning.WORDS[:n], beginning.identity(n), wq, wk, wv)


def _step(rule: StepRule) -> dict[str, Any]:
    return {
        "stage": rule.stage,
        "part": next(part for name, _, part in STAGES if name == rule.stage),
        "over": rule.over,
        "name": rule.name,
        "results": list(rule.results),
        "sentence": [_group(group) for group in rule.sentence],
        "guess": list(rule.guess),
        "ask": _group(rule.ask),
    }


def _group(cases: tuple[Case, ...]) -> list[dict[str, Any]]:
    return [{"when": case.when, "say": case.say} for case in cases]
