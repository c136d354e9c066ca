"""The tables of heads that the app has: those of files named at start, and those it measured itself.

A survey of a model reads our own passages and random tokens; one of a recording reads the recording's own
texts, without a model. One is measured at a time, in a thread of its own; between two texts it lets a run of
the same model go before.
"""

from __future__ import annotations

import logging
import math
import secrets
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from attnscope.errors import AttnscopeError, NotKept, ServerError
from attnscope.measure import HeadTable, heads
from attnscope.models import Look, Subject
from attnscope.web.catalogue import Catalogue
from attnscope.web.opening import Opening, of_recording, of_table, same_recording
from attnscope.web.refusals import Refusal, error_fields
from attnscope.web.runs import ENDED, Cancelled, Run, Step

REMEMBERED = 32
_log = logging.getLogger(__name__)


@dataclass(eq=False)
class Job(Run):
    """One survey that the app makes; `model` is an entry of the catalogue."""

    table: HeadTable | None = None

    def measured(self, table: HeadTable) -> None:
        """End well."""
        with self._lock:
            if self.state == "cancelled":
                raise Cancelled
            self.table, self.state, self.step = table, "done", Step("Done", 1, 1)


@dataclass(frozen=True, eq=False)
class Survey:
    """A table with what the app can open of it. file: it was named at start."""

    id: str
    table: HeadTable
    opening: Opening
    file: bool


@dataclass(eq=False)
class Surveys:
    """Starts surveys and gives them back; safe to call from many requests at once."""

    catalogue: Catalogue
    _jobs: OrderedDict[str, Job] = field(default_factory=OrderedDict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _turn: threading.Lock = field(default_factory=threading.Lock, init=False)

    def listed(self) -> list[dict[str, Any]]:
        """Every survey that there is or can be, files first, as JSON values."""
        files = [
            {"id": name, "label": f"{name} · {_label(table)}", "kind": "file", "job": None, "measured": True}
            for name, table in self.catalogue.surveys.items()
        ]
        entries = []
        for name, entry in self.catalogue.entries.items():
            job = self._last(self._key(name))
            waits = job is not None and job.state not in ENDED
            entries.append(
                {
                    "id": name,
                    "label": entry.description.label,
                    "kind": "recording" if entry.recorded else "model",
                    "job": job.id if waits and job is not None else None,
                    "measured": self.about(name) is not None,
                }
            )
        return [*files, *entries]

    def get(self, name: str) -> Survey:
        """A survey by the name of its file, or of a model or recording: see about().

        Refusal 404 where there is no such name, 409 where nothing was measured yet.
        """
        if name in self.catalogue.surveys:
            return self._file(name)
        self._check(name)
        found = self.about(name)
        if found is None:
            raise Refusal(409, f"The heads of {name[:60]} are not measured yet", hint="Measure them first")
        return found

    def about(self, model: str) -> Survey | None:
        """What is known of the heads of a model or recording: measured here, else told by a file."""
        self.catalogue.check(model)
        job = self._last(self._key(model))
        if job is not None and job.table is not None:
            recorded = self.catalogue.recorded(model)
            opening = (
                of_recording(self.catalogue, model)
                if recorded
                else of_table(self.catalogue, job.table, model)
            )
            return Survey(model, job.table, opening, file=False)
        files = (self._file(name) for name in self.catalogue.surveys)
        return next((one for one in files if model in one.opening.models), None)

    def _file(self, name: str) -> Survey:
        table = self.catalogue.surveys[name]
        return Survey(name, table, of_table(self.catalogue, table), file=True)

    def submit(self, name: str) -> Job:
        """The survey of a model or recording: a new one unless it is under way or done."""
        self._check(name)
        key = self._key(name)
        with self._lock:
            known = self._of(key)
            if known is not None and known.state not in ("failed", "cancelled"):
                return known
            job = Job(secrets.token_hex(8), key, "", step=Step("Waiting for the survey before", 0, 0))
            self._jobs[job.id] = job
            while len(self._jobs) > REMEMBERED:
                self._jobs.popitem(last=False)[1].cancel()
            threading.Thread(target=self._work, args=(job,), name="attnscope-heads", daemon=True).start()
            return job

    def job(self, key: str) -> Job:
        """A survey under way, or ended, by its id; Refusal 404 where it is unknown or was let go."""
        with self._lock:
            if key not in self._jobs:
                raise Refusal(
                    404, "This survey is not held any more",
                    wanted=f"The last {REMEMBERED} are kept while the app runs", hint="Measure again",
                )  # fmt: skip
            return self._jobs[key]

    def close(self) -> None:
        """Stop every one."""
        with self._lock:
            for job in self._jobs.values():
                job.cancel()

    def _check(self, name: str) -> None:
        if name not in self.catalogue.entries:
            raise Refusal(
                404, f"There is no survey {name[:60]!r} here",
                wanted=f"On offer are {', '.join([*self.catalogue.surveys, *self.catalogue.entries])}",
                hint="Others are named at start: attnscope app heads.json",
            )  # fmt: skip

    def _key(self, name: str) -> str:
        """The entry under which a survey is kept: the first of those that show one recording."""
        return same_recording(self.catalogue, name)[0] if self.catalogue.recorded(name) else name

    def _last(self, key: str) -> Job | None:
        with self._lock:
            return self._of(key)

    def _of(self, key: str) -> Job | None:
        return next((job for job in reversed(self._jobs.values()) if job.model == key), None)

    def _work(self, job: Job) -> None:
        try:
            with self._turn:
                job.enter("loading", Step("Opening", 0, 0))
                opened = self.catalogue.open(job.model)
                job.measured(self._measured(job, opened))
        except Cancelled:
            return
        except AttnscopeError as error:
            job.fail(error_fields(error))
        except MemoryError:
            job.fail(error_fields(ServerError("This machine ran out of memory", hint="Close other views")))
        except Exception as error:
            _log.exception("A survey failed")
            what = f"The survey met something it did not expect ({type(error).__name__})"
            job.fail(error_fields(ServerError(what, hint="The terminal in which attnscope runs says more")))

    def _measured(self, job: Job, opened: Subject | Look) -> HeadTable:
        if isinstance(opened, Look):
            table = heads(opened.recording, progress=job.advance)
            _check_any(table)
            return table
        alone = self.catalogue.alone

        def between(text: str, done: int, total: int) -> None:
            alone.release()
            time.sleep(_PAUSE)  # whoever waits for the model takes it now
            alone.acquire()
            job.advance(text, done, total)

        with alone:
            return heads(opened, progress=between)


_PAUSE = 0.01  # seconds


def _label(table: HeadTable) -> str:
    return str(table.model.get("label") or table.model.get("class") or "a model")


def _check_any(table: HeadTable) -> None:
    """Refuse a recording of which nothing can be told."""
    every = [one for row in table.rows for one in row.scores.values()]
    if all(math.isnan(one.value) for one in every):
        said = next(
            (one.reason for one in every if "q and k" in one.reason), every[0].reason if every else ""
        )
        raise NotKept(
            f"Nothing can be measured in this recording: {said}",
            wanted="A recording made with keep='qk' or more",
        )
