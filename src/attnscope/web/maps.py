"""Maps of heads for the page Map: made in threads of their own, one at a time, watched, stopped; their tiles
and lists.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import asdict, dataclass, field
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from attnscope.maps import SIDE, Pyramid, Tile, largest_cells
from attnscope.web.job import said_of
from attnscope.web.numbers import FIXED, POLLED, number, place, seal, whole
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


class MapRoom:
    """The maps that the page looks at, of the runs that the worker holds."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._making: OrderedDict[tuple[str, int, int], _Making] = OrderedDict()
        self._lock, self._turn = threading.Lock(), threading.Lock()

    def ask(self, run: str, site: int, head: int) -> _Making:
        """The map of a head, which begins to be made where it was not; Refusal where there is none."""
        pyramid = self.pyramid(run, site, head)
        key = (run, site, head)
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

    def stop(self, run: str, site: int, head: int) -> None:
        """Give up a map that is being made; what is there of it stays."""
        with self._lock:
            made = self._making.get((run, site, head))
            if made is not None:
                made.stopped = True

    def pyramid(self, run: str, site: int, head: int) -> Pyramid:
        """The pyramid of a head, made or not."""
        return self._worker.views(run).map_of(site, head)

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
    def ask(run: str, site: str, head: str) -> Json:
        """How far the map of a head is; the first question begins it."""
        _, s, h = place(worker, run, site, head)
        return Json(room.ask(run, s, h).to_dict(), headers=POLLED)

    @api.delete(path)
    def stop(run: str, site: str, head: str) -> Json:
        """Give up a map that is being made."""
        _, s, h = place(worker, run, site, head)
        room.stop(run, s, h)
        return Json({"state": "stopped"}, headers=POLLED)

    @api.get(path + "/tiles/{level}/{row}/{col}")
    def tile(run: str, site: str, head: str, level: str, row: str, col: str) -> Response:
        """A tile: the largest, the mean and the sum of each pixel, or one plane where a pixel is a cell."""
        views, s, h = place(worker, run, site, head)
        pyramid = views.map_of(s, h)
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
        found = largest_cells(_built(views, s, h), n, skip_first=bool(skip), near=near)
        return Json([asdict(cell) for cell in found], headers=FIXED | seal(views, s, h))

    return api


def _built(views: Views, site: int, head: int) -> Pyramid:
    pyramid = views.map_of(site, head)
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
    raw = tile.encode(*names)
    shape = ",".join(map(str, (len(names), *tile.shape)))
    return Response(
        raw, media_type="application/octet-stream", headers={"X-Shape": shape, **FIXED, **certified}
    )
