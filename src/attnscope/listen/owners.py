"""The recordings that are open, and which of them a call belongs to.

A call belongs to the innermost recording of its own context that knows the module. A thread without one (a
streamer's generate() runs in a thread of its own, and inherits no context) falls to the only open recording
of that module.
"""

from __future__ import annotations

import threading
from contextvars import ContextVar

from torch import nn

from attnscope.errors import RecordingError
from attnscope.listen.session import Session

_open: list[Session] = []
_lock = threading.Lock()
_context: ContextVar[tuple[Session, ...]] = ContextVar("attnscope_recordings", default=())


def enter(session: Session) -> None:
    """The session is open, here and for threads without one."""
    with _lock:
        _open.append(session)
    _context.set((*_context.get(), session))


def leave(session: Session) -> None:
    """The session is closed everywhere."""
    with _lock:
        _open[:] = [one for one in _open if one is not session]
    _context.set(tuple(one for one in _context.get() if one is not session))


def owner_of(module: nn.Module) -> Session | None:
    """The recording a module's calls belong to, None where nobody listens. Raises RecordingError where
    several might.
    """
    for session in reversed(_context.get()):
        if session.knows(module) and session in _open:
            return session
    mine = [session for session in list(_open) if session.knows(module)]
    if len(mine) > 1:
        raise RecordingError(
            f"{len(mine)} open recordings know this {type(module).__name__}, and this thread has none",
            wanted="One recording of a model at a time, or each in the thread that runs the model",
            hint="Open the recording inside the thread: with record(model): model(...)",
        )
    return mine[0] if mine else None
