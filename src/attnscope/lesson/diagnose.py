"""A checker of attention weights: which usual mistake a grid looks like, with the numbers that say so."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from attnscope.lesson.checks.finding import Finding as Finding
from attnscope.lesson.checks.finding import Found, Place
from attnscope.lesson.checks.hidden import hidden
from attnscope.lesson.checks.reading import Given, Head, read
from attnscope.lesson.checks.scale import scale
from attnscope.lesson.checks.sums import across, off_rows, sums
from attnscope.looks.numbers import count
from attnscope.plain import plain


@dataclass(frozen=True)
class Diagnosis(Found):
    """What a grid looks like: its findings, the surest first, and what was looked at.

    shape: (b, h, tq, tk) of the weights.   given: what came beside them, of mask, q and k, sinks.
    """

    findings: tuple[Finding, ...]
    shape: tuple[int, int, int, int]
    given: tuple[str, ...]

    def __str__(self) -> str:
        b, h, tq, tk = self.shape
        beside = f", with {' and '.join(self.given)}" if self.given else ""
        looked = f"{count(b * h)} {'head' if b * h == 1 else 'heads'} of {count(tq)} by {count(tk)}{beside}"
        if self.healthy:
            return f"{looked}: nothing was found."
        lines = [
            f"  {one.name.replace('_', ' ')}{'' if one.sure else ' (perhaps)'}{_heads(one, b * h)}: "
            f"{one.sentence}.\n"
            f"    {one.remedy}."
            for one in self.findings
        ]
        return "\n".join([f"{looked}:", *lines])

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnosis as JSON values."""
        found: dict[str, Any] = plain(self)
        return found | {"healthy": self.healthy}


def diagnose(
    weights: Any,
    *,
    mask: Any = None,
    q: Any = None,
    k: Any = None,
    sinks: Any = None,
    offset: int | None = None,
) -> Diagnosis:
    """Return which of the usual mistakes a grid of attention weights looks like, each with its evidence.

    weights: (tq tk), (h tq tk) or (b h tq tk) of numbers from 0 on, as a tensor, a NumPy array or lists; rows
    are queries. mask: what was meant to be visible, as a mask of attnscope or booleans that broadcast to the
    weights, True = may attend. q (b h tq d), k (b hk tk d): what the scores were made of; without them a
    missing scale cannot be told from large numbers, and "saturated" is the most that is said. sinks: the
    logit of each head's learned sink; with q and k the rows are checked against it. offset: the position of
    row 0 among the keys, for a mask that speaks of positions where tq and tk differ.

    The rows may miss 1 by the rounding of their dtype, or of the places they were typed with. A row that sees
    nothing is 0 throughout and no mistake.
    Beside the weights it takes a dozen grids of one head in float64 at most: under 400 MB, and 6 seconds of
    one core, for 12 heads of 2,048 by 2,048 in float32, which are 192 MB themselves.

    >>> diagnose([[0.5, 0.2], [0.5, 0.8]]).names
    ('wrong_axis',)
    >>> print(diagnose([[1.0, 0.0], [0.5, 0.5]]))
    1 head of 2 by 2: nothing was found.

    Raises ShapeError, DtypeError, MaskError, ScoringError, and LessonError for NaN, infinity or negative
    numbers.
    """
    given = read(weights, mask, q, k, sinks, offset)
    b, h, tq, tk = (int(size) for size in given.weights.shape)
    came = [("a mask", mask), ("q and k", q), ("sinks", sinks)]
    beside = tuple(name for name, value in came if value is not None)
    found = _whole(given) if b * h * tq * tk else ()
    return Diagnosis(found, (b, h, tq, tk), beside)


def _whole(given: Given) -> tuple[Finding, ...]:
    b, h = given.weights.shape[:2]
    heads = [(i, j) for i in range(b) for j in range(h)]
    off, each = [], []
    for place in heads:
        head = given.head(*place)
        if bool(off_rows(head).any()):
            off.append(place)
        each += [(place, one) for one in _head(head)]
    spread = across(given, off) if len(off) == len(heads) else None
    return _merged(each) if spread is None else (spread,)


def _head(head: Head) -> list[Finding]:
    """The findings of one head; a mask read the wrong way round is turned before the rest is looked at."""
    dark = hidden(head)
    if dark is not None and dark.name == "inverted_mask" and head.visible is not None:
        head = replace(head, visible=~head.visible)
    total = sums(head)
    if total is not None and total.name == "wrong_axis":
        kept = dark if head.visible is not None else None
        return [one for one in (kept, total, scale(head.turned()) if head.q is not None else None) if one]
    return [one for one in (dark, total, scale(head)) if one is not None]


def _merged(each: list[tuple[Place, Finding]]) -> tuple[Finding, ...]:
    """One finding of each name: that of the first head that is sure, or the first, with all its heads."""
    names = dict.fromkeys(one.name for _, one in each)
    merged = []
    for name in names:
        same = [(place, one) for place, one in each if one.name == name]
        told = next((one for _, one in same if one.sure), same[0][1])
        merged.append(replace(told, places=tuple(place for place, _ in same)))
    return tuple(sorted(merged, key=lambda one: not one.sure))


def _heads(one: Finding, of: int) -> str:
    return "" if of == 1 else f" in {count(len(one.places))} of {count(of)} heads"
