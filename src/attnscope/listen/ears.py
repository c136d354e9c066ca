"""Ears: a mode that lets routes hear calls of torch's functions in a thread, and hands each call on as it
was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from attnscope.listen.frames import here

Tap = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
"""tap(function, args, kwargs): calls the function, looks, and returns exactly what it returned."""

Follow = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any], Any], None]
"""follow(function, args, kwargs, result) looks at a call that was made."""

_TAPS: dict[Callable[..., Any], Tap] = {}
_FOLLOWS: list[Follow] = []


def taps(*functions: Callable[..., Any]) -> Callable[[Tap], Tap]:
    """Marks what hears some of torch's functions; each function has one tap."""

    def mark(tap: Tap) -> Tap:
        _TAPS.update(dict.fromkeys(functions, tap))
        return tap

    return mark


def follows(follow: Follow) -> Follow:
    """Marks what is told of every call of a function without a tap, while this thread follows a grid."""
    _FOLLOWS.append(follow)
    return follow


class Ears(TorchFunctionMode):
    """A function mode that changes nothing; it lives as long as a recorded model runs in this thread."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Calls `func`, through its tap where it has one."""
        tap = _TAPS.get(func)
        kwargs = kwargs or {}
        if torch.compiler.is_compiling():
            return func(*args, **kwargs)
        if tap is not None:
            return tap(func, args, kwargs)
        result = func(*args, **kwargs)
        if here.grids:
            for follow in _FOLLOWS:
                follow(func, args, kwargs, result)
        return result
