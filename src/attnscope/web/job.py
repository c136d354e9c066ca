"""One piece of work that a page asks for: how far it is, how long it still takes, and how it ended.

Its thread writes it, requests read it, and any of them may cancel it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Generic, Literal, TypeVar

from attnscope.errors import AttnscopeError, ServerError
from attnscope.web.refusals import Refusal, error_fields

T = TypeVar("T")
State = Literal["waiting", "loading", "running", "done", "failed", "cancelled"]

_log = logging.getLogger(__name__)


class Cancelled(Exception):
    """Raised inside a job that was cancelled, to leave whatever it is in."""


@dataclass(frozen=True)
class Step:
    """What a job does now, and how many of how many units of work are done."""

    text: str
    done: float
    total: float


@dataclass(eq=False)
class Job(Generic[T]):
    """what: one of its kind in words, "knock-out".   asked: what was asked for; the same is the same job.
    owner: the run it belongs to, "" where it is of none.   found: what came out, None until it is done.
    """

    id: str
    _: KW_ONLY
    what: str
    asked: object = None
    owner: str = ""
    state: State = "waiting"
    step: Step = Step("Waiting for the one before", 0, 0)
    error: dict[str, Any] | None = None
    found: T | None = None
    _begun: float = field(default=0.0, init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    @property
    def ended(self) -> bool:
        """Return whether nothing more will come of it."""
        return self.state in ("done", "failed", "cancelled")

    @property
    def in_vain(self) -> bool:
        """Return whether it ended without anything found."""
        return self.state in ("failed", "cancelled")

    def outcome(self) -> T:
        """Return what came out of it; Refusal 409 where it is not done."""
        if self.found is None:
            raise Refusal(
                409, f"This {self.what} is {self.state}", wanted="Only a finished one can be looked at"
            )
        return self.found

    def cancel(self) -> None:
        """Leave it at its next step; one that has ended stays as it is."""
        self._end("cancelled", Step("Cancelled", 0, 0))

    def enter(self, state: State, step: Step) -> None:
        """Go to the next state; raises Cancelled where someone cancelled it."""
        with self._lock:
            if self.ended:
                raise Cancelled
            if state == "running" and self.state != "running":
                self._begun = time.monotonic()
            self.state, self.step = state, step

    def advance(self, text: str, done: float, total: float) -> None:
        """Tell how far it is; raises Cancelled where someone cancelled it."""
        self.enter("running", Step(text, done, total))

    def carry_out(
        self, work: Callable[[], T], *, told: Callable[[AttnscopeError], dict[str, Any]] = error_fields
    ) -> None:
        """Do the work and end as it ends: with what it found, cancelled, or with its error as `told`."""
        try:
            self._end("done", Step("Done", 1, 1), found=work())
        except Cancelled:
            self.cancel()
        except Exception as error:
            self._end("failed", Step("Refused", 0, 0), error=told(said_of(error, self.what)))

    def to_dict(self) -> dict[str, Any]:
        """Return what the page polls, as JSON values."""
        with self._lock:
            return {
                "id": self.id,
                "state": self.state,
                "step": self.step.text,
                "done": self.step.done,
                "total": self.step.total,
                "seconds_left": self._seconds_left(),
                "error": self.error,
            }

    def _end(
        self, state: State, step: Step, *, found: T | None = None, error: dict[str, Any] | None = None
    ) -> None:
        """End it, unless it has ended before."""
        with self._lock:
            if not self.ended:
                self.state, self.step, self.found, self.error = state, step, found, error

    def _seconds_left(self) -> float | None:
        """Return the seconds the remaining units take at the speed so far; None before the first is done."""
        if self.state != "running" or not self.step.done:
            return None
        spent = time.monotonic() - self._begun
        return round(spent / self.step.done * (self.step.total - self.step.done), 1)


def said_of(error: Exception, what: str) -> AttnscopeError:
    """Return what is told of an error that ended a `what`; one that nobody expected goes to the terminal."""
    if isinstance(error, AttnscopeError):
        return error
    if isinstance(error, MemoryError):
        return ServerError("This machine ran out of memory", hint="Try a shorter text, or close other views")
    _log.error("A %s failed", what, exc_info=error)
    return ServerError(
        f"The {what} met something it did not expect ({type(error).__name__})",
        hint="The terminal in which attnscope runs says more",
    )
