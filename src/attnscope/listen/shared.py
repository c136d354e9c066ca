"""Something of torch's or of transformers' that is changed for as long as anybody needs it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack


class Shared:
    """Changed by the first who holds it, put back when the last lets go.

    change(undo) gives `undo` what takes each part of the change back, then makes that part; it returns False
    where there is nothing to change yet, and the next holder asks again. Holders are known by identity: to
    let go twice, or without having held, changes nothing, so it can be said on every way out.
    """

    def __init__(self, change: Callable[[ExitStack], bool]) -> None:
        self._change = change
        self._lock = threading.RLock()
        self._holders: dict[int, object] = {}
        self._undo = ExitStack()
        self._changed = False

    def hold(self, holder: object) -> None:
        """One more needs it. Where the change fails, nothing is left of it."""
        with self._lock:
            self._holders[id(holder)] = holder
            if self._changed:
                return
            try:
                self._changed = self._change(self._undo)
            except BaseException:
                del self._holders[id(holder)]
                self._undo.close()
                raise

    def let_go(self, holder: object) -> None:
        """One needs it no more; with the last, everything is as it was."""
        with self._lock:
            self._holders.pop(id(holder), None)
            if not self._holders:
                try:
                    self._undo.close()
                finally:
                    self._changed = False
