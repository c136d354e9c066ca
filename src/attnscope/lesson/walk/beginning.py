"""What the walk begins with: the lesson's four words, and spare words and rows for whoever wants more."""

from __future__ import annotations

WORDS = ("the", "cat", "sat", "down", "on", "a", "warm", "mat")
"""The lesson's four words, then those that a growing sheet takes in turn."""

WQ = ((0.0, 1.0), (0.0, 1.0), (2.0, 0.0), (2.0, 0.5), (1.0, 1.0), (0.0, 1.0), (0.5, 1.0), (1.5, 0.0))
WK = ((0.0, 1.0), (2.0, 0.0), (0.5, 0.5), (0.0, 0.5), (0.5, 0.0), (0.0, 1.0), (1.0, 0.5), (1.5, 0.5))
WV = ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.5, 0.5), (0.5, 0.0), (1.0, 0.0), (0.0, 0.5), (0.5, 1.0))
"""A row for each distinct word, the lesson's four first; d = 2."""

FIRST = 4
"""So many words the lesson has."""


def identity(size: int) -> tuple[tuple[float, ...], ...]:
    """Return the rows of the identity: one vector for each distinct word.

    >>> identity(2)
    ((1.0, 0.0), (0.0, 1.0))
    """
    return tuple(tuple(float(w == a) for a in range(size)) for w in range(size))
