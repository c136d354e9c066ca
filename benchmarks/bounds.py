"""What a measurement may come to: printed beside what it came to, and remembered for the table at the end."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Bound:
    """One measurement. least, most: what it may come to.   found: what it came to, None where it could not
    be measured; why: the reason."""

    name: str
    least: float
    most: float
    unit: str
    found: float | None
    why: str = ""

    @property
    def verdict(self) -> str:
        """In words; what was not measured is not kept either."""
        if self.found is None:
            return f"not measured: {self.why}"
        return "kept" if self.least <= self.found <= self.most else "NOT KEPT"

    @property
    def limits(self) -> str:
        """ "at most 4", "3.5 to 4.6"."""
        return f"{self.least:g} to {self.most:g}" if self.least else f"at most {self.most:,g}"


HELD: list[Bound] = []
"""What was measured in this process, in order."""


def hold(name: str, found: float, most: float, unit: str = "times", *, least: float = 0.0) -> bool:
    """Prints a figure with what it may come to, and whether it was kept."""
    return _remember(Bound(name, least, most, unit, found))


def not_measured(name: str, most: float, unit: str = "times", *, why: str) -> bool:
    """Says that a figure could not be measured here."""
    return _remember(Bound(name, 0.0, most, unit, None, why))


def broken() -> list[str]:
    """The names of what was measured and is not kept."""
    return [one.name for one in HELD if one.verdict == "NOT KEPT"]


def table() -> list[str]:
    """All of HELD, as lines of Markdown."""
    lines = ["| | measured | bound | |", "|---|---|---|---|"]
    for one in HELD:
        found = "" if one.found is None else f"{_short(one.found)} {one.unit}"
        lines.append(f"| {one.name} | {found} | {one.limits} | {one.verdict} |")
    return lines


def _remember(one: Bound) -> bool:
    HELD.append(one)
    found = "       -" if one.found is None else f"{one.found:8.2f}"
    print(f"  {one.name:58s} {found} {one.unit}; {one.limits}: {one.verdict}", flush=True)
    return one.verdict == "kept"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"
