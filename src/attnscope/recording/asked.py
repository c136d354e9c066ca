"""What is asked of a site: a number or a slice of rows, columns, heads or texts, as places that are there."""

from __future__ import annotations

import operator

from attnscope.errors import ShapeError

Where = int | slice | None
"""A number, a slice, or None for all."""


def index_of(given: int, size: int, what: str) -> int:
    """The place of a number, counted from the end where it is negative. Raises ShapeError."""
    try:
        number = operator.index(given)
    except TypeError:
        raise ShapeError(f"The {what} is {given!r}", wanted=f"A whole number, 0 to {size - 1}") from None
    at = number + size if number < 0 else number
    if not 0 <= at < size:
        raise ShapeError(f"There is no {what} {given}", wanted=f"0 to {size - 1}")
    return at


def cut_of(given: Where, size: int, what: str) -> slice:
    """The slice, start and stop within what is there. Raises ShapeError."""
    if given is None:
        return slice(0, size)
    if isinstance(given, slice):
        start, stop, step = given.indices(size)
        if step != 1:
            raise ShapeError(f"A slice of {what}s with step {step}", wanted="Step 1")
        return slice(start, max(start, stop))
    at = index_of(given, size, what)
    return slice(at, at + 1)
