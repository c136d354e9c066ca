"""Knock-outs that a page asks for: one at a time, each in a thread of its own, polled, cancelled, kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fastapi import APIRouter, Request

from attnscope.knocking import Bench, Cut, Knockout
from attnscope.knocking.cut import HOWS
from attnscope.knocking.of_text import bench_of, told_of
from attnscope.listen.changing import FUSED, OWN_CODE
from attnscope.models import Look, Subject
from attnscope.models.again import open_again, why_not_again
from attnscope.recording import Site
from attnscope.web.answers import FIXED, POLLED
from attnscope.web.catalogue import Catalogue
from attnscope.web.job import Job
from attnscope.web.jobs import Jobs
from attnscope.web.numbers import number, whole
from attnscope.web.polling import add_polling
from attnscope.web.refusals import Json, Refusal
from attnscope.web.wishes import wish
from attnscope.web.worker import Worker

_WANTED = 'A JSON object {"site": 3, "head": 5, "i": 12, "j": 4, "how": "renormalise"} is wanted'

Found = tuple[Subject, Knockout]
"""A knock-out with the model that was on the bench."""


@dataclass(eq=False)
class KnockRoom:
    """The knock-outs of the runs that the worker holds, and the model that was last on the bench."""

    worker: Worker
    catalogue: Catalogue
    jobs: Jobs[Job[Found]] = field(default_factory=lambda: Jobs("knock-out", Job[Found]), init=False)
    _bench: tuple[str, Subject, Bench] | None = field(default=None, init=False)

    def why_not(self, run: str, site: Site) -> str | None:
        """Why nothing of a site can be taken out; None where it can be tried."""
        views = self.worker.views(run)
        if site.route == "softmax":
            return _sentence(OWN_CODE)
        if site.route == "multihead/fused":
            return _sentence(FUSED)
        recorded = self.catalogue.recorded(self.worker.get(run).model)
        return why_not_again(views.look) if recorded else None

    def submit(self, run: str, cut: Cut) -> Job[Found]:
        """The job of a knock-out, a new one unless the same is under way or done."""

        def work(job: Job[Found]) -> Found:
            job.advance("Opening the model", 0, 4)
            with self.catalogue.alone:
                subject, bench = self._bench_of(run, job)
                return subject, bench.without(cut)

        return self.jobs.submit((run, cut), work, owner=run)

    def _bench_of(self, run: str, job: Job[Found]) -> tuple[Subject, Bench]:
        """The model with its text; the last one stays on the bench, so that its next knock-out is one run."""
        if self._bench is not None and self._bench[0] == run:
            _, subject, bench = self._bench
            bench.progress = job.advance
            return subject, bench
        self._bench = None  # two answers of a large vocabulary are not held beside two others
        held = self.worker.get(run)
        opened = self.catalogue.open(held.model)
        subject, text = open_again(opened) if isinstance(opened, Look) else (opened, held.text)
        bench = bench_of(subject, text, progress=job.advance)
        self._bench = (run, subject, bench)
        return subject, bench


def _sentence(reason: str) -> str:
    return reason[:1].upper() + reason[1:]


def knock_routes(worker: Worker, room: KnockRoom) -> APIRouter:
    """Return the routes of the knock-outs, under /api."""
    api = APIRouter(prefix="/api")

    @api.get("/runs/{run}/sites/{site}/knockout")
    def able(run: str, site: str) -> Json:
        """Why nothing of a site can be taken out, null where it can."""
        sites = worker.views(run).sites
        return Json({"why_not": room.why_not(run, sites[whole(site, "site", 0, len(sites))])}, headers=POLLED)

    @api.post("/runs/{run}/knockouts")
    async def start(run: str, request: Request) -> Json:
        """Start one of {"site", "head", "i", "j", "how"}; i and j null for the whole head."""
        site, cut = _cut(worker, run, await request.body())
        why = room.why_not(run, site)
        if why is not None:
            raise Refusal(409, "Nothing can be taken out here", wanted=why)
        return Json({"id": room.submit(run, cut).id}, status_code=202, headers=POLLED)

    add_polling(
        api, "/runs/{run}/knockouts/{knockout}", lambda run, knockout: room.jobs.get(knockout, owner=run)
    )

    @api.get("/runs/{run}/knockouts/{knockout}/next")
    def told(run: str, knockout: str, request: Request) -> Json:
        """What a finished one tells: how far the answer moved, and the likeliest tokens after position i."""
        subject, found = room.jobs.get(knockout, owner=run).outcome()
        i = number(request, "i", 0, found.positions, default=found.position())
        top = number(request, "top", 0, 51, default=8)
        return Json(told_of(subject, found, i, top=top), headers=FIXED)

    return api


def _cut(worker: Worker, run: str, body: bytes) -> tuple[Site, Cut]:
    """The cut that a request asks for, within the numbers of the run. Raises Refusal."""
    found, sites = wish(body, _WANTED), worker.views(run).sites
    site = sites[_number(found, "site", len(sites))]
    head = _number(found, "head", site.heads)
    how = found.get("how", "renormalise")
    if how not in HOWS:
        raise Refusal(400, f"how is {how!r:.40}", wanted=f"One of {', '.join(HOWS)} is wanted")
    if found.get("i") is None and found.get("j") is None:
        return site, Cut(site.name, head, how=how, order=site.order)
    i, j = _number(found, "i", site.tq), _number(found, "j", site.tk)
    return site, Cut(site.name, head, i, j, how, order=site.order)


def _number(found: dict[str, Any], name: str, size: int) -> int:
    given = found.get(name)
    if not isinstance(given, int) or isinstance(given, bool) or not 0 <= given < size:
        raise Refusal(400, f"There is no {name} {given!r:.20} here", wanted=f"{name} from 0 to {size - 1}")
    return given
