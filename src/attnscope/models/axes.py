"""What stands along the rows and the columns of a site: tokens where they are known, else numbered places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from attnscope.models.tokens import FIELDS, of_text
from attnscope.recording import Recording, Site
from attnscope.recording.places import Places, first_of, places_of, side_of


@dataclass(frozen=True)
class Axis:
    """One side of a site: a token a position, as Token.to_dict gives it, all of one stack.

    generated: the first position that the model wrote, None where that is not known or none is.   picture: a
    PNG of which positions are patches, the first `grid` of them after `before` others.
    """

    stack: str
    tokens: tuple[Mapping[str, Any], ...]
    generated: int | None = None
    picture: bytes | None = field(default=None, repr=False)
    grid: tuple[int, int] | None = None
    before: int = 0


def axis_of(recording: Recording, site: Site, side: str, *, batch: int = 0) -> Axis:
    """Return what stands along "rows" or "columns" of a site, for one text of the batch."""
    stack, first = side_of(site, side), first_of(site, side)
    size = site.tq if side == "rows" else site.tk
    known = places_of(recording, site, side, batch=batch)
    if known is not None:
        return _cut(known, stack, first, size)
    given = _given(recording, site, side, batch)
    if len(given) >= first + size:
        return Axis(stack, tuple(given[first : first + size]))
    return Axis(stack, tuple(_numbered(first + at) for at in range(size)))


def _cut(places: Places, stack: str, first: int, size: int) -> Axis:
    tokens = tuple(_whole(places.tokens[first + at], first + at) for at in range(size))
    generated = places.generated
    if generated is not None:
        generated = max(0, generated - first) if generated < first + size else None
    if places.grid is None or first:
        return Axis(stack, tokens, generated)
    before = max(0, size - places.grid[0] * places.grid[1])
    return Axis(stack, tokens, generated, places.picture, places.grid, before)


def _given(recording: Recording, site: Site, side: str, batch: int) -> list[dict[str, Any]]:
    """Return the tokens that were handed to record(), where they can be those of this side."""
    tokens = recording.tokens
    mixed = any(one.kind == "cross" for run in recording.runs for one in run.sites)
    if not tokens or (mixed and side_of(site, side) == "decoder"):
        return []
    if isinstance(tokens[0], str):
        return [of_text(-1, str(token)).to_dict() for token in tokens] if site.batch == 1 else []
    ids = tokens[batch] if batch < len(tokens) else []
    return [
        {**of_text(int(one), f"#{one}").to_dict(), "kind": "place", "spoken": f"token number {one}"}
        for one in ids
    ]


def _numbered(at: int) -> dict[str, Any]:
    return {**of_text(-1, str(at)).to_dict(), "kind": "place", "spoken": f"position {at}"}


def _whole(token: Mapping[str, Any], at: int) -> Mapping[str, Any]:
    """Return a token with every field that a page asks for."""
    if token.keys() >= FIELDS and token["spoken"]:
        return token
    text = str(token["text"])
    return {**of_text(-1, text).to_dict(), "spoken": text or f"position {at}", **token}
