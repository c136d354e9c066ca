"""Measurements that the page starts: one at a time, polled, cancelled, and ended with the app."""

from __future__ import annotations

import logging
import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Literal

from fastapi import APIRouter, Request

from attnscope.errors import AttnscopeError, ServerError
from attnscope.lesson.measuring.children import Stop, Stopped
from attnscope.lesson.measuring.measure import Progress, check_budget, lengths_to, measure_cost
from attnscope.lesson.measuring.measured import Measured, Row
from attnscope.plain import plain
from attnscope.web.refusals import Json, Refusal, error_fields
from attnscope.web.wishes import wish

State = Literal["running", "done", "failed", "cancelled"]
REMEMBERED = 20  # measurements of which the state can still be asked

_POLLED = {"Cache-Control": "no-store"}
_WANTED = 'A JSON object {"budget_mb": 256, "longest": 16384} is wanted'
_log = logging.getLogger(__name__)


@dataclass(eq=False)
class Job:
    """One measurement: its thread writes it, requests read it."""

    id: str
    budget_mb: int
    longest: int
    state: State = "running"
    progress: Progress = field(default_factory=lambda: Progress("Starting", 0, 1, None, ()))
    result: Measured | None = None
    error: dict[str, Any] | None = None
    stop: Stop = field(default_factory=Stop)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def cancel(self) -> None:
        """Stop it in the middle of whatever it does; one that has ended stays as it is."""
        with self.lock:
            if self.state != "running":
                return
            self.state = "cancelled"
        self.stop.ask()

    def end(
        self, state: State, *, result: Measured | None = None, error: dict[str, Any] | None = None
    ) -> None:
        """End it, unless it was cancelled before."""
        with self.lock:
            if self.state == "running":
                self.state, self.result, self.error = state, result, error

    def tell(self, progress: Progress) -> None:
        """Keep how far it is."""
        self.progress = progress

    def to_dict(self) -> dict[str, Any]:
        """Return what the page polls, as JSON values; rows are those that are measured so far."""
        with self.lock:
            now, rows = self.progress, self._rows()
            return {
                "id": self.id,
                "budget_mb": self.budget_mb,
                "longest": self.longest,
                "state": self.state,
                "step": now.text if self.state == "running" else self.state.capitalize(),
                "done": round(now.done, 3),
                "total": round(now.total, 3),
                "seconds_left": now.seconds_left if self.state == "running" else None,
                "rows": plain(rows),
                "result": None if self.result is None else self.result.to_dict() | {"rows": None},
                "error": self.error,
            }

    def _rows(self) -> tuple[Row, ...]:
        return self.progress.rows if self.result is None else self.result.rows


class Measuring:
    """Starts measurements and gives them back; safe to call from many requests at once."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False

    def submit(self, budget_mb: int, longest: int) -> Job:
        """Return the measurement under way where it is the same, a new one where there is none.

        Raises LessonError for what cannot be measured, Refusal 409 while another is under way.
        """
        lengths = lengths_to(longest)
        check_budget(budget_mb)
        with self._lock:
            under_way = next((job for job in self._jobs.values() if job.state == "running"), None)
            if under_way is not None:
                return _the_same(under_way, budget_mb, longest)
            if self._closed:
                raise Refusal(503, "The app is ending", wanted="No new measurement is begun")
            job = Job(secrets.token_hex(8), budget_mb, longest)
            self._jobs[job.id] = job
            while len(self._jobs) > REMEMBERED:
                self._jobs.popitem(last=False)
            self._thread = threading.Thread(
                target=_measure, args=(job, lengths, self._thread), name="attnscope-measuring", daemon=True
            )
            self._thread.start()
        return job

    def get(self, key: str) -> Job:
        """Return a measurement by its id; Refusal 404 where it is unknown or was let go."""
        with self._lock:
            if key not in self._jobs:
                raise Refusal(
                    404,
                    "This measurement is not held any more",
                    wanted=f"The last {REMEMBERED} are kept while the app runs",
                    hint="Measure again",
                )
            return self._jobs[key]

    def close(self, timeout: float = 5.0) -> None:
        """End what is under way, its processes included."""
        with self._lock:
            self._closed = True
            jobs, thread = list(self._jobs.values()), self._thread
        for job in jobs:
            job.cancel()
        if thread is not None:
            thread.join(timeout)


def _the_same(job: Job, budget_mb: int, longest: int) -> Job:
    if (job.budget_mb, job.longest) == (budget_mb, longest):
        return job
    raise Refusal(
        409,
        f"Another measurement is under way, to {job.longest:,} tokens within {job.budget_mb:,} MB",
        wanted="One at a time is run: two would disturb each other",
        hint="Wait for its end, or cancel it",
    )


def _measure(job: Job, lengths: tuple[int, ...], before: threading.Thread | None) -> None:
    """The thread of one measurement, after that of the one before is over."""
    if before is not None:
        before.join()
    try:
        found = measure_cost(lengths=lengths, budget_mb=job.budget_mb, progress=job.tell, stop=job.stop)
        job.end("done", result=found)
    except Stopped:
        job.end("cancelled")
    except AttnscopeError as error:
        job.end("failed", error=error_fields(error))
    except Exception as error:
        _log.exception("A measurement failed")
        what = f"The measurement met something it did not expect ({type(error).__name__})"
        job.end("failed", error=error_fields(ServerError(what, hint="The terminal of attnscope says more")))


def measure_routes(measuring: Measuring) -> APIRouter:
    """Return the routes under /api/measure."""
    api = APIRouter(prefix="/api/measure")

    @api.post("")
    async def start(request: Request) -> Json:
        """Start a measurement of {"budget_mb", "longest"}."""
        budget_mb, longest = _wish(await request.body())
        return Json({"id": measuring.submit(budget_mb, longest).id}, status_code=202, headers=_POLLED)

    @api.get("/{measurement}")
    def state(measurement: str) -> Json:
        """The state of a measurement, with its rows so far."""
        return Json(measuring.get(measurement).to_dict(), headers=_POLLED)

    @api.delete("/{measurement}")
    def cancel(measurement: str) -> Json:
        """Cancel a measurement."""
        job = measuring.get(measurement)
        job.cancel()
        return Json(job.to_dict(), headers=_POLLED)

    return api


def _wish(body: bytes) -> tuple[int, int]:
    """Return budget_mb and longest of a request's body."""
    found = wish(body, _WANTED)
    for name in ("budget_mb", "longest"):
        if not isinstance(found.get(name), int) or isinstance(found[name], bool):
            raise Refusal(400, f"{name!r} is missing or no whole number", wanted=_WANTED)
    return found["budget_mb"], found["longest"]
