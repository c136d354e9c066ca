"""A recording as one HTML page that needs no server, no network and no other file: for a notebook, a disk, a
mail.

It is drawn by the views of the page Explore.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any, Literal

from attnscope.models import Look, look_of
from attnscope.recording import Recording
from attnscope.recording.manifest import libraries
from attnscope.recording.refusals import not_measured
from attnscope.web.alone.held import Asked, Held, held
from attnscope.web.alone.page import alone

LIMIT = 5_000_000
"""Bytes of a page, where nothing else is said."""

Theme = Literal["light", "dark"]

_SHEETS = ("tokens", "base", "heads", "receipt", "explore", "heatmap", "shown")


@dataclass(frozen=True, eq=False)
class Shown:
    """page: the whole document.   look: what it is of.   held: what is in it.   site, head: what is seen
    first, by its place in the run, and the head.
    """

    page: str = field(repr=False)
    look: Look = field(repr=False)
    held: Held = field(repr=False)
    site: int
    head: int

    @property
    def left(self) -> str:
        """Return what had no room, in a sentence; "" where all had."""
        return self.held.left


def shown(
    recording: Recording, asked: Asked, *, run: int = -1, batch: int = 0, limit: int = LIMIT,
    theme: Theme | None = None, seen_first: tuple[int, int] | None = None, values: bool = False,
) -> Shown:  # fmt: skip
    """Return the page of a recording, or of a part of it; `seen_first` is a site and a head of it, those that
    were asked for by default. values: whether it opens with weight times value.

    Raises NothingRecorded, RecordingError, ShapeError for what is not there, and TooLarge where not one row
    has room in `limit` bytes, NotKept where lengths of the values of what is seen first are not known.
    """
    look = look_of(recording, run=run, batch=batch)
    frame = _page({}, look, "")
    found = held(look, asked, first=seen_first, room=limit - len(frame.encode()) - 1_000, limit=limit)
    site, head = _first(found, look, asked, seen_first)
    first = look.sites[found.places[site]]
    if values and first.lengths.values is None:
        raise not_measured(first)
    data = {
        "result": found.result,
        "heads": found.heads,
        "seen": found.seen,
        "rows": found.rows,
        "pictures": _pictures(recording, found),
        "start": {"site": site, "head": head, "i": found.rows[site][1] - 1, "theme": theme, "values": values},
        "python": [f"recording.runs[{look.run}].sites[{at}]" for at in found.places],
    }
    return Shown(_page(data, look, found.left), look, found, found.places[site], head)


def _first(
    found: Held, look: Look, asked: Asked, wanted: tuple[int | None, int | None] | None
) -> tuple[int, int]:
    """Return the site, by its place in the page, and the head that are seen first: those that are wanted, or
    the second head of the third call, as in the app.
    """
    at, head = wanted or (asked.site, asked.head)
    place = at % len(look.sites) if at is not None else min(2, len(look.sites) - 1)
    site = found.places.index(place) if place in found.places else 0
    if head is not None and place in found.places:
        return site, head % look.sites[place].heads
    here = [one["head"] for one in found.heads if one["site"] == site]
    return site, 1 if 1 in here or not here else here[0]


def _pictures(recording: Recording, found: Held) -> dict[str, str]:
    """Return the pictures that positions are patches of, as data: URLs, by stack."""
    stacks = {axis["stack"] for axis in found.result["places"].values() if axis["grid"] is not None}
    held_here = {stack: recording.places[stack].picture for stack in stacks if stack in recording.places}
    return {
        stack: f"data:image/png;base64,{base64.b64encode(picture).decode()}"
        for stack, picture in held_here.items()
        if picture is not None
    }


def _page(data: dict[str, Any], look: Look, left: str) -> str:
    made = ", ".join(f"{name} {version}" for name, version in libraries().items())
    return alone("shown", _SHEETS, data, title=look.description.label, left=left, made=made)
