"""Ears: a mode that lets routes hear calls of torch's functions in a thread, and hands each call on as it
was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

Tap = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
"""tap(function, args, kwargs): calls the function, looks, and returns exactly what it returned."""

_TAPS: dict[Callable[..., Any], Tap] = {}


def taps(*functions: Callable[..., Any]) -> Callable[[Tap], Tap]:
    """Marks what hears some of torch's functions; each function has one tap."""

    def mark(tap: Tap) -> Tap:
        _TAPS.update(dict.fromkeys(functions, tap))
        return tap

    return mark


class Ears(TorchFunctionMode):
    """A function mode that changes nothing; it lives as long as a recorded model runs in this thread."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Calls `func`, through its tap where it has one."""
        tap = _TAPS.get(func)
        kwargs = kwargs or {}
        if tap is None or torch.compiler.is_compiling():
            return func(*args, **kwargs)
        return tap(func, args, kwargs)
