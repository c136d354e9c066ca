"""Ears: a mode that lets routes hear calls of torch's functions in a thread, and hands each call on as it
was.

torch's own transformer layers ask `torch.overrides.has_torch_function` whether anybody listens, and leave
their fused path, with other outputs in padded rows, where it says yes. So for as long as a recording is
open they are answered as if we were not there; everybody else who asks wants to call us, and may.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import nn, overrides
from torch.overrides import TorchFunctionMode

from attnscope.listen.frames import Frame, here
from attnscope.listen.modes import at_the_end, modes, pop, push

Tap = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
"""tap(function, args, kwargs): calls the function, looks, and returns exactly what it returned."""

Follow = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any], Any], None]
"""follow(function, args, kwargs, result) looks at a call that was made."""

FUSED = (nn.modules.activation.__name__, nn.modules.transformer.__name__)
"""Where the question decides upon a fused path."""

_TAPS: dict[Callable[..., Any], Tap] = {}
_FOLLOWS: list[Follow] = []


def taps(*functions: Callable[..., Any]) -> Callable[[Tap], Tap]:
    """Marks what hears some of torch's functions; each function has one tap."""

    def mark(tap: Tap) -> Tap:
        _TAPS.update(dict.fromkeys(functions, tap))
        return tap

    return mark


def follows(follow: Follow) -> Follow:
    """Marks what is told of every call of a function without a tap, while this thread follows anything."""
    _FOLLOWS.append(follow)
    return follow


@contextmanager
def looking(frame: Frame | None = None) -> Iterator[None]:
    """Our own reading of a call, for the innermost frame or another one: a fault in it is a reason why
    nothing is shown, and the model's run goes on.
    """
    frame = frame or here.top
    try:
        yield
    except Exception as error:
        if frame is not None:
            frame.session.unread(frame, error)


def tell(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
    """Tells of a call; for taps of functions that may be followed through."""
    if here.follows:
        with looking():
            for follow in _FOLLOWS:
                follow(func, args, kwargs, result)


class Ears(TorchFunctionMode):
    """A function mode that changes nothing; it lives as long as a recorded model runs in this thread."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Calls `func`, through its tap where it has one. Modes of others hear it before the tap does."""
        tap = _TAPS.get(func)
        kwargs = kwargs or {}
        if torch.compiler.is_compiling():
            return func(*args, **kwargs)
        if tap is not None and not modes():
            return tap(func, args, kwargs)
        if tap is not None:
            with at_the_end(self):
                return func(*args, **kwargs)
        result = func(*args, **kwargs)
        tell(func, args, kwargs, result)
        return result


def hide(undo: ExitStack) -> None:
    """From here on Ears are no reason for torch's layers to take another path; `undo` ends it."""
    has_torch_function = overrides.has_torch_function

    @functools.wraps(has_torch_function)
    def without_us(relevant_args: Iterable[Any]) -> bool:
        if torch.compiler.is_compiling() or [type(mode) for mode in modes()] != [Ears]:
            return has_torch_function(relevant_args)
        if sys._getframe(1).f_globals.get("__name__") not in FUSED:
            return has_torch_function(relevant_args)
        mode = pop()
        try:
            return has_torch_function(relevant_args)
        finally:
            push(mode)

    undo.callback(setattr, overrides, "has_torch_function", has_torch_function)
    setattr(overrides, "has_torch_function", without_us)  # noqa: B010 - mypy lets no function be replaced
