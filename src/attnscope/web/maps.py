"""Maps of heads for the page Map: made in threads of their own, one at a time, watched, stopped; their tiles
and lists.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from fastapi import APIRouter, Request
from starlette.responses import Response

from attnscope.maps import SIDE, Pyramid, Tile, largest_cells
from attnscope.web.answers import FIXED, POLLED, floats, raw, seal
from attnscope.web.job import said_of
from attnscope.web.numbers import number, place, values_asked, whole
from attnscope.web.refusals import Json, Refusal, error_fields
from attnscope.web.views import Views
from attnscope.web.worker import Worker

LONGEST_LIST = 1_000


class _Stopped(Exception):
    """Leaves the walk of a map that nobody waits for."""


@dataclass(eq=False)
class _Making:
    """One map that is made: the walk goes on from where an earlier one was stopped."""

    pyramid: Pyramid
    stopped: bool = False
    error: dict[str, Any] | None = None
    thread: threading.Thread | None = field(default=None, repr=False)

    def run(self, turn: threading.Lock) -> None:
        """Walk, unless another map is walked: then wait."""
        try:
            with turn:
                self.pyramid.build(self._at)
        except _Stopped:
            pass
        except Exception as error:
            self.error = error_fields(said_of(error, "map"))

    def _at(self, _done: int, _total: int) -> None:
        if self.stopped:
            raise _Stopped

    def to_dict(self) -> dict[str, Any]:
        """What the page polls."""
        pyramid = self.pyramid
        ready = "ready" if pyramid.built else "making"
        return {
            "state": "failed" if self.error else ready,
            "done": pyramid.done,
            "total": pyramid.head.tq,
            "tile": SIDE,
            "levels": pyramid.geometry.depth + 1,
            "kept_from": pyramid.kept_from,
            "error": self.error,
        }


class _Of(NamedTuple):
    """Which map: of a head's weights, or with `values` of weight times the length of the key's value."""

    run: str
    site: int
    head: int
    values: bool


class MapRoom:
    """The maps that the page looks at, of the runs that the worker holds."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._making: OrderedDict[_Of, _Making] = OrderedDict()
        self._lock, self._turn = threading.Lock(), threading.Lock()

    def ask(self, key: _Of) -> _Making:
        """The map of a head, which begins to be made where it was not; Refusal where there is none, NotKept
        where lengths of values are wanted and not known.
        """
        pyramid = self.pyramid(key)
        with self._lock:
            made = self._making.get(key)
            if made is None or made.pyramid is not pyramid or made.stopped:
                made = self._making[key] = _Making(pyramid)
                if not pyramid.built:
                    made.thread = threading.Thread(
                        target=made.run, args=(self._turn,), name="attnscope-map", daemon=True
                    )
                    made.thread.start()
            self._making.move_to_end(key)
            while len(self._making) > _REMEMBERED:
                self._making.popitem(last=False)[1].stopped = True
            return made

    def stop(self, key: _Of) -> None:
        """Give up a map that is being made; what is there of it stays."""
        with self._lock:
            made = self._making.get(key)
            if made is not None:
                made.stopped = True

    def pyramid(self, key: _Of) -> Pyramid:
        """The pyramid of a head, made or not."""
        return self._worker.views(key.run).map_of(key.site, key.head, values=key.values)

    def close(self) -> None:
        """Stop every walk."""
        with self._lock:
            for made in self._making.values():
                made.stopped = True


_REMEMBERED = 64


def map_routes(worker: Worker, room: MapRoom) -> APIRouter:
    """Return the routes of the maps, under /api."""
    api = APIRouter(prefix="/api")
    path = "/runs/{run}/sites/{site}/heads/{head}/map"

    @api.get(path)
    def ask(run: str, site: str, head: str, request: Request) -> Json:
        """How far the map of a head is; the first question begins it. With values=1 here and below that of
        weight times value.
        """
        _, s, h = place(worker, run, site, head)
        return Json(room.ask(_Of(run, s, h, values_asked(request))).to_dict(), headers=POLLED)

    @api.delete(path)
    def stop(run: str, site: str, head: str, request: Request) -> Json:
        """Give up a map that is being made."""
        _, s, h = place(worker, run, site, head)
        room.stop(_Of(run, s, h, values_asked(request)))
        return Json({"state": "stopped"}, headers=POLLED)

    @api.get(path + "/tiles/{level}/{row}/{col}")
    def tile(run: str, site: str, head: str, level: str, row: str, col: str, request: Request) -> Response:
        """A tile: the largest, the mean and the sum of each pixel, or one plane where a pixel is a cell."""
        views, s, h = place(worker, run, site, head)
        pyramid = views.map_of(s, h, values=values_asked(request))
        geometry = pyramid.geometry
        at = whole(level, "level", 0, geometry.depth + 1)
        if pyramid.waits(at):
            raise _not_made()
        rows, cols = geometry.tiles(at)
        found = pyramid.tile(at, whole(row, "tile row", 0, rows), whole(col, "tile column", 0, cols))
        return _planes(found, seal(views, s, h))

    @api.get(path + "/largest")
    def largest(run: str, site: str, head: str, request: Request) -> Json:
        """The largest cells of a head."""
        views, s, h = place(worker, run, site, head)
        n = number(request, "n", 1, LONGEST_LIST + 1, default=20)
        skip = number(request, "skip_first", 0, 2, default=0)
        near = number(request, "near", 0, 1_000_000, default=0)
        pyramid = _built(views, s, h, values=values_asked(request))
        found = largest_cells(pyramid, n, skip_first=bool(skip), near=near)
        return Json([asdict(cell) for cell in found], headers=FIXED | seal(views, s, h))

    @api.get(path + "/rows")
    def rows(run: str, site: str, head: str) -> Response:
        """The largest weight times value of each query; that of the weights stands among the sides."""
        views, s, h = place(worker, run, site, head)
        found = _built(views, s, h, values=True).sides.largest
        assert found is not None  # of this picture it is always kept
        return floats(found, **seal(views, s, h))

    return api


def _built(views: Views, site: int, head: int, *, values: bool) -> Pyramid:
    pyramid = views.map_of(site, head, values=values)
    if not pyramid.built:
        raise _not_made()
    return pyramid


def _not_made() -> Refusal:
    return Refusal(
        409,
        "This map is not made yet",
        wanted="Its coarse tiles and its list are there once it is",
        hint="Ask for …/map first",
    )


def _planes(tile: Tile, certified: dict[str, str]) -> Response:
    names = ("max",) if tile.cells == 1 else ("max", "mean", "sum")
    return raw(tile.encode(*names), (len(names), *tile.shape), **certified)
