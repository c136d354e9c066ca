"""The arithmetic of the walk as data: one rule for each grid, in index notation.

The page evaluates these rules itself, so that an edit follows at once; here they say what a number is made
of. Python's own numbers come from `core`, and a test holds the two against each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attnscope.lesson.walk.values import FAR, Values

Ref = tuple[str, tuple[int, ...]]
"""One number: its grid and its place there."""

Env = dict[str, int]
"""The value of each index, by its letter."""

Rule = list[Any]
"""[operation, ...], [grid, *indices], or a number."""

AXES = {
    "x": "wa", "wq": "ac", "wk": "ac", "wv": "ac", "q": "ic", "k": "ic", "v": "ic",
    "products": "ij", "scaled": "ij", "scores": "ij", "peaks": "i", "shifts": "i", "gaps": "ij", "exps": "ij",
    "sums": "i", "weights": "ij", "wholes": "i", "parts": "ijc", "out": "ic",
}  # fmt: skip
"""The indices of each grid: i, j are positions, w is a row of x, a its column, c a component of q, k, v."""

HIDDEN = ("peaks", "shifts", "gaps")
"""Grids that have no cell on the page: what is made of them is traced through them."""


def _projection(matrix: str) -> Rule:
    return ["sum", "a", ["times", ["x", "w", "a"], [matrix, "a", "c"]]]


RULES: dict[str, Rule] = {
    "q": _projection("wq"),
    "k": _projection("wk"),
    "v": _projection("wv"),
    "products": ["sum", "c", ["times", ["q", "i", "c"], ["k", "j", "c"]]],
    "scaled": [
        "where",
        "scaled",
        ["times", ["products", "i", "j"], ["over", 1, ["root"]]],
        ["products", "i", "j"],
    ],
    "scores": ["where", "visible", ["scaled", "i", "j"], "-inf"],
    "peaks": ["max", "j", ["scores", "i", "j"]],
    "shifts": ["where", "far", ["peaks", "i"], 0],
    "gaps": ["minus", ["scores", "i", "j"], ["shifts", "i"]],
    "exps": ["exp", ["gaps", "i", "j"]],
    "sums": ["sum", "j", ["exps", "i", "j"]],
    "weights": ["over", ["exps", "i", "j"], ["sums", "i"]],
    "wholes": ["sum", "j", ["weights", "i", "j"]],
    "parts": ["times", ["weights", "i", "j"], ["v", "j", "c"]],
    "out": ["sum", "j", ["parts", "i", "j", "c"]],
}
"""In the order of evaluation. A detached cell of q, k or v has its own number instead of its rule's."""


def operands(values: Values, ref: Ref) -> list[Ref]:
    """Return the numbers that one number is made of, in the order of its rule; none for an input."""
    grid, at = ref
    if grid not in RULES or (grid, *at) in values.sheet.detached:
        return []
    env = dict(zip(AXES[grid], at, strict=True))
    return list(dict.fromkeys(_found(values, RULES[grid], env)))


def _found(values: Values, rule: Any, env: Env) -> Iterator[Ref]:
    if not isinstance(rule, list) or rule == ["root"]:
        return
    head, *rest = rule
    if head in AXES:
        ref = head, tuple(place(values, index, env) for index in rest)
        yield from operands(values, ref) if head in HIDDEN else [ref]
    elif head in ("sum", "max"):
        for size in range(values.sizes[rest[0]]):
            yield from _found(values, rest[1], env | {rest[0]: size})
    elif head == "where":
        yield from _found(values, rest[1 if holds(values, rest[0], env) else 2], env)
    else:
        for one in rest:
            yield from _found(values, one, env)


def place(values: Values, index: str, env: Env) -> int:
    """Return the number that an index stands for: w is the row of the word at i, a digit is itself."""
    if index == "w" and "w" not in env:
        return values.sheet.row(env["i"])
    return int(index) if index.isdigit() else env[index]


def holds(values: Values, condition: str, env: Env) -> bool:
    """Return whether a rule's condition holds."""
    if condition == "scaled":
        return values.sheet.scale
    if condition == "visible":
        return values.visible(env["i"], env["j"])
    return abs(values.at("peaks", env["i"])) > FAR
