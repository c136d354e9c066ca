"""Hooks common to all modules: they say which module of a recorded model runs, and where a run begins and
ends.

They are global, not one a module: torch's fused encoder layers look for hooks on themselves and take
another path, with other outputs, where they find one. With no recording open, there is no hook, and torch
answers for itself whether anybody listens.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from attnscope.listen.ears import Ears, hide
from attnscope.listen.frames import Frame, here
from attnscope.listen.owners import owner_of
from attnscope.listen.routes import softmax
from attnscope.listen.runs import RunLog
from attnscope.listen.session import Session

_lock = threading.Lock()
_users = 0
_undo: list[Callable[[], None]] = []


def acquire() -> None:
    """One more recording is open."""
    global _users
    with _lock:
        _users += 1
        if _users == 1:
            _undo.append(hide())
            _undo.append(register_module_forward_pre_hook(_before).remove)
            _undo.append(register_module_forward_hook(_after, always_call=True).remove)


def release() -> None:
    """One recording fewer; with the last the hooks go."""
    global _users
    with _lock:
        _users -= 1
        if _users == 0:
            while _undo:
                _undo.pop()()


def clear(session: Session) -> None:
    """Forgets this thread's frames of a session: an interrupt (Ctrl-C) passes by the hooks that would end
    them.
    """
    if any(frame.session is session for frame in here.frames):
        for log in {id(frame.log): frame.log for frame in here.frames if frame.session is session}.values():
            session.forward_over(log)
        here.frames = [frame for frame in here.frames if frame.session is not session]
        here.grids = [grid for grid in here.grids if grid.frame in here.frames]
    if not here.frames:
        here.inside = None
        here.drop_mode()


def _before(module: nn.Module, args: Any) -> None:
    if torch.compiler.is_compiling() or torch._C._current_graph_task_id() != -1:
        return  # compiled code cannot be heard; in a backward pass, checkpointing calls its layers once more
    session = owner_of(module)
    if session is None:
        return
    name = session.name_of(module)
    if module is session.model and any(frame.module is module for frame in here.frames):
        clear(session)
    log = _log_of(session, name)
    log.entered.setdefault(name, module)
    frame = Frame(module, name, session, log)
    softmax.entered(frame, args)
    if not here.frames:
        here.push_mode(Ears())
    here.frames.append(frame)


def _after(module: nn.Module, args: Any, result: Any) -> None:
    frame = here.top
    if frame is None or frame.module is not module:
        return
    here.frames.pop()
    softmax.left(frame)
    if not here.frames:
        here.drop_mode()
    if not any(one.log is frame.log for one in here.frames):
        frame.session.forward_over(frame.log)


def _log_of(session: Session, name: str) -> RunLog:
    for frame in here.frames:
        if frame.session is session:
            return frame.log
    return here.generating_for(session) or session.begin(name)
