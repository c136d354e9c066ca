"""Knows when a model generates: for as long as a recording is open, generate() of transformers' models opens
a run that holds all forwards it makes.

It is wrapped on the class, where every model inherits it; families with a generate() of their own (Whisper)
call it in the end.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from typing import Any

from torch import Tensor

from attnscope.listen.frames import here
from attnscope.listen.owners import owner_of

_lock = threading.Lock()
_users = 0
_restore: list[Callable[[], None]] = []


def acquire() -> None:
    """One more recording is open. transformers is only looked at where it is in use already."""
    global _users
    with _lock:
        _users += 1
        utils = sys.modules.get("transformers.generation.utils")
        if not _restore and utils is not None:
            _patch(utils.GenerationMixin)


def release() -> None:
    """One recording fewer; with the last, everything is as it was."""
    global _users
    with _lock:
        _users -= 1
        if _users == 0:
            while _restore:
                _restore.pop()()


def _length(made: Any) -> int | None:
    """How many tokens there are in the end, prompt and padding included; None where that is not told."""
    sequences = getattr(made, "sequences", made)
    return sequences.shape[1] if isinstance(sequences, Tensor) and sequences.dim() == 2 else None


def _patch(mixin: Any) -> None:
    generate = mixin.__dict__["generate"]

    @functools.wraps(generate)
    def heard(self: Any, *args: Any, **kwargs: Any) -> Any:
        session = owner_of(self)
        if session is None or here.generating_for(session) is not None:
            return generate(self, *args, **kwargs)
        depth, log = len(here.frames), session.begin(session.name_of(self), whole=True)
        here.generating.append((session, log))
        try:
            made = generate(self, *args, **kwargs)
            if "inputs_embeds" not in kwargs:  # else what comes back leaves the prompt out
                log.tokens = _length(made)
            return made
        finally:
            here.generating[:] = [pair for pair in here.generating if pair[1] is not log]
            here.forget(depth)
            session.end(log)

    mixin.generate = heard
    _restore.append(lambda: setattr(mixin, "generate", generate))
