"""The worker: runs wait in a line, one thread takes them in turn, and finished ones are kept by bytes."""

from __future__ import annotations

import hashlib
import queue
import secrets
import threading
from collections import OrderedDict
from typing import Any

from attnscope.errors import AttnscopeError
from attnscope.models import Look, Subject
from attnscope.web.catalogue import Catalogue
from attnscope.web.job import Step
from attnscope.web.refusals import Refusal, error_fields, offer_for
from attnscope.web.results import result_of
from attnscope.web.runs import Run, Seen
from attnscope.web.views import Views
from attnscope.web.wordviews import WordViews

KEPT_BYTES = 2 * 2**30
LONGEST_LINE = 32
_REMEMBERED = 200  # runs, ended badly ones included, of which the state can still be asked

SPECIALS = ("mark", "fold")
"""What a run in words does with special tokens."""


class Worker:
    """Takes runs and gives them back; safe to call from many requests at once."""

    def __init__(self, catalogue: Catalogue, *, kept_bytes: int = KEPT_BYTES) -> None:
        """`kept_bytes` is how much finished runs may hold; the newest is kept whatever its size."""
        self._catalogue, self._kept_bytes = catalogue, kept_bytes
        # In the id, so that a browser's cache never takes another server's run for this one's.
        self._server = secrets.token_hex(8)
        self._runs: OrderedDict[str, Run] = OrderedDict()
        self._line: queue.Queue[Run | None] = queue.Queue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Run what the page opens with where it is a recording, which needs no text: it is ready before
        anyone asks for it.
        """
        first = next(iter(self._catalogue.entries), None)
        if first is not None and self._catalogue.recorded(first):
            self.submit(first, "")

    def submit(self, model: str, text: str, words: str = "") -> Run:
        """Return the run of that text, a new one unless the same is under way or done."""
        self._catalogue.check(model)
        text = "" if self._catalogue.recorded(model) else text
        key = self._key(model, text, words)
        with self._lock:
            run = self._runs.get(key)
            if run is not None and not run.in_vain:
                self._runs.move_to_end(key)
                return run
            if self._line.qsize() >= LONGEST_LINE:
                raise Refusal(
                    429,
                    f"{LONGEST_LINE} runs are waiting",
                    wanted="One at a time is run",
                    hint="Wait a little",
                )
            run = self._runs[key] = Run(key, what="run", model=model, text=text, words=words)
            self._runs.move_to_end(key)
            self._forget()
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="attnscope-runs", daemon=True)
                self._thread.start()
        self._line.put(run)
        return run

    def get(self, key: str) -> Run:
        """Return a run by its id; Refusal 404 where it is unknown or was let go."""
        with self._lock:
            if key not in self._runs:
                raise Refusal(
                    404,
                    "This run is not held any more",
                    wanted="Finished runs are kept until memory is wanted for newer ones",
                    hint="Run the text again",
                )
            self._runs.move_to_end(key)
            return self._runs[key]

    def views(self, key: str) -> Views:
        """Return what a finished run shows; Refusal 409 while there is nothing to show."""
        return self.get(key).outcome().views

    def close(self, timeout: float = 5.0) -> None:
        """Cancel what is under way and let the thread end."""
        with self._lock:
            runs, thread = list(self._runs.values()), self._thread
        for run in runs:
            run.cancel()
        if thread is not None:
            self._line.put(None)
            thread.join(timeout)

    def _work(self) -> None:
        while (run := self._line.get()) is not None:
            self._take(run)
            with self._lock:
                self._forget()

    def _take(self, run: Run) -> None:
        opened: Subject | Look | None = None

        def seen() -> Seen:
            nonlocal opened
            run.enter("loading", Step("Opening the model", 0, 0))
            opened = self._catalogue.open(run.model)
            look = opened if isinstance(opened, Look) else self._seen(run) or self._looked(run, opened)
            views = _prepared(run, look)
            return Seen(result_of(views), views)

        def told(error: AttnscopeError) -> dict[str, Any]:
            codec = opened.codec if isinstance(opened, Subject) else None
            return error_fields(error, None if codec is None else offer_for(error, codec, run.text))

        run.carry_out(seen, told=told)

    def _looked(self, run: Run, subject: Subject) -> Look:
        with self._catalogue.alone:
            return _look(run, subject)

    def _seen(self, run: Run) -> Look | None:
        """The look of the same text that shows tokens, or other words, where one is at hand."""
        with self._lock:
            keys = [self._key(run.model, run.text, words) for words in ("", *SPECIALS) if words != run.words]
            found = [self._runs[key].views for key in keys if key in self._runs]
        return next((views.look for views in found if views is not None), None)

    def _key(self, model: str, text: str, words: str) -> str:
        named = (self._server, model, text, *([words] if words else []))
        return hashlib.sha256("\0".join(named).encode()).hexdigest()[:20]

    def _forget(self) -> None:
        """Let the oldest ended runs go while there are too many or they hold too much."""
        held = sum(run.nbytes for run in self._runs.values())
        newest = next(reversed(self._runs), None)
        for key, run in list(self._runs.items()):
            if held <= self._kept_bytes and len(self._runs) <= _REMEMBERED:
                return
            if key != newest and run.ended:
                held -= run.nbytes
                del self._runs[key]


def _look(run: Run, subject: Subject) -> Look:
    """Run the text; a unit of work is a layer, and both passes over a layer count."""
    layers = max(subject.layers, 1)
    run.advance("Reading the text", 0, 3 * layers)

    def recorded(text: str, done: int, _total: int) -> None:
        run.advance(text, min(done, layers), 3 * layers)

    return subject.run(run.text, progress=recorded)


def _prepared(run: Run, look: Look) -> Views:
    """Sum every head up, the last third of the work."""
    views = WordViews(look, specials="fold" if run.words == "fold" else "mark") if run.words else Views(look)
    sites = len(look.sites)
    layers = max(look.description.layers, 1)
    for done in range(sites):
        run.advance(f"Summing up call {done + 1} of {sites}", 2 * layers + layers * done // sites, 3 * layers)
        views.prepare(done)
    return views
