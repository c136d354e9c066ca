"""Jobs that the page starts, polls and cancels: one at a time of each kind, the last of them kept."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from attnscope.errors import AttnscopeError, ServerError
from attnscope.web.refusals import Refusal, error_fields
from attnscope.web.runs import Cancelled

T = TypeVar("T")
State = Literal["running", "done", "failed", "cancelled"]

REMEMBERED = 64
_log = logging.getLogger(__name__)


@dataclass(eq=False)
class Job(Generic[T]):
    """One job: its thread writes it, requests read it.

    owner: the run it belongs to, "" where it is of none.   found: what came out, None until it is done.
    """

    id: str
    owner: str = ""
    state: State = "running"
    step: tuple[str, int, int] = ("Waiting for the one before", 0, 1)
    error: dict[str, Any] | None = None
    found: T | None = None

    def advance(self, text: str, done: int, total: int) -> None:
        """Tell how far it is; raises Cancelled where someone cancelled it."""
        if self.state != "running":
            raise Cancelled
        self.step = (text, done, total)

    def cancel(self) -> None:
        """Leave it at its next step; one that has ended stays as it is."""
        if self.state == "running":
            self.state = "cancelled"

    def to_dict(self) -> dict[str, Any]:
        """What the page polls."""
        text, done, total = self.step
        return {
            "id": self.id, "state": self.state, "step": text, "done": done, "total": total,
            "error": self.error, "seconds_left": None,
        }  # fmt: skip


class Jobs(Generic[T]):
    """The jobs of one kind; safe to call from many requests at once."""

    def __init__(self, what: str, *, remembered: int = REMEMBERED) -> None:
        """what: one of them in words, "knock-out"."""
        self._what, self._remembered = what, remembered
        self._jobs: OrderedDict[str, Job[T]] = OrderedDict()
        self._lock, self._turn = threading.Lock(), threading.Lock()

    def submit(self, asked: object, work: Callable[[Job[T]], T], *, owner: str = "") -> Job[T]:
        """The job of what is asked, a new one unless the same is under way or done; its words are its key."""
        key = hashlib.sha256(repr(asked).encode()).hexdigest()[:20]
        with self._lock:
            job = self._jobs.get(key)
            if job is None or job.state in ("failed", "cancelled"):
                job = self._jobs[key] = Job(key, owner)
                name = f"attnscope-{self._what}"
                threading.Thread(target=self._run, args=(job, work), name=name, daemon=True).start()
            self._jobs.move_to_end(key)
            while len(self._jobs) > self._remembered:
                self._jobs.popitem(last=False)[1].cancel()
            return job

    def get(self, key: str, *, owner: str = "") -> Job[T]:
        """A job by its id; Refusal 404 where it is unknown, of another owner, or was let go."""
        with self._lock:
            if key in self._jobs and self._jobs[key].owner == owner:
                self._jobs.move_to_end(key)
                return self._jobs[key]
        raise Refusal(
            404, f"This {self._what} is not held any more",
            wanted=f"The last {self._remembered} are kept while the app runs", hint="Ask for it again",
        )  # fmt: skip

    def finished(self, key: str, *, owner: str = "") -> T:
        """What came out of a job; Refusal 404, and 409 where it is not done."""
        job = self.get(key, owner=owner)
        if job.found is None or job.state != "done":
            raise Refusal(
                409, f"This {self._what} is {job.state}", wanted="Only a finished one can be told of"
            )
        return job.found

    def close(self) -> None:
        """Stop every one."""
        with self._lock:
            for job in self._jobs.values():
                job.cancel()

    def _run(self, job: Job[T], work: Callable[[Job[T]], T]) -> None:
        try:
            with self._turn:
                job.advance("Starting", 0, 1)
                job.found = work(job)
            job.advance("Done", 1, 1)
            job.state = "done"
        except Cancelled:
            job.cancel()
        except AttnscopeError as error:
            _fail(job, error)
        except MemoryError:
            _fail(job, ServerError("This machine ran out of memory", hint="Try a shorter text"))
        except Exception as error:
            _log.exception("A %s failed", self._what)
            what = f"The {self._what} met something it did not expect ({type(error).__name__})"
            _fail(job, ServerError(what, hint="The terminal in which attnscope runs says more"))


def _fail(job: Job[Any], error: AttnscopeError) -> None:
    if job.state == "running":
        job.error, job.state = error_fields(error), "failed"
