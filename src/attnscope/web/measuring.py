"""Measurements that the page starts: one at a time, polled, cancelled, and ended with the app."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any, cast

from fastapi import APIRouter, Request

from attnscope.lesson.measuring.children import Stop, Stopped
from attnscope.lesson.measuring.measure import Progress, check_budget, lengths_to, measure_cost
from attnscope.lesson.measuring.measured import Measured
from attnscope.plain import plain
from attnscope.web.answers import POLLED
from attnscope.web.job import Cancelled, Job
from attnscope.web.jobs import Jobs
from attnscope.web.polling import add_polling
from attnscope.web.refusals import Json, Refusal
from attnscope.web.wishes import wish

REMEMBERED = 20  # measurements of which the state can still be asked

_WANTED = 'A JSON object {"budget_mb": 256, "longest": 16384} is wanted'


@dataclass(eq=False)
class Measurement(Job[Measured]):
    """One measurement, which tells the rows that it has so far."""

    progress: Progress | None = None
    stop: Stop = field(default_factory=Stop, repr=False)

    def cancel(self) -> None:
        """Stop it in the middle of whatever it does, and end its processes."""
        super().cancel()
        self.stop.ask()

    def tell(self, progress: Progress) -> None:
        """Keep how far it is; raises Cancelled where someone cancelled it."""
        self.progress = progress
        self.advance(progress.text, round(progress.done, 3), round(progress.total, 3))

    def measured(self, lengths: tuple[int, ...], budget_mb: int) -> Measured:
        """Measure, and tell what is found on the way."""
        try:
            return measure_cost(lengths=lengths, budget_mb=budget_mb, progress=self.tell, stop=self.stop)
        except Stopped as stopped:
            raise Cancelled from stopped

    def to_dict(self) -> dict[str, Any]:
        """Return what the page polls, as JSON values; rows are those that are measured so far."""
        told, now, found = super().to_dict(), self.progress, self.found
        rows = found.rows if found is not None else now.rows if now is not None else ()
        left = now.seconds_left if told["state"] == "running" and now is not None else None
        result = None if found is None else found.to_dict() | {"rows": None}
        return told | {"seconds_left": left, "rows": plain(rows), "result": result}


@dataclass(eq=False)
class Measuring:
    """The measurements of this machine: two would disturb each other, so another one is refused meanwhile."""

    jobs: Jobs[Measurement] = field(
        default_factory=lambda: Jobs("measurement", Measurement, remembered=REMEMBERED), init=False
    )
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def submit(self, budget_mb: int, longest: int) -> Measurement:
        """Return the measurement under way where it is the same, a new one where there is none.

        Raises LessonError for what cannot be measured, Refusal 409 while another is under way.
        """
        lengths, asked = lengths_to(longest), (budget_mb, longest)
        check_budget(budget_mb)
        with self._lock:
            other = self.jobs.under_way()
            if other is not None and other.asked != asked:
                raise _busy(*cast(tuple[int, int], other.asked))
            return self.jobs.submit(asked, lambda job: job.measured(lengths, budget_mb), anew=True)


def _busy(budget_mb: int, longest: int) -> Refusal:
    return Refusal(
        409,
        f"Another measurement is under way, to {longest:,} tokens within {budget_mb:,} MB",
        wanted="One at a time is run: two would disturb each other",
        hint="Wait for its end, or cancel it",
    )


def measure_routes(measuring: Measuring) -> APIRouter:
    """Return the routes under /api/measure."""
    api = APIRouter(prefix="/api/measure")

    @api.post("")
    async def start(request: Request) -> Json:
        """Start a measurement of {"budget_mb", "longest"}."""
        budget_mb, longest = _wish(await request.body())
        return Json({"id": measuring.submit(budget_mb, longest).id}, status_code=202, headers=POLLED)

    add_polling(api, "/{measurement}", lambda measurement: measuring.jobs.get(measurement))
    return api


def _wish(body: bytes) -> tuple[int, int]:
    """Return budget_mb and longest of a request's body."""
    found = wish(body, _WANTED)
    for name in ("budget_mb", "longest"):
        if not isinstance(found.get(name), int) or isinstance(found[name], bool):
            raise Refusal(400, f"{name!r} is missing or no whole number", wanted=_WANTED)
    return found["budget_mb"], found["longest"]
