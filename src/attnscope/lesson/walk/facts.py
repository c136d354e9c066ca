"""What can be asked of a sheet by name: the conditions of sentences, and the words that say them."""

from __future__ import annotations

from attnscope.lesson.walk.looking import look
from attnscope.lesson.walk.rules import Env
from attnscope.lesson.walk.values import Values
from attnscope.lesson.walk.writing import SMALLEST, thousandths

COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight")
_NOW = ("", "now ", "still ")
FEW = 12  # so many numbers still make a sentence


def holds(values: Values, condition: str, env: Env) -> bool:
    """Return whether every word of "visible and not self" holds; the empty condition always does."""
    return all(_holds(values, part, env) for part in condition.split(" and ") if part)


def fact(values: Values, name: str, env: Env) -> str:
    """Return a fact as a text: d, now, sees, shown (what rounded weights add up to), tops."""
    i = env["i"]
    if name == "d":
        return str(values.sheet.d)
    if name == "now":
        return _NOW[env["now"]]
    if name == "sees":
        return COUNTS[look(values, i).sees]
    if name == "shown":
        shown = _shown(values, i)
        return f"{shown // 1000 or ''}.{shown % 1000:03d}"
    names = ["itself" if j == i else values.labels[j] for j in look(values, i).tops]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def top(values: Values, i: int) -> int:
    """Return the key that position i looks at most, the first of several."""
    return look(values, i).tops[0]


def _holds(values: Values, part: str, env: Env) -> bool:
    if part.startswith("not "):
        return not _holds(values, part.removeprefix("not "), env)
    name, _, what = part.partition(" ")
    i, j = env["i"], env.get("j", -1)
    if name == "looks":
        return look(values, i).kind == what
    if name == "typed":
        return any(
            grid == what and at == env["i" if what == "q" else "j"] for grid, at, _ in values.sheet.detached
        )
    if name == "any":
        return any(grid == what for grid, _, _ in values.sheet.detached)
    return {
        "visible": lambda: values.visible(i, j),
        "hidden": lambda: not values.visible(i, j),
        "self": lambda: i == j,
        "first": lambda: j == 0,
        "last": lambda: j == values.sheet.n - 1,
        "scaled": lambda: values.sheet.scale,
        "causal": lambda: values.sheet.causal,
        "shifted": lambda: values.at("shifts", i) != 0,
        "gone": lambda: values.visible(i, j) and values.at("exps", i, j) < SMALLEST,
        "faded": lambda: values.visible(i, j) and values.at("weights", i, j) < SMALLEST,
        "shallow": lambda: values.sheet.d == 1,
        "few": lambda: values.sheet.n * values.sheet.d <= FEW,
        "alone": lambda: look(values, i).sees == 1,
        "round": lambda: _shown(values, i) == 1000,
        "inward": lambda: top(values, i) == i,
    }[name]()


def _shown(values: Values, i: int) -> int:
    return sum(thousandths(values.at("weights", i, j)) for j in range(values.sheet.n))
