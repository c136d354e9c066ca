"""One open recording: which modules are its own, what is kept, and the sites that its calls become."""

from __future__ import annotations

import threading
from collections.abc import Callable

from torch import nn

from attnscope.errors import AttnscopeError
from attnscope.listen import collect, summed
from attnscope.listen.call import Call, CannotShowError
from attnscope.listen.collect import Wanted
from attnscope.listen.expected import Keeping
from attnscope.listen.frames import Frame
from attnscope.listen.naming import own_number
from attnscope.listen.quiet import quiet
from attnscope.listen.runs import RunLog
from attnscope.listen.summed import Summed
from attnscope.recording import NotShown, Recording, Run, Site
from attnscope.recording.piece import Piece
from attnscope.recording.writing import Partial

Progress = Callable[[int, str], None]


class Session:
    """Gathers what the routes hear of one model into one Recording. Calls may come from several threads at
    once.
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
        self.logs: list[RunLog] = []
        self.refused: dict[str, NotShown] = {}
        self.taken = 0
        self.left_out = 0
        self.elsewhere = 0
        self.lengths: dict[str, set[int]] = {}  # of keys, by module: a cache keeps them from run to run
        self.fault: OSError | AttnscopeError | None = None
        self._progress = progress
        self._partial = partial
        self._lock = threading.RLock()
        self._modules: dict[str, nn.Module] = dict(
            model.named_modules()
        )  # held, so that no id is given away meanwhile
        self._names: dict[int, str] = {id(module): name for name, module in self._modules.items()}

    def knows(self, module: nn.Module) -> bool:
        """Whether a module is part of this model."""
        return id(module) in self._names

    def name_of(self, module: nn.Module, otherwise: str = "") -> str:
        """The dotted name of a module within the model."""
        return self._names.get(id(module), otherwise)

    def begin(self, name: str, *, whole: bool = False) -> RunLog:
        """A run starts: the model, or a part of it, is called from outside; `whole`: its generate() is."""
        with self._lock:
            run = Run(len(self.recording.runs), name, forwards=0 if whole else 1)
            self.recording.runs.append(run)
            log = RunLog(run, whole)
            if self._partial is not None:
                self._on_disk(log, self._partial, len(self.logs))
            self.logs.append(log)
            return log

    def forward_over(self, log: RunLog) -> None:
        """The outermost module of a forward has returned: the run is over, unless it is a generation."""
        if log.whole:
            log.next_forward()
        else:
            self.end(log)

    def end(self, log: RunLog) -> None:
        """A run is over: what was read of its masks is let go; a run in which nothing was heard is none."""
        try:
            with quiet():
                said = log.finish()
        except (OSError, AttnscopeError) as error:
            self.fault, said = self.fault or error, []
        with self._lock:
            for one in said:
                self.refused.setdefault(one.name, one)
            if not log.run.sites and log.run in self.recording.runs:
                self.recording.runs.remove(log.run)
                for index, run in enumerate(self.recording.runs):
                    run.index = index

    def take(self, frame: Frame, make: Callable[[], Call | Summed]) -> None:
        """A route heard a call: it becomes a site or a part of one, or a reason why it is not shown.

        Whatever goes wrong with our own reading is a reason: the model's run goes on. What `progress` raises
        passes through.
        """
        try:
            name = self._collect(frame, make)
        except CannotShowError as reason:
            return self.not_shown(frame, str(reason))
        except Exception as error:
            return self.not_shown(frame, f"its numbers could not be read: {type(error).__name__}: {error}")
        if name is None:
            return None
        with self._lock:
            self.taken += 1
            done = self.taken
        if self._progress is not None:
            self._progress(done, name)
        return None

    def not_shown(self, frame: Frame, reason: str) -> None:
        """A call, or a module, of which no picture can be given."""
        with self._lock:
            frame.log.heard.setdefault(frame.name, None)
            self.refused.setdefault(frame.name, NotShown(own_number(frame.module), frame.name, reason))

    def _on_disk(self, log: RunLog, partial: Partial, number: int) -> None:
        def name(site: Site) -> str:
            return f"run{number:04d}-site{site.index:04d}.safetensors"

        one_by_one = {} if log.whole else self._modules  # what is joined lies on the disk already
        log.keep = Keeping(partial, one_by_one, self.wanted, name)
        log.strip = lambda name: partial.strip(f"run{number:04d}.{name}")

    def _collect(self, frame: Frame, make: Callable[[], Call | Summed]) -> str | None:
        """The name of what was taken, None where it was left out. Raises CannotShowError."""
        with quiet():
            call = make()
        log = frame.log
        name = self.name_of(call.module, frame.name)
        order = log.calls[name]
        log.calls[name] += 1
        try:
            piece: Piece | Site | None
            if isinstance(call, Summed):
                piece = summed.collect(call, name=name, order=order, log=log, wanted=self.wanted)
            else:
                piece = collect.collect(call, name=name, order=order, log=log, wanted=self.wanted)
            if piece is None:
                with self._lock:
                    self.left_out += 1
                return None
            with quiet():
                why_not = log.take(piece, (name, order))
        except AttnscopeError as error:
            raise CannotShowError(f"its numbers could not be read: {error}") from error
        except OSError as error:
            self.fault = self.fault or error
            raise CannotShowError(f"it could not be written: {error.strerror or error}") from error
        if why_not is not None:
            raise CannotShowError(why_not)
        return name
