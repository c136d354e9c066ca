"""The routes: each reads its numbers from the URL, asks the worker or a view, and answers in JSON or raw
floats.
"""

from __future__ import annotations

import torch
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from attnscope.errors import TextError, UnknownCharacter
from attnscope.models.texts import check_text, without_surrogates
from attnscope.web.answers import FIXED, POLLED, floats, seal
from attnscope.web.catalogue import Catalogue
from attnscope.web.numbers import number, place, span, values_asked
from attnscope.web.polling import add_polling
from attnscope.web.refusals import Json, Offer, Refusal, refuse
from attnscope.web.results import seal_of
from attnscope.web.wishes import wish
from attnscope.web.worker import SPECIALS, Worker


def api_routes(catalogue: Catalogue, worker: Worker) -> APIRouter:
    """Return the routes under /api."""
    api = APIRouter(prefix="/api")

    @api.get("/models")
    def models() -> Json:
        """The models on offer and what the page opens with."""
        return Json(catalogue.to_dict(), headers=POLLED)

    @api.post("/runs")
    async def start(request: Request) -> Response:
        """Start a run of {"model", "text"}, with "words" from word to word; a recording is shown whatever the
        text.
        """
        model, text, words = _wish(await request.body())
        catalogue.check(model)
        if catalogue.recorded(model):
            return Json({"id": worker.submit(model, "", words).id}, status_code=202, headers=POLLED)
        try:
            await run_in_threadpool(check_text, text)
        except TextError as error:
            mended = without_surrogates(text) if isinstance(error, UnknownCharacter) else ""
            return refuse(error, Offer("Leave them out", mended) if mended else None)
        return Json({"id": worker.submit(model, text, words).id}, status_code=202, headers=POLLED)

    add_polling(api, "/runs/{run}", lambda run: worker.get(run))

    @api.get("/runs/{run}/next")
    def predicted(run: str, request: Request) -> Json:
        """What the model expected after position i."""
        views = worker.views(run)
        i = number(request, "i", 0, views.predicted)
        top = number(request, "top", 0, 51, default=8)
        found = views.predictions(i, top)
        pairs = [{"token": token.to_dict(), "p": p} for token, p in found.top]
        return Json({"after": i, "entropy": found.entropy, "top": pairs}, headers=FIXED)

    @api.get("/runs/{run}/pictures/{stack}")
    def picture(run: str, stack: str) -> Response:
        """The picture of which the positions of a stack are patches."""
        found = worker.views(run).look.recording.places.get(stack)
        if found is None or found.picture is None:
            raise Refusal(404, f"There is no picture of {stack[:20]!r} here")
        return Response(found.picture, media_type="image/png", headers=FIXED)

    _add_arrays(api, worker)
    return api


def _add_arrays(api: APIRouter, worker: Worker) -> None:
    @api.get("/runs/{run}/thumbnails")
    def thumbnails(run: str, request: Request) -> Response:
        """Every head as a small picture; with values=1 of weight times value."""
        views = worker.views(run)
        return floats(views.value_thumbnails() if values_asked(request) else views.thumbnails())

    head_path = "/runs/{run}/sites/{site}/heads/{head}"

    @api.get(head_path + "/grid")
    def grid(run: str, site: str, head: str, request: Request) -> Response:
        """A block of weights: rows=0:28 and cols=0:28."""
        views, s, h = place(worker, run, site, head)
        rows = span(request, "rows", views.shape(s)[0])
        cols = span(request, "cols", views.shape(s)[1])
        return floats(views.grid(s, h, rows, cols), **seal(views, s, h))

    @api.get(head_path + "/sides")
    def sides(run: str, site: str, head: str) -> Response:
        """What stands along the sides of a heatmap."""
        views, s, h = place(worker, run, site, head)
        found = views.sides(s, h)
        layout = ",".join(f"{name}:{len(values)}" for name, values in found.items())
        return floats(torch.cat(list(found.values())), **{"X-Layout": layout}, **seal(views, s, h))

    @api.get(head_path + "/row")
    def row(run: str, site: str, head: str, request: Request) -> Response:
        """Where query i looks."""
        views, s, h = place(worker, run, site, head)
        i = number(request, "i", 0, views.shape(s)[0])
        return floats(views.row(s, h, i), **seal(views, s, h))

    @api.get(head_path + "/column")
    def column(run: str, site: str, head: str, request: Request) -> Response:
        """Who looks at key j."""
        views, s, h = place(worker, run, site, head)
        j = number(request, "j", 0, views.shape(s)[1])
        return floats(views.column(s, h, j), **seal(views, s, h))

    @api.get(head_path + "/cell")
    def cell(run: str, site: str, head: str, request: Request) -> Json:
        """The arithmetic of the cell i, j."""
        views, s, h = place(worker, run, site, head)
        i = number(request, "i", 0, views.shape(s)[0])
        j = number(request, "j", 0, views.shape(s)[1])
        certificate = seal_of(views.sites[s], h, views.look.batch)
        return Json({**views.cell(s, h, i, j), "certificate": certificate}, headers=FIXED)


def _wish(body: bytes) -> tuple[str, str, str]:
    """Return model, text and the form of words of a request's body."""
    wanted = 'A JSON object {"model": "embedded", "text": "…"} is wanted'
    found = wish(body, wanted)
    for name in ("model", "text"):
        if not isinstance(found.get(name), str):
            raise Refusal(400, f"{name!r} is missing or no string", wanted=wanted)
    words = found.get("words", "")
    if words not in ("", *SPECIALS):
        raise Refusal(400, f"words is {words!r:.40}", wanted="'mark' or 'fold', or none for tokens")
    return found["model"], found["text"], words
