"""The routes: each reads its numbers from the URL, asks the worker or a view, and answers in JSON or raw
floats.
"""

from __future__ import annotations

import torch
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from torch import Tensor

from attnscope.errors import TextError, UnknownCharacter
from attnscope.models.texts import check_text, without_surrogates
from attnscope.web.catalogue import Catalogue
from attnscope.web.refusals import Json, Offer, Refusal, refuse
from attnscope.web.views import Views
from attnscope.web.wishes import wish
from attnscope.web.worker import Worker

_POLLED = {"Cache-Control": "no-store"}
# A run's id names its model, its text and this server, so its numbers never change.
_FIXED = {"Cache-Control": "private, max-age=3600, immutable"}


def api_routes(catalogue: Catalogue, worker: Worker) -> APIRouter:
    """Return the routes under /api."""
    api = APIRouter(prefix="/api")

    @api.get("/models")
    def models() -> Json:
        """The models on offer and what the page opens with."""
        return Json(catalogue.to_dict(), headers=_POLLED)

    @api.post("/runs")
    async def start(request: Request) -> Response:
        """Start a run of {"model", "text"}; a recording is shown whatever the text."""
        model, text = _wish(await request.body())
        catalogue.check(model)
        if catalogue.recorded(model):
            return Json({"id": worker.submit(model, "").id}, status_code=202, headers=_POLLED)
        try:
            await run_in_threadpool(check_text, text)
        except TextError as error:
            mended = without_surrogates(text) if isinstance(error, UnknownCharacter) else ""
            return refuse(error, Offer("Leave them out", mended) if mended else None)
        return Json({"id": worker.submit(model, text).id}, status_code=202, headers=_POLLED)

    @api.get("/runs/{run}")
    def state(run: str) -> Json:
        """The state of a run, with its result when it is done."""
        return Json(worker.get(run).to_dict(), headers=_POLLED)

    @api.delete("/runs/{run}")
    def cancel(run: str) -> Json:
        """Cancel a run."""
        found = worker.get(run)
        found.cancel()
        return Json(found.to_dict() | {"result": None}, headers=_POLLED)

    @api.get("/runs/{run}/next")
    def predicted(run: str, request: Request) -> Json:
        """What the model expected after position i."""
        views = worker.views(run)
        i = _number(request, "i", 0, views.predicted)
        top = _number(request, "top", 0, 51, default=8)
        found = views.look.predictions(i, top)
        pairs = [{"token": token.to_dict(), "p": p} for token, p in found.top]
        return Json({"after": i, "entropy": found.entropy, "top": pairs}, headers=_FIXED)

    @api.get("/runs/{run}/pictures/{stack}")
    def picture(run: str, stack: str) -> Response:
        """The picture of which the positions of a stack are patches."""
        found = worker.views(run).look.recording.places.get(stack)
        if found is None or found.picture is None:
            raise Refusal(404, f"There is no picture of {stack[:20]!r} here")
        return Response(found.picture, media_type="image/png", headers=_FIXED)

    _add_arrays(api, worker)
    return api


def _add_arrays(api: APIRouter, worker: Worker) -> None:
    @api.get("/runs/{run}/thumbnails")
    def thumbnails(run: str) -> Response:
        """Every head as a small picture."""
        return _floats(worker.views(run).thumbnails())

    head_path = "/runs/{run}/sites/{site}/heads/{head}"

    @api.get(head_path + "/grid")
    def grid(run: str, site: str, head: str, request: Request) -> Response:
        """A block of weights: rows=0:28 and cols=0:28."""
        views, s, h = _place(worker, run, site, head)
        rows = _span(request, "rows", views.sites[s].tq)
        cols = _span(request, "cols", views.sites[s].tk)
        return _floats(views.grid(s, h, rows, cols))

    @api.get(head_path + "/sides")
    def sides(run: str, site: str, head: str) -> Response:
        """What stands along the sides of a heatmap."""
        views, s, h = _place(worker, run, site, head)
        found = views.sides(s, h)
        layout = ",".join(f"{name}:{len(values)}" for name, values in found.items())
        return _floats(torch.cat(list(found.values())), **{"X-Layout": layout})

    @api.get(head_path + "/row")
    def row(run: str, site: str, head: str, request: Request) -> Response:
        """Where query i looks."""
        views, s, h = _place(worker, run, site, head)
        return _floats(views.row(s, h, _number(request, "i", 0, views.sites[s].tq)))

    @api.get(head_path + "/column")
    def column(run: str, site: str, head: str, request: Request) -> Response:
        """Who looks at key j."""
        views, s, h = _place(worker, run, site, head)
        return _floats(views.column(s, h, _number(request, "j", 0, views.sites[s].tk)))

    @api.get(head_path + "/cell")
    def cell(run: str, site: str, head: str, request: Request) -> Json:
        """The arithmetic of the cell i, j."""
        views, s, h = _place(worker, run, site, head)
        i = _number(request, "i", 0, views.sites[s].tq)
        j = _number(request, "j", 0, views.sites[s].tk)
        return Json(views.cell(s, h, i, j), headers=_FIXED)


def _wish(body: bytes) -> tuple[str, str]:
    """Return model and text of a request's body."""
    wanted = 'A JSON object {"model": "embedded", "text": "…"} is wanted'
    found = wish(body, wanted)
    for name in ("model", "text"):
        if not isinstance(found.get(name), str):
            raise Refusal(400, f"{name!r} is missing or no string", wanted=wanted)
    return found["model"], found["text"]


def _place(worker: Worker, run: str, site: str, head: str) -> tuple[Views, int, int]:
    views = worker.views(run)
    s = _whole(site, "site", 0, len(views.sites))
    return views, s, _whole(head, "head", 0, views.sites[s].heads)


def _number(request: Request, name: str, low: int, high: int, *, default: int | None = None) -> int:
    given = request.query_params.get(name)
    if given is None:
        if default is not None:
            return default
        raise Refusal(400, f"{name} is missing", wanted=f"{name}={low} to {name}={high - 1} is wanted")
    return _whole(given, name, low, high)


def _whole(given: str, name: str, low: int, high: int) -> int:
    if not _is_whole(given) or not low <= int(given) < high:
        raise Refusal(
            400,
            f"There is no {name} {given[:20]!r} here",
            wanted=f"A whole number from {low} to {high - 1} is wanted",
        )
    return int(given)


def _span(request: Request, name: str, size: int) -> slice:
    given = request.query_params.get(name, f"0:{size}")
    first, _, last = given.partition(":")
    if not (_is_whole(first) and _is_whole(last) and 0 <= int(first) < int(last) <= size):
        raise Refusal(
            400,
            f"There are no {name} {given[:40]!r} here",
            wanted=f"{name}=FIRST:END with 0 ≤ FIRST < END ≤ {size}, END itself left out, is wanted",
        )
    return slice(int(first), int(last))


def _is_whole(given: str) -> bool:
    return given.isascii() and given.isdigit() and len(given) < 10


def _floats(values: Tensor, **headers: str) -> Response:
    raw = values.to(torch.float32).contiguous().numpy().astype("<f4", copy=False).tobytes()
    shape = ",".join(map(str, values.shape))
    return Response(
        raw, media_type="application/octet-stream", headers={"X-Shape": shape, **_FIXED, **headers}
    )
