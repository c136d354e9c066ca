"""Knock-outs that a page asks for: one at a time, each in a thread of its own, polled, cancelled, kept."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Literal

from fastapi import APIRouter, Request

from attnscope.errors import AttnscopeError, ServerError
from attnscope.knocking import Bench, Cut, Knockout
from attnscope.knocking.cut import HOWS
from attnscope.knocking.of_text import bench_of, told_of
from attnscope.listen.changing import ELSEWHERE, OWN_CODE
from attnscope.models import Look, Subject
from attnscope.models.again import open_again, why_not_again
from attnscope.recording import Site
from attnscope.web.catalogue import Catalogue
from attnscope.web.numbers import FIXED, POLLED, number, whole
from attnscope.web.refusals import Json, Refusal, error_fields
from attnscope.web.runs import Cancelled
from attnscope.web.wishes import wish
from attnscope.web.worker import Worker

State = Literal["running", "done", "failed", "cancelled"]

REMEMBERED = 64
_WANTED = 'A JSON object {"site": 3, "head": 5, "i": 12, "j": 4, "how": "renormalise"} is wanted'
_log = logging.getLogger(__name__)


@dataclass(eq=False)
class Job:
    """One knock-out: its thread writes it, requests read it."""

    id: str
    run: str
    cut: Cut
    state: State = "running"
    step: tuple[str, int, int] = ("Waiting for the one before", 0, 4)
    error: dict[str, Any] | None = None
    subject: Subject | None = None
    found: Knockout | None = None

    def advance(self, text: str, done: int, total: int) -> None:
        """Tell how far it is; raises Cancelled where someone cancelled it."""
        if self.state != "running":
            raise Cancelled
        self.step = (text, done, total)

    def cancel(self) -> None:
        """Leave it at its next call of attention; one that has ended stays as it is."""
        if self.state == "running":
            self.state = "cancelled"

    def to_dict(self) -> dict[str, Any]:
        """What the page polls."""
        text, done, total = self.step
        return {
            "id": self.id, "state": self.state, "step": text, "done": done, "total": total,
            "error": self.error, "seconds_left": None,
        }  # fmt: skip


@dataclass(eq=False)
class KnockRoom:
    """The knock-outs of the runs that the worker holds, and the model that was last on the bench."""

    worker: Worker
    catalogue: Catalogue
    _jobs: OrderedDict[str, Job] = field(default_factory=OrderedDict, init=False)
    _bench: tuple[str, Subject, Bench] | None = field(default=None, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _turn: threading.Lock = field(default_factory=threading.Lock, init=False)

    def why_not(self, run: str, site: Site) -> str | None:
        """Why nothing of a site can be taken out; None where it can be tried."""
        views = self.worker.views(run)
        if site.route == "softmax":
            return _sentence(OWN_CODE)
        if site.route.startswith("multihead"):
            return _sentence(ELSEWHERE)
        recorded = self.catalogue.recorded(self.worker.get(run).model)
        return why_not_again(views.look) if recorded else None

    def submit(self, run: str, cut: Cut) -> Job:
        """The job of a knock-out, a new one unless the same is under way or done."""
        key = hashlib.sha256(repr((run, cut)).encode()).hexdigest()[:20]
        with self._lock:
            job = self._jobs.get(key)
            if job is None or job.state in ("failed", "cancelled"):
                job = self._jobs[key] = Job(key, run, cut)
                thread = threading.Thread(target=self._work, args=(job,), name="attnscope-knock", daemon=True)
                thread.start()
            self._jobs.move_to_end(key)
            while len(self._jobs) > REMEMBERED:
                self._jobs.popitem(last=False)[1].cancel()
            return job

    def get(self, run: str, key: str) -> Job:
        """A job by its id; Refusal 404 where it is unknown or was let go."""
        with self._lock:
            job = self._jobs.get(key)
        if job is None or job.run != run:
            raise Refusal(
                404, "This knock-out is not held any more",
                wanted=f"The last {REMEMBERED} are kept while the app runs", hint="Ask for it again",
            )  # fmt: skip
        return job

    def close(self) -> None:
        """Stop every one."""
        with self._lock:
            for job in self._jobs.values():
                job.cancel()

    def _work(self, job: Job) -> None:
        try:
            with self._turn:
                job.advance("Opening the model", 0, 4)
                with self.catalogue.alone:
                    job.subject, bench = self._bench_of(job)
                    job.found = bench.without(job.cut)
            job.advance("Done", 4, 4)
            job.state = "done"
        except Cancelled:
            job.cancel()
        except AttnscopeError as error:
            _fail(job, error)
        except MemoryError:
            _fail(job, ServerError("This machine ran out of memory", hint="Try a shorter text"))
        except Exception as error:
            _log.exception("A knock-out failed")
            what = f"The knock-out met something it did not expect ({type(error).__name__})"
            _fail(job, ServerError(what, hint="The terminal in which attnscope runs says more"))

    def _bench_of(self, job: Job) -> tuple[Subject, Bench]:
        """The model with its text; the last one stays on the bench, so that its next knock-out is one run."""
        if self._bench is not None and self._bench[0] == job.run:
            _, subject, bench = self._bench
            bench.progress = job.advance
            return subject, bench
        self._bench = None  # two answers of a large vocabulary are not held beside two others
        run = self.worker.get(job.run)
        opened = self.catalogue.open(run.model)
        subject, text = open_again(opened) if isinstance(opened, Look) else (opened, run.text)
        bench = bench_of(subject, text, progress=job.advance)
        self._bench = (job.run, subject, bench)
        return subject, bench


def _fail(job: Job, error: AttnscopeError) -> None:
    if job.state == "running":
        job.error, job.state = error_fields(error), "failed"


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

    @api.get("/runs/{run}/knockouts/{knockout}")
    def state(run: str, knockout: str) -> Json:
        """The state of one."""
        return Json(room.get(run, knockout).to_dict(), headers=POLLED)

    @api.delete("/runs/{run}/knockouts/{knockout}")
    def cancel(run: str, knockout: str) -> Json:
        """Cancel one."""
        job = room.get(run, knockout)
        job.cancel()
        return Json(job.to_dict(), headers=POLLED)

    @api.get("/runs/{run}/knockouts/{knockout}/next")
    def told(run: str, knockout: str, request: Request) -> Json:
        """What a finished one tells: how far the answer moved, and the likeliest tokens after position i."""
        job = room.get(run, knockout)
        if job.found is None or job.subject is None:
            raise Refusal(409, f"This knock-out is {job.state}", wanted="Only a finished one can be told of")
        at = job.found.position()
        i = number(request, "i", 0, job.found.positions, default=at)
        top = number(request, "top", 0, 51, default=8)
        return Json(told_of(job.subject, job.found, i, top=top), headers=FIXED)

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
