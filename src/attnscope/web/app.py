"""The app put together: pages, files and routes behind the gate, and every error in one shape."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response

from attnscope.errors import AttnscopeError
from attnscope.web.catalogue import Catalogue
from attnscope.web.comparing import Comparing, compare_routes
from attnscope.web.gate import Gate, Names
from attnscope.web.heads import heads_routes
from attnscope.web.knocking import KnockRoom, knock_routes
from attnscope.web.lesson import lesson_routes
from attnscope.web.maps import MapRoom, map_routes
from attnscope.web.measuring import Measuring, measure_routes
from attnscope.web.pages import PAGES, page, to_page
from attnscope.web.refusals import Refusal, refuse
from attnscope.web.routes import api_routes
from attnscope.web.saving import saving_routes
from attnscope.web.statics import STATIC, Files
from attnscope.web.surveys import Surveys
from attnscope.web.worker import KEPT_BYTES, Worker

_TITLES = {
    404: ("There is nothing at {path}", "The pages are at /walk, /explore, /map, /heads and /compare"),
    405: ("{path} does not take {method}", ""),
}


def create_app(
    catalogue: Catalogue, *, names: Names | None = None, base_path: str = "", kept_bytes: int = KEPT_BYTES
) -> FastAPI:
    """Return the app for a catalogue of models.

    `names` are the hosts it answers to, this machine's own by default; `base_path` is the prefix under
    which a proxy shows it, "" or "/some/path"; `kept_bytes` is how much finished runs may hold in memory.
    """
    worker, measuring = Worker(catalogue, kept_bytes=kept_bytes), Measuring()
    room, knocking, surveys = MapRoom(worker), KnockRoom(worker, catalogue), Surveys(catalogue)
    comparing = Comparing(worker, catalogue)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        worker.begin()
        yield
        room.close()
        for one in (measuring, knocking, comparing, surveys):
            one.jobs.close()
        worker.close()

    # The interactive documentation of FastAPI loads its script from another host, so it is off.
    app = FastAPI(title="attnscope", lifespan=life, docs_url=None, redoc_url=None, openapi_url=None)
    app.add_exception_handler(AttnscopeError, _refused)
    app.add_exception_handler(HTTPException, _not_here)
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_middleware(GZipMiddleware, minimum_size=1024, compresslevel=1)
    app.add_middleware(Gate, names=names or Names.of("127.0.0.1"), base_path=base_path)
    _add_pages(app, base_path)
    app.include_router(api_routes(catalogue, worker))
    app.include_router(map_routes(worker, room))
    app.include_router(saving_routes(worker))
    app.include_router(knock_routes(worker, knocking))
    app.include_router(compare_routes(comparing))
    app.include_router(heads_routes(surveys))
    app.include_router(lesson_routes())
    app.include_router(measure_routes(measuring))
    app.mount("/static", Files(directory=STATIC), name="static")
    return app


def _add_pages(app: FastAPI, base_path: str) -> None:
    @app.get("/", include_in_schema=False)
    def root() -> Response:
        """Go to the page."""
        return to_page(base_path, "explore")

    for name in PAGES:
        app.add_api_route(f"/{name}", _page_route(name), include_in_schema=False, response_model=None)

    @app.get("/favicon.ico", include_in_schema=False)
    def icon() -> Response:
        """Go to the icon."""
        return to_page(base_path, "static/icon.svg")


def _page_route(name: str) -> Callable[[], Response]:
    def show() -> Response:
        return page(name)

    return show


async def _refused(_: Request, error: Exception) -> Response:
    return refuse(cast(AttnscopeError, error))


async def _not_here(request: Request, failure: Exception) -> Response:
    error = cast(HTTPException, failure)
    path = request.url.path[:100]
    title, hint = _TITLES.get(error.status_code, (str(error.detail), ""))
    said = Refusal(error.status_code, title.format(path=path, method=request.method), hint=hint)
    response = refuse(said)
    response.headers.update(error.headers or {})
    return response


async def _not_valid(_: Request, error: Exception) -> Response:
    return refuse(Refusal(400, "The request does not have the form that is wanted", wanted=str(error)[:300]))
