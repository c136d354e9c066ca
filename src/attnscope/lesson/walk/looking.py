"""What a row of weights looks at, as one of seven kinds: "mostly" is said only where it is true.

only      one word is visible
even      all visible weights are the same (to 1e-9)
alike     all visible weights are written the same
about     the largest is at most 1.1 times the smallest
almost    the largest is written 1.000
mostly    the largest is more than half
equally   several are written as the largest is
most      one is larger than all others
"""

from __future__ import annotations

from dataclasses import dataclass

from attnscope.lesson.walk.values import Values
from attnscope.lesson.walk.writing import three

SAME = 1e-9
ABOUT = 1.1


@dataclass(frozen=True)
class Look:
    """The kind of a row, the keys it looks at most (positions), and how many keys it sees."""

    kind: str
    tops: tuple[int, ...]
    sees: int


def look(values: Values, i: int) -> Look:
    """Return what position i looks at."""
    row = {j: values.at("weights", i, j) for j in range(values.sheet.n) if values.visible(i, j)}
    most, least = max(row.values()), min(row.values())
    tops = tuple(j for j, weight in row.items() if three(weight) == three(most))
    return Look(_kind(most, least, len(row), len(tops)), tops, len(row))


def _kind(most: float, least: float, sees: int, tops: int) -> str:
    if sees == 1:
        return "only"
    if most - least < SAME:
        return "even"
    if tops == sees:
        return "alike"
    if most <= ABOUT * least + SAME:
        return "about"
    if three(most) == "1.000":
        return "almost"
    if most > 0.5 + SAME and tops == 1:
        return "mostly"
    return "equally" if tops > 1 else "most"
