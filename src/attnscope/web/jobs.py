"""The jobs of one kind: started, found by their id, and carried out one at a time, each in its own thread."""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from attnscope.web.job import Job, Step
from attnscope.web.refusals import Refusal

J = TypeVar("J", bound=Job[Any])

REMEMBERED = 64


class Jobs(Generic[J]):
    """The jobs of one kind; safe to call from many requests at once."""

    def __init__(self, what: str, kind: Callable[..., J], *, remembered: int = REMEMBERED) -> None:
        """what: one of them in words, "knock-out".   kind: makes one of them."""
        self._what, self._kind, self._remembered = what, kind, remembered
        self._jobs: OrderedDict[str, J] = OrderedDict()
        self._threads: dict[str, threading.Thread] = {}
        self._lock, self._turn = threading.Lock(), threading.Lock()
        self._closed = False

    def submit(self, asked: object, work: Callable[[J], Any], *, owner: str = "", anew: bool = False) -> J:
        """The job of what is asked: a new one unless the same is under way or done; `anew` where one that is
        done is not wanted.
        """
        with self._lock:
            known = self._last(asked)
            if known is not None and not (known.in_vain or (anew and known.ended)):
                self._jobs.move_to_end(known.id)
                return known
            if self._closed:
                raise Refusal(503, "The app is ending", wanted=f"No new {self._what} is begun")
            job = self._kind(secrets.token_hex(10), what=self._what, asked=asked, owner=owner)
            self._jobs[job.id] = job
            while len(self._jobs) > self._remembered:
                self._jobs.popitem(last=False)[1].cancel()
            self._begin(job, work)
            return job

    def get(self, key: str, *, owner: str = "") -> J:
        """A job by its id; Refusal 404 where it is unknown, of another owner, or was let go."""
        with self._lock:
            if key in self._jobs and self._jobs[key].owner == owner:
                self._jobs.move_to_end(key)
                return self._jobs[key]
        raise Refusal(
            404, f"This {self._what} is not held any more",
            wanted=f"The last {self._remembered} are kept while the app runs", hint="Ask for it again",
        )  # fmt: skip

    def last(self, asked: object) -> J | None:
        """The newest job of what is asked, however it ended."""
        with self._lock:
            return self._last(asked)

    def under_way(self) -> J | None:
        """One that has not ended."""
        with self._lock:
            return next((job for job in self._jobs.values() if not job.ended), None)

    def close(self, timeout: float = 5.0) -> None:
        """Cancel what is under way, begin nothing more, and wait at most so many seconds for its end."""
        with self._lock:
            self._closed = True
            jobs, threads = list(self._jobs.values()), list(self._threads.values())
        for job in jobs:
            job.cancel()
        end = time.monotonic() + timeout
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _last(self, asked: object) -> J | None:
        return next((job for job in reversed(self._jobs.values()) if job.asked == asked), None)

    def _begin(self, job: J, work: Callable[[J], Any]) -> None:
        name = f"attnscope-{self._what}"
        thread = threading.Thread(target=self._run, args=(job, work), name=name, daemon=True)
        self._threads[job.id] = thread
        thread.start()

    def _run(self, job: J, work: Callable[[J], Any]) -> None:
        with self._turn:
            job.carry_out(lambda: self._started(job, work))
        with self._lock:
            del self._threads[job.id]

    def _started(self, job: J, work: Callable[[J], Any]) -> Any:
        job.enter("loading", Step("Starting", 0, 0))
        return work(job)
