"""The stack of function modes of a thread, by torch's own names for what `with mode:` does: what a recording
switches on begins and ends in two hooks, where no `with` can stand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torch import overrides
from torch.overrides import TorchFunctionMode

push: Callable[[TorchFunctionMode], None] = overrides._push_mode
pop: Callable[[], TorchFunctionMode] = overrides._pop_mode
modes: Callable[[], list[TorchFunctionMode]] = overrides._get_current_function_mode_stack


def remove(mode: TorchFunctionMode) -> bool:
    """Takes a mode off the stack; modes that others have pushed meanwhile stay, in their order. False where
    it is not on it: while it hears a call it is taken off, and comes back.
    """
    if mode not in modes():
        return False
    others = []
    while (top := pop()) is not mode:
        others.append(top)
    for other in reversed(others):
        push(other)
    return True


@contextmanager
def at_the_end(mode: TorchFunctionMode) -> Iterator[None]:
    """The mode below all others, so that it hears what they hand on."""
    others = [pop() for _ in modes()]
    for each in (mode, *reversed(others)):
        push(each)
    try:
        yield
    finally:
        remove(mode)
