"""The routes of the page Heads: surveys listed, measured, read as a table, and handed out as files."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from attnscope.exports.scatter import draw_scatter
from attnscope.measure.classes import RULES
from attnscope.measure.files import FORMS, encoded, table_data
from attnscope.measure.scores import NAMES
from attnscope.web.alone.heads import heads_page
from attnscope.web.answers import POLLED, file
from attnscope.web.polling import add_polling
from attnscope.web.refusals import Json, Refusal
from attnscope.web.surveys import Survey, Surveys
from attnscope.web.wishes import wish

_PICTURES = ("png", "svg")
_WANTED = 'A JSON object {"of": "embedded"} is wanted'


def heads_routes(surveys: Surveys) -> APIRouter:
    """Return the routes under /api/heads."""
    api = APIRouter(prefix="/api/heads")

    @api.get("")
    def listed() -> Json:
        """Every survey that there is or can be, and which of them are measured."""
        return Json({"surveys": surveys.listed()}, headers=POLLED)

    @api.post("")
    async def start(request: Request) -> Json:
        """Measure the heads of {"of"}: a model on our own texts, a recording on its own."""
        of = wish(await request.body(), _WANTED).get("of")
        if not isinstance(of, str):
            raise Refusal(400, "'of' is missing or no string", wanted=_WANTED)
        return Json({"id": surveys.submit(of).id}, status_code=202, headers=POLLED)

    add_polling(api, "/jobs/{job}", lambda job: surveys.jobs.get(job))

    @api.get("/table")
    def table(request: Request) -> Json:
        """The table of ?of=, with what opens its heads."""
        survey = surveys.get(_of(request))
        return Json({**table_data(survey.table), "opens": survey.opening.to_dict()}, headers=POLLED)

    @api.get("/classes")
    def classes(request: Request) -> Json:
        """What is known of the heads of ?of=, a model or recording: their classes; null where nothing is."""
        survey = surveys.about(_of(request))
        return Json(None if survey is None else _classes(survey), headers=POLLED)

    @api.get("/export/{form}")
    def export(form: str, request: Request) -> Response:
        """The table of ?of= as a file; a picture is the scatter of ?x= and ?y=, with ?head= in it."""
        if form not in (*FORMS, "html", *_PICTURES):
            wanted = f"One of html, {', '.join((*FORMS, *_PICTURES))}"
            raise Refusal(404, f"There is no export {form[:20]!r}", wanted=wanted)
        survey = surveys.get(_of(request))
        return file(_content(survey, form, request), f"heads.{form}", POLLED)

    return api


def _content(survey: Survey, form: str, request: Request) -> bytes:
    if form == "html":
        return heads_page(survey.table).encode()
    if form in FORMS:
        return encoded(survey.table, form)
    x, y = (_score(request, side) for side in ("x", "y"))
    return draw_scatter(survey.table, x, y, form, chosen=request.query_params.get("head", ""))


def _of(request: Request) -> str:
    if "of" not in request.query_params:
        raise Refusal(400, "of is missing", wanted="of=NAME, one of those that GET /api/heads lists")
    return request.query_params["of"]


def _score(request: Request, side: str) -> str:
    given = request.query_params.get(side, "")
    if given not in NAMES:
        raise Refusal(400, f"There is no score {given[:40]!r}", wanted=f"{side}= one of {', '.join(NAMES)}")
    return given


def _classes(survey: Survey) -> dict[str, Any]:
    """The classes of every head, with the scores that decide them."""
    deciding = {rule.score for rule in RULES}
    rules = [{name: getattr(rule, name) for name in ("name", "glyph", "says", "score")} for rule in RULES]
    rows = [
        {
            **{
                name: getattr(row, name)
                for name in ("site", "name", "order", "layer", "head", "kind", "stack")
            },
            "classes": row.classes,
            "scores": {
                name: {"value": _finite(one.value), "uniform": _finite(one.uniform)}
                for name, one in row.scores.items()
                if name in deciding
            },
        }
        for row in survey.table.rows
    ]
    return {"of": survey.id, "classes": rules, "heads": rows}


def _finite(value: float) -> float | None:
    return None if value != value else value
