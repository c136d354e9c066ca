"""The route that hands a head out as a file: a page, a picture, a table or arrays."""

from __future__ import annotations

from typing import cast

from fastapi import APIRouter
from starlette.responses import Response

from attnscope.exports import FORMS, encode, wanted
from attnscope.exports.files import Form
from attnscope.web.held import Asked
from attnscope.web.numbers import FIXED, place, seal
from attnscope.web.refusals import Refusal
from attnscope.web.shown import shown
from attnscope.web.worker import Worker

TYPES = {  # of every export of any page
    "html": "text/html; charset=utf-8",
    "png": "image/png",
    "svg": "image/svg+xml",
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
    "npz": "application/zip",
}


def saving_routes(worker: Worker) -> APIRouter:
    """Return the route under /api that hands out files."""
    api = APIRouter(prefix="/api")

    @api.get("/runs/{run}/sites/{site}/heads/{head}/export/{form}")
    def export(run: str, site: str, head: str, form: str) -> Response:
        """One head as a file; html is the whole run, with that head first."""
        views, s, h = place(worker, run, site, head)
        if form not in ("html", *FORMS):
            raise Refusal(404, f"There is no export {form[:20]!r}", wanted=f"One of html, {', '.join(FORMS)}")
        look = views.look
        if form == "html":
            page = shown(look.recording, Asked(), run=look.run, batch=look.batch, seen_first=(s, h))
            content = page.page.encode()
        else:
            content = encode(wanted(look.recording, s, h, run=look.run, batch=look.batch), cast(Form, form))
        name = f"layer-{views.sites[s].layer}-head-{h}.{form}"
        sent = {"Content-Disposition": f'attachment; filename="{name}"', **FIXED, **seal(views, s, h)}
        return Response(content, media_type=TYPES[form], headers=sent)

    return api
