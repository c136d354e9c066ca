"""Two tokenisers on one text: tokens put together until both end at the same letter.

Letters are compared without their case and without the white space between them, since one vocabulary puts
the space before a word and another leaves it out. A token that is part of a letter (a byte piece) is never
parted from the rest of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from attnscope.comparison.matching import common_blocks
from attnscope.models.tokens import characters, raw_of

Letter = tuple[str, int, int]
"""A letter, the first token that holds some of it, and the last."""


def same_text(a: Sequence[Mapping[str, Any]], b: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether both spell the same letters, and some."""
    one, other = letters(a), letters(b)
    return bool(one) and [letter for letter, _, _ in one] == [letter for letter, _, _ in other]


def text_units(a: Sequence[Mapping[str, Any]], b: Sequence[Mapping[str, Any]]) -> list[tuple[range, range]]:
    """Return the smallest runs of tokens of `a` and of `b` that spell the same. Raises TooLarge."""
    one, other = letters(a), letters(b)
    found = []
    for i, j, size in common_blocks([c for c, _, _ in one], [c for c, _, _ in other]):
        cuts = [at for at in range(size + 1) if _ends(one, i + at) and _ends(other, j + at)]
        for start, stop in pairwise(cuts):
            found.append((_tokens(one, i + start, i + stop), _tokens(other, j + start, j + stop)))
    return found


def letters(tokens: Sequence[Mapping[str, Any]]) -> list[Letter]:
    """Return the letters that tokens spell, case folded, without white space and what is no UTF-8.

    >>> letters([{"kind": "text", "text": text, "bytes": None} for text in (" ab", "C")])
    [('a', 0, 0), ('b', 0, 0), ('c', 1, 1)]
    """
    raw = [raw_of(token) for token in tokens]
    data = b"".join(raw)
    owner = [at for at, piece in enumerate(raw) for _ in piece]
    found: list[Letter] = []
    for places, letter in characters(data):
        if letter is not None and not letter.isspace():
            found += [(part, owner[places[0]], owner[places[-1]]) for part in letter.casefold()]
    return found


def _ends(found: Sequence[Letter], at: int) -> bool:
    """Return whether a token ends before letter `at`."""
    return at in (0, len(found)) or found[at - 1][2] < found[at][1]


def _tokens(found: Sequence[Letter], start: int, stop: int) -> range:
    return range(found[start][1], found[stop - 1][2] + 1)
