"""Hooks common to all modules: they say which module of a recorded model runs, and where a run begins and
ends.

They are global, not one a module: torch's fused encoder layers look for hooks on themselves and take
another path, with other outputs, where they find one. With no recording open, there is no hook, and torch
answers for itself whether anybody listens.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from attnscope.listen.ears import Ears, hide, looking
from attnscope.listen.frames import Frame, here
from attnscope.listen.going import Going
from attnscope.listen.owners import inherited, owner_of
from attnscope.listen.quiet import quiet
from attnscope.listen.routes import softmax
from attnscope.listen.shared import Shared


def _register(undo: ExitStack) -> bool:
    hide(undo)
    undo.callback(register_module_forward_pre_hook(_before).remove)
    undo.callback(register_module_forward_hook(_after, always_call=True).remove)
    return True


hooks = Shared(_register)


def _before(module: nn.Module, args: Any) -> None:
    if torch.compiler.is_compiling() or torch._C._current_graph_task_id() != -1:
        return  # compiled code cannot be heard; in a backward pass, checkpointing calls its layers once more
    if here.mode is not None:
        here.forget()
    session = owner_of(module)
    if session is None:
        return
    name = session.parts.name_of(module)
    going = Going(sys._getframe(2))  # nn.Module._call_impl: what called this is over before _after is called
    log = here.log_of(session) or inherited(session) or session.begin(name, going)
    if log is None:
        return
    log.entered.setdefault(name, module)
    outermost = log.going.thread == going.thread and all(one.log is not log for one in here.frames)
    frame = Frame(module, name, session, log, going, outermost, sys.exception())
    softmax.entered(frame, args)
    here.enter(frame, Ears())


def _after(module: nn.Module, args: Any, result: Any) -> None:
    if torch.compiler.is_compiling():
        return
    frame, caller = here.top, sys._getframe(1)
    if frame is None or frame.going.frame not in (caller, caller.f_back):
        return
    if sys.exception() is not frame.handling:  # what it was at is not finished
        frame.log.cut.add(frame.name)
        here.grids = [grid for grid in here.grids if grid.frame is not frame]
    output = here.output
    if output is not None and frame.outermost:
        with looking(frame), quiet():
            output.hear_returned(result)
    here.leave()
    softmax.left(frame)
    if output is not None and output.until is frame:
        output.ready()
    if frame.outermost:
        frame.session.forward_over(frame.log)
