"""The recordings that are open, and which of them a call belongs to.

A call belongs to the innermost recording of its own context that knows the module. A thread inherits no
context, so threads started inside a block are marked with its recordings (a streamer's generate() runs in
such a thread), and with the run in the middle of which they were started, of which they are a part. Any
other thread that runs the same model meanwhile is nobody's: its calls are counted, and never mixed in.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from torch import nn

from attnscope.listen.frames import here
from attnscope.listen.runs import RunLog
from attnscope.listen.session import Session
from attnscope.listen.shared import Shared

_Refs = tuple[weakref.ref[Session], ...]
"""Weak: contexts and threads may outlive a recording, and its model."""

_open: list[Session] = []
_context: ContextVar[_Refs] = ContextVar("attnscope_recordings", default=())
MARK = "_attnscope_started_in"


@dataclass(frozen=True, eq=False)
class _StartedIn:
    """What a thread was started in. runs: that were going on in the thread which started it."""

    sessions: _Refs
    runs: tuple[weakref.ref[RunLog], ...]


def enter(session: Session) -> None:
    """The session is open, in this context and in the threads that are started from it."""
    threads.hold(session)
    _open.append(session)
    _context.set(_refs([*_mine(), session]))


def leave(session: Session) -> None:
    """The session is closed everywhere; with the last one, threads start as before."""
    _open[:] = [one for one in _open if one is not session]
    _context.set(_refs(one for one in _alive(_context.get()) if one is not session))
    threads.let_go(session)


def owner_of(module: nn.Module) -> Session | None:
    """The recording a module's calls belong to, None where nobody listens."""
    for session in reversed(_mine()):
        if session.parts.knows(module) and session.listens:
            return session
    for session in _open:
        session.missing.overhear(module)
    return None


def inherited(session: Session) -> RunLog | None:
    """The run of a session that this thread was started in the middle of, while it goes on."""
    started: _StartedIn | None = getattr(threading.current_thread(), MARK, None)
    runs = _alive(() if started is None else started.runs)
    return next((log for log in runs if log.session is session and not log.ended), None)


def _mine() -> list[Session]:
    """The recordings of this context, else those of the block in which this thread was started."""
    started: _StartedIn | None = getattr(threading.current_thread(), MARK, None)
    own = _alive(_context.get())
    return own or _alive(() if started is None else started.sessions)


def _alive(refs: Iterable[Callable[[], Any]]) -> list[Any]:
    return [one for ref in refs if (one := ref()) is not None]


def _refs(sessions: Iterable[Session]) -> _Refs:
    return tuple(map(weakref.ref, sessions))


def _mark(undo: ExitStack) -> bool:
    start = threading.Thread.start

    @functools.wraps(start)
    def marking(thread: threading.Thread, *args: Any, **kwargs: Any) -> None:
        mine = _mine()
        if mine:
            runs = [log for session in mine if (log := here.log_of(session)) is not None]
            setattr(thread, MARK, _StartedIn(_refs(mine), tuple(map(weakref.ref, runs))))
        start(thread, *args, **kwargs)

    undo.callback(setattr, threading.Thread, "start", start)
    setattr(threading.Thread, "start", marking)  # noqa: B010 - mypy does not let a method be replaced
    return True


threads = Shared(_mark)
