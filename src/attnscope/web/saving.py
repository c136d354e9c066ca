"""The route that hands a head out as a file: a page, a picture, a table or arrays."""

from __future__ import annotations

from typing import cast

from fastapi import APIRouter, Request
from starlette.responses import Response

from attnscope.exports import FORMS, encode, wanted
from attnscope.exports.files import Form
from attnscope.web.alone.held import Asked
from attnscope.web.alone.recording import shown
from attnscope.web.answers import FIXED, file, seal
from attnscope.web.numbers import place, values_asked
from attnscope.web.refusals import Refusal
from attnscope.web.worker import Worker


def saving_routes(worker: Worker) -> APIRouter:
    """Return the route under /api that hands out files."""
    api = APIRouter(prefix="/api")

    @api.get("/runs/{run}/sites/{site}/heads/{head}/export/{form}")
    def export(run: str, site: str, head: str, form: str, request: Request) -> Response:
        """One head as a file; html is the whole run, with that head first. With values=1 of weight times
        value.
        """
        views, s, h = place(worker, run, site, head)
        values = values_asked(request)
        if form not in ("html", *FORMS):
            raise Refusal(404, f"There is no export {form[:20]!r}", wanted=f"One of html, {', '.join(FORMS)}")
        look = views.look
        if form == "html":
            first = (s, h)
            page = shown(
                look.recording, Asked(), run=look.run, batch=look.batch, seen_first=first, values=values
            )
            content = page.page.encode()
        else:
            asked = wanted(look.recording, s, h, run=look.run, batch=look.batch, values=values)
            content = encode(asked, cast(Form, form))
        name = f"layer-{views.sites[s].layer}-head-{h}{'-values' if values else ''}.{form}"
        return file(content, name, FIXED | seal(views, s, h))

    return api
