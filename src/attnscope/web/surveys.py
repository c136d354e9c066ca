"""The tables of heads that the app has: those of files named at start, and those it measured itself.

A survey of a model reads our own passages and random tokens; one of a recording reads the recording's own
texts, without a model. One is measured at a time, in a thread of its own; between two texts it lets a run of
the same model go before.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any

from attnscope.errors import NotKept
from attnscope.measure import HeadTable, heads
from attnscope.models import Look, Subject
from attnscope.web.catalogue import Catalogue
from attnscope.web.job import Job
from attnscope.web.jobs import Jobs
from attnscope.web.opening import Opening, of_recording, of_table, same_recording
from attnscope.web.refusals import Refusal

REMEMBERED = 32


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
    jobs: Jobs[Job[HeadTable]] = field(
        default_factory=lambda: Jobs("survey", Job[HeadTable], remembered=REMEMBERED), init=False
    )

    def listed(self) -> list[dict[str, Any]]:
        """Every survey that there is or can be, files first, as JSON values."""
        files = [
            {"id": name, "label": f"{name} · {_label(table)}", "kind": "file", "job": None, "measured": True}
            for name, table in self.catalogue.surveys.items()
        ]
        entries = []
        for name, entry in self.catalogue.entries.items():
            job = self.jobs.last(self._key(name))
            entries.append(
                {
                    "id": name,
                    "label": entry.description.label,
                    "kind": "recording" if entry.recorded else "model",
                    "job": None if job is None or job.ended else job.id,
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
        job = self.jobs.last(self._key(model))
        if job is not None and job.found is not None:
            recorded = self.catalogue.recorded(model)
            opening = (
                of_recording(self.catalogue, model)
                if recorded
                else of_table(self.catalogue, job.found, model)
            )
            return Survey(model, job.found, opening, file=False)
        files = (self._file(name) for name in self.catalogue.surveys)
        return next((one for one in files if model in one.opening.models), None)

    def _file(self, name: str) -> Survey:
        table = self.catalogue.surveys[name]
        return Survey(name, table, of_table(self.catalogue, table), file=True)

    def submit(self, name: str) -> Job[HeadTable]:
        """The survey of a model or recording: a new one unless it is under way or done."""
        self._check(name)
        key = self._key(name)
        return self.jobs.submit(key, lambda job: self._measured(job, self.catalogue.open(key)))

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

    def _measured(self, job: Job[HeadTable], opened: Subject | Look) -> HeadTable:
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
