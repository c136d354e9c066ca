"""The recordings that are open, and which of them a call belongs to.

A call belongs to the innermost recording of its own context that knows the module. A thread inherits no
context, so threads started inside a block are marked with its recordings (a streamer's generate() runs in
such a thread). Any other thread that runs the same model meanwhile is nobody's: its calls are counted, and
never mixed in.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from torch import nn

from attnscope.listen.session import Session

_open: list[Session] = []
_lock = threading.Lock()
_context: ContextVar[tuple[Session, ...]] = ContextVar("attnscope_recordings", default=())
_start: list[Callable[..., None]] = []
MARK = "_attnscope_recordings"


def enter(session: Session) -> None:
    """The session is open, in this context and in the threads that are started from it."""
    with _lock:
        _open.append(session)
        if len(_open) == 1:
            _mark_new_threads()
    _context.set((*_mine(), session))


def leave(session: Session) -> None:
    """The session is closed everywhere; with the last one, threads start as before."""
    with _lock:
        _open[:] = [one for one in _open if one is not session]
        while _start and not _open:
            setattr(threading.Thread, "start", _start.pop())  # noqa: B010
    _context.set(tuple(one for one in _context.get() if one is not session))


def owner_of(module: nn.Module) -> Session | None:
    """The recording a module's calls belong to, None where nobody listens."""
    for session in reversed(_mine()):
        if session.knows(module) and session in _open:
            return session
    for session in _open:
        if session.model is module:
            session.elsewhere += 1
    return None


def _mine() -> tuple[Session, ...]:
    """The recordings of this context, else those of the block in which this thread was started."""
    marks: tuple[weakref.ref[Session], ...] = getattr(threading.current_thread(), MARK, ())
    return _context.get() or tuple(session for mark in marks if (session := mark()) is not None)


def _mark_new_threads() -> None:
    start = threading.Thread.start

    @functools.wraps(start)
    def marking(thread: threading.Thread, *args: Any, **kwargs: Any) -> None:
        mine = _mine()
        if mine:
            setattr(thread, MARK, tuple(map(weakref.ref, mine)))
        start(thread, *args, **kwargs)

    setattr(threading.Thread, "start", marking)  # noqa: B010 - mypy does not let a method be replaced
    _start.append(start)
