"""What of a recording has room in one file: whole heads while they fit, and else the last rows of one."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

from attnscope.errors import TooLarge
from attnscope.looks.numbers import count
from attnscope.models import Look
from attnscope.recording import Run, Site
from attnscope.recording.asked import Where, cut_of, index_of
from attnscope.web.alone.packing import COST, cells_of, head_of, short
from attnscope.web.results import certificate_of, result_of
from attnscope.web.views import Views, not_drawn, refused

_HEAD = 400  # bytes of a head beside its numbers
_ROW = 40  # bytes of a row beside its weights, at most
_FIRST = 2  # the call that the page Explore opens with


@dataclass(frozen=True)
class Asked:
    """What is to be shown. site: its place in the run, None for all.   head: None for all.   rows: None for
    all.
    """

    site: int | None = None
    head: int | None = None
    rows: Where = None


@dataclass(frozen=True, eq=False)
class Held:
    """result: what the page reads of a run.   heads: their numbers.   seen: runs of columns, each told once.
    places: the number in the run of each site.   rows: those that are held of each site.   left: what had no
    room, "" where all had.
    """

    result: dict[str, Any] = field(repr=False)
    heads: list[dict[str, Any]] = field(repr=False)
    seen: list[str] = field(repr=False)
    places: list[int]
    rows: list[list[int]]
    left: str


def held(look: Look, asked: Asked, *, room: int, limit: int, first: tuple[int, int] | None = None) -> Held:
    """Return what fits into `room` bytes of a file of `limit`: before all others the call that was asked for,
    or is seen first, else the third; then those nearest to it.

    Raises TooLarge where not one row fits, ShapeError for a call, a head or rows that are not there.
    """
    every = look.sites
    near_to = first[0] if first is not None else min(_FIRST, len(every) - 1)
    at = near_to if asked.site is None else index_of(asked.site, len(every), "site")
    if asked.head is not None:
        index_of(asked.head, every[at].heads, "head")
    near = [at] if asked.site is not None else sorted(range(len(every)), key=lambda one: abs(one - at))
    chosen = sorted(_fitting([every[at] for at in near], look.batch, asked, room, near))
    views = Views(_with(look, [every[at] for at in chosen]))
    order = [chosen.index(at) for at in near if at in chosen]
    return _Packing(views, order, asked, room, limit).held(
        chosen, sum(len(_heads(every[at], asked)) for at in near)
    )


def _fitting(sites: list[Site], batch: int, asked: Asked, room: int, places: list[int]) -> list[int]:
    """Return the places of the first sites that may fit together; one at least."""
    taken, left = list[int](), float(room)
    for at, site in zip(places, sites, strict=True):
        left -= _cost(site, batch, cut_of(asked.rows, site.tq, "row")) * len(_heads(site, asked))
        if taken and left < 0:
            break
        taken.append(at)
    return taken


def _cost(site: Site, batch: int, rows: slice) -> float:
    """Return about how many bytes a head takes."""
    return float(cells_of(site, batch, rows).sum() + 2 * site.tk) * COST + _HEAD


def _heads(site: Site, asked: Asked) -> list[int]:
    kept = list(range(site.heads)) if site.kept is None else list(site.kept)
    return kept if asked.head is None else [asked.head % site.heads] if asked.head < site.heads else []


def _with(look: Look, sites: list[Site]) -> Look:
    """Return the look at some of its sites; the other runs stay, for they tell whose tokens were given."""
    recording = look.recording
    run = recording.runs[look.run]
    cut = Run(run.index, run.name, sites, run.forwards)
    return replace(look, recording=replace(recording, runs=[*recording.runs, cut]), run=-1)


class _Packing:
    """One file being filled."""

    def __init__(self, views: Views, order: list[int], asked: Asked, room: int, limit: int) -> None:
        self.views, self.order, self.asked, self.limit = views, order, asked, limit
        self.result = result_of(views)
        for axis in self.result["places"].values():
            axis["tokens"] = [short(token) for token in axis["tokens"]]
        self.left = room - len(json.dumps(self.result))
        self.rows = [cut_of(asked.rows, site.tq, "row") for site in views.sites]
        self.heads: list[dict[str, Any]] = []
        self.seen: dict[str, int] = {}
        self.cut = ""

    def held(self, places: list[int], wanted: int) -> Held:
        """Fill the file, and tell what is in it and what of the `wanted` heads is not."""
        asked = [(at, head) for at in self.order for head in _heads(self.views.sites[at], self.asked)]
        drawn = [(at, head) for at, head in asked if not self._blank(at, head)]
        if drawn:
            self._cut_rows(drawn[0][0])
        all(self._add(at, head) for at, head in drawn)  # up to the first that has no room
        self._mark({(one["site"], one["head"]) for one in self.heads}, set(drawn))
        stay = self._drop()
        rows = [[cut.start, cut.stop] for cut in self.rows]
        left = self._sentence(wanted - len(asked) + len(drawn))
        return Held(self.result, self.heads, list(self.seen), [places[at] for at in stay], rows, left)

    def _blank(self, at: int, head: int) -> bool:
        """Whether a head has no weights that may be drawn."""
        site = self.views.sites[at]
        return not_drawn(site) is not None or refused(site, head, self.views.look.batch) is not None

    def _cut_rows(self, at: int) -> None:
        """Keep the last rows alone where a head would not fit whole."""
        site, cut = self.views.sites[at], self.rows[at]
        needed = cells_of(site, self.views.look.batch, cut).double() * COST + _ROW
        room = self.left - 2 * site.tk * COST - _HEAD
        if float(needed.sum()) <= room:
            return
        fits = int((needed.flip(0).cumsum(0) <= room).sum())
        if fits < 1:
            wanted = self.limit - room + float(needed[-1])
            raise TooLarge(
                f"One row of {count(site.tk)} keys has no room in a file of {_size(self.limit)}",
                wanted=f"limit={_written(wanted)} or more",
                hint="The app shows a saved recording of any length, on its page Map: attnscope app FOLDER",
            )
        self.rows[at] = slice(cut.stop - fits, cut.stop)
        span = f"{count(cut.stop - fits)} to {count(cut.stop - 1)}"
        self.cut = f"Of {count(cut.stop - cut.start)} queries the last {count(fits)} are here, {span}. "

    def _add(self, at: int, head: int) -> bool:
        """Add a head; return whether there was room."""
        site = self.views.sites[at]
        known = site.seen.valid is None and site.seen.rule is None  # spans then tell how many cells there are
        if known and _cost(site, self.views.look.batch, self.rows[at]) - _HEAD > self.left:
            return False
        one, runs = head_of(self.views, at, head, self.rows[at])
        size = len(json.dumps(one)) + (0 if runs in self.seen else len(runs)) + 16
        if size > self.left:
            return False
        self.heads.append(one | {"seen": self.seen.setdefault(runs, len(self.seen))})
        self.left -= size
        return True

    def _mark(self, here: set[tuple[int, int]], drawn: set[tuple[int, int]]) -> None:
        """Say of each head that is not here why it is not."""
        for at, site in enumerate(self.views.sites):
            said = self.result["sites"][at]
            said["picture"] = [1, 1] if not_drawn(site) is not None else [site.tq, site.tk]
            for head, verdict in enumerate(said["certificate"]):
                if (at, head) in here or self._kept_out(at, head):
                    continue
                why = "It had no room in this file" if (at, head) in drawn else "Another head was asked for"
                verdict.update(verdict="not kept", reason=why)
                said["entropy"][head] = None

    def _kept_out(self, at: int, head: int) -> bool:
        """Whether the page says by itself why there is nothing of a head."""
        site = self.views.sites[at]
        if site.kept is not None and head not in site.kept:
            return True
        return head in _heads(site, self.asked) and self._blank(at, head)

    def _drop(self) -> list[int]:
        """Leave out the sites of which nothing is here; return those that stay."""
        there = {one["site"] for one in self.heads}
        blank = {
            at
            for at, site in enumerate(self.views.sites)
            if all(self._kept_out(at, head) for head in range(site.heads))
        }
        stay = sorted(there | blank) or [self.order[0]]
        self.result["sites"] = [self.result["sites"][at] | {"site": n} for n, at in enumerate(stay)]
        sites = [self.views.sites[at] for at in stay]
        self.result["certificate"] = certificate_of(sites, self.views.look.batch)
        self.rows = [self.rows[at] for at in stay]
        for one in self.heads:
            one["site"] = stay.index(one["site"])
        return stay

    def _sentence(self, wanted: int) -> str:
        here = len(self.heads)
        if here >= wanted and not self.cut:
            return ""
        heads = f"{count(here)} of {count(wanted)} heads are here. " if here < wanted else ""
        full = f"A file of {_size(self.limit)} has no room for more"
        return f"{heads}{self.cut}{full}: site, head, rows and limit choose what it holds."


def _size(limit: float) -> str:
    return f"{limit / 1e6:g} MB"


def _written(limit: float) -> str:
    return f"{-int(-limit // 1_000_000)}_000_000"
