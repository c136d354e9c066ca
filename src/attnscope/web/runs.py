"""One run of the app: a text through a model, its state as the page polls it, and how long it still takes."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any, Literal

from attnscope.web.views import Views

State = Literal["waiting", "loading", "running", "done", "failed", "cancelled"]
ENDED = ("done", "failed", "cancelled")


class Cancelled(Exception):
    """Raised inside a run that was cancelled, to leave the model's forward."""


@dataclass(frozen=True)
class Step:
    """How far a run is: what it does now, and how many of how many units of work are done."""

    text: str
    done: int
    total: int


@dataclass(eq=False)
class Run:
    """The one object here that changes: the worker writes it, requests read it.

    words: "" shows tokens, "mark" words with special tokens among them, "fold" words with those as one.
    """

    id: str
    model: str
    text: str
    words: str = ""
    state: State = "waiting"
    step: Step = field(default_factory=lambda: Step("Waiting for the run before", 0, 0))
    error: dict[str, Any] | None = None
    result: dict[str, Any] | None = None
    views: Views | None = None
    _begun: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def cancel(self) -> None:
        """Stop it at its next step; a run that has ended stays as it is."""
        with self._lock:
            if self.state not in ENDED:
                self.state = "cancelled"
                self.step = Step("Cancelled", 0, 0)

    def enter(self, state: State, step: Step) -> None:
        """Go to the next state; raises Cancelled where someone cancelled it."""
        with self._lock:
            if self.state == "cancelled":
                raise Cancelled
            if state == "running" and self.state != "running":
                self._begun = time.monotonic()
            self.state, self.step = state, step

    def advance(self, text: str, done: int, total: int) -> None:
        """Tell how far it is; raises Cancelled where someone cancelled it."""
        self.enter("running", Step(text, done, total))

    def finish(self, result: dict[str, Any], views: Views) -> None:
        """End well."""
        with self._lock:
            if self.state == "cancelled":
                raise Cancelled
            self.result, self.views = result, views
            self.state, self.step = "done", Step("Done", 1, 1)

    def fail(self, error: dict[str, Any]) -> None:
        """End with an error, unless it was cancelled before."""
        with self._lock:
            if self.state != "cancelled":
                self.error, self.state, self.step = error, "failed", Step("Refused", 0, 0)

    @property
    def nbytes(self) -> int:
        """Return about how many bytes it keeps; a character takes up to four."""
        return 4 * len(self.text) + (0 if self.views is None else self.views.nbytes)

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
                "result": self.result,
            }

    def _seconds_left(self) -> float | None:
        """Return the seconds the remaining units take at the speed so far; None before the first is done."""
        if self.state != "running" or not self.step.done:
            return None
        spent = time.monotonic() - self._begun
        return round(spent / self.step.done * (self.step.total - self.step.done), 1)
