"""One open recording: which modules are its own, what is kept, and the sites that its calls become."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from attnscope.errors import AttnscopeError
from attnscope.listen import collect, summed
from attnscope.listen.call import Call, CannotShowError
from attnscope.listen.expected import Keeping
from attnscope.listen.frames import Frame, here
from attnscope.listen.going import Going
from attnscope.listen.missing import Missing
from attnscope.listen.naming import own_number
from attnscope.listen.parts import Parts
from attnscope.listen.projecting import Output
from attnscope.listen.quiet import quiet
from attnscope.listen.runs import Key, RunLog, Waiting
from attnscope.listen.summed import Summed
from attnscope.listen.wanted import Wanted
from attnscope.recording import NotShown, Recording, Run, Site
from attnscope.recording.piece import Piece
from attnscope.recording.writing import Partial

Progress = Callable[[int, str], None]
POLL = 0.02
"""Seconds between two looks at whether a run of another thread is over: it may end without our being told."""

CUT = (
    "it was still running in another thread when the block was left, and what came after that was not heard; "
    "wait for the thread inside the block"
)
RAN_ON = "it ran on in a thread of its own when the forward that had started the thread was over"


class Session:
    """Gathers what the routes hear of one model into one Recording. Calls may come from several threads at
    once. Of a run that is over it holds what may be missing, each module once, and nothing else.
    """

    def __init__(
        self,
        model: nn.Module,
        recording: Recording,
        wanted: Wanted,
        progress: Progress | None = None,
        partial: Partial | None = None,
    ) -> None:
        self.model = model
        self.recording = recording
        self.wanted = wanted
        self.logs: list[RunLog] = []  # of the runs that are going on
        self.begun = 0
        self.parts = Parts(model)
        self.missing = Missing(model, self.parts)
        self.taken = 0
        self.left_out = 0
        self.lengths: dict[str, set[int]] = {}  # of keys, by module: a cache keeps them from run to run
        self.fault: OSError | AttnscopeError | None = None
        self._progress = progress
        self._partial = partial
        self._process = os.getpid()
        self._ending = self._closed = False
        self._lock = threading.RLock()
        self._ended = threading.Condition(self._lock)

    @property
    def listens(self) -> bool:
        """Whether its block is still open, in this process: a fork has a copy, in which nobody listens."""
        return not self._closed and self.own_process

    @property
    def own_process(self) -> bool:
        """Whether this is the process in which the block was opened."""
        return os.getpid() == self._process

    def begin(self, name: str, going: Going, *, whole: bool = False) -> RunLog | None:
        """A run starts: the model, or a part of it, is called from outside; `whole`: its generate() is. None
        where the block is being left.
        """
        with self._lock:
            if self._ending:
                return None
            run = Run(len(self.recording.runs), name, forwards=0 if whole else 1)
            log = RunLog(run, self, going, whole)
            if self._partial is not None:
                self._on_disk(log, self._partial, self.begun)
            self.recording.runs.append(run)
            self.logs.append(log)
            self.begun += 1
            return log

    def forward_over(self, log: RunLog) -> None:
        """The outermost module of a forward has returned: the run is over, unless it is a generation."""
        if not log.whole:
            self.end(log)
            return
        with log.guard:
            if not log.ended:
                log.next_forward()

    def end(self, log: RunLog) -> None:
        """A run is over: what was read of its masks is let go; a run in which nothing was heard is none."""
        said: list[NotShown] = []
        with log.guard:
            if log.ended:
                return
            self._settle(log)
            try:
                with quiet():
                    said = log.finish()
            except Exception as error:
                if isinstance(error, OSError | AttnscopeError):
                    self.fault = self.fault or error
                said = [NotShown(None, log.run.name, f"its numbers could not be put together: {error}")]
        with self._lock:
            for one in said:
                self.missing.refuse(one.layer, one.name, one.reason)
            self.logs[:] = [one for one in self.logs if one is not log]
            self.missing.fold(log)
            if not log.run.sites and log.run in self.recording.runs:
                self.recording.runs.remove(log.run)
                for index, run in enumerate(self.recording.runs):
                    run.index = index
            self._ended.notify_all()

    def close(self, patience: float) -> None:
        """No run begins from here on; those of other threads have `patience` seconds to end. What still goes
        on then is cut off where it stands, which is said.
        """
        until = time.monotonic() + patience
        with self._lock:
            self._ending = True
            while any(log.going.on for log in self.logs) and (left := until - time.monotonic()) > 0:
                self._ended.wait(min(left, POLL))
            self._closed = True
            logs = list(self.logs)
        for log in logs:
            late = log.going.on
            if late:
                self.missing.refuse(None, log.run.name, CUT)
            with log.guard:
                log.cut.update(log.entered if late else ())
            self.end(log)

    def handed_on(self, frame: Frame, result: Any) -> Any:
        """What the model goes on with, of what an attention function returned: here the very same."""
        return result

    def take(self, frame: Frame, make: Callable[[], Call | Summed]) -> None:
        """A route heard a call: it becomes a site or a part of one, or a reason why it is not shown.

        Whatever goes wrong with our own reading is a reason: the model's run goes on. What `progress` raises
        passes through.
        """
        if frame.log.ended:
            if self.listens:
                self.missing.refuse(own_number(frame.module), frame.name, RAN_ON)
            return None
        try:
            name = self._collect(frame, make)
        except CannotShowError as reason:
            return self.not_shown(frame, str(reason))
        except Exception as error:
            return self.unread(frame, error)
        if name is None:
            return None
        with self._lock:
            self.taken += 1
            done = self.taken
        if self._progress is not None:
            self._progress(done, name)
        return None

    def unread(self, frame: Frame, error: Exception) -> None:
        """A fault of our own: a reason, and no more."""
        self.not_shown(frame, f"its numbers could not be read: {type(error).__name__}: {error}")

    def not_shown(self, frame: Frame, reason: str) -> None:
        """A call, or a module, of which no picture can be given."""
        with self._lock:
            if frame.log.ended:
                return
            frame.log.heard.setdefault(frame.name, None)
            self.missing.refuse(own_number(frame.module), frame.name, reason)

    def _on_disk(self, log: RunLog, partial: Partial, number: int) -> None:
        def name(site: Site) -> str:
            return f"run{number:04d}-site{site.index:04d}.safetensors"

        one_by_one = {} if log.whole else self.parts.modules  # what is joined lies on the disk already
        log.keep, log.pictures = Keeping(partial, one_by_one, self.wanted, name), not log.whole
        log.strip = lambda name: partial.strip(f"run{number:04d}.{name}")

    def _collect(self, frame: Frame, make: Callable[[], Call | Summed]) -> str | None:
        """The name of what was taken, None where it was left out. Raises CannotShowError."""
        with quiet():
            call = make()
        name, log = self.parts.name_of(call.module, frame.name), frame.log
        with log.guard:
            if log.ended or not self.own_process:
                return None
            try:
                return self._add(log, call, name)
            except AttnscopeError as error:
                raise CannotShowError(f"its numbers could not be read: {error}") from error
            except OSError as error:
                self.fault = self.fault or error
                raise CannotShowError(f"it could not be written: {error.strerror or error}") from error

    def _add(self, log: RunLog, call: Call | Summed, name: str) -> str | None:
        order = log.calls[name]
        log.calls[name] += 1
        self._settle(log)
        piece: Piece | None
        if isinstance(call, Summed):
            piece = summed.collect(call, name=name, order=order, log=log, wanted=self.wanted)
        else:
            piece = collect.collect(call, name=name, order=order, log=log, wanted=self.wanted)
        if piece is None:
            with self._lock:
                self.left_out += 1
            return None
        with quiet(piece.tensors["v"].device):
            why_not = log.take(piece, (name, order))
        if why_not is not None:
            raise CannotShowError(why_not)
        self._follow(log, call, (name, order), piece.tensors["v"])
        return name

    def _follow(self, log: RunLog, call: Call | Summed, key: Key, v: Tensor) -> None:
        """From here on it is looked for what takes the output of the call."""
        if key in log.projections:
            return
        output = call.output if isinstance(call, Summed) else None
        if isinstance(call, Call):
            output = Output(call.out) if call.projection is None else Output.known(call.projection)
            here.output = output
        if output is None:
            return
        log.waiting = Waiting(key, output, v)
        output.ready = lambda: self._settle(log)
        if output.out is None:  # its way is known already
            self._settle(log)

    def _settle(self, log: RunLog) -> None:
        """Keeps the site that waits to be kept; where that fails there is a reason, and the run goes on."""
        with log.guard:
            name = "" if log.waiting is None else log.waiting.key[0]
            try:
                log.settle()
            except OSError as error:
                self.fault = self.fault or error
                reason = f"it could not be written: {error.strerror or error}"
                self.missing.refuse(log.heard.get(name), name, reason)
            except AttnscopeError as error:
                reason = f"its numbers could not be read: {error}"
                self.missing.refuse(log.heard.get(name), name, reason)
