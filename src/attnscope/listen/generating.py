"""Knows when a model generates: for as long as a recording is open, generate() of transformers' models opens
a run that holds all forwards it makes.

It is wrapped on the class, where every model inherits it; families with a generate() of their own (Whisper)
call it in the end.
"""

from __future__ import annotations

import functools
import sys
from contextlib import ExitStack, suppress
from typing import Any

from torch import Tensor, nn

from attnscope.listen.frames import Generation, here
from attnscope.listen.going import Going
from attnscope.listen.owners import owner_of
from attnscope.listen.session import Session
from attnscope.listen.shared import Shared

CACHES = ("cache", "past_key_values")
"""How generate() is handed keys that were computed before, by version."""


def _patch(undo: ExitStack) -> bool:
    """transformers is only looked at where it is in use already."""
    mixin: Any = getattr(sys.modules.get("transformers.generation.utils"), "GenerationMixin", None)
    if mixin is None:
        return False
    generate = mixin.__dict__["generate"]

    @functools.wraps(generate)
    def heard(self: Any, *args: Any, **kwargs: Any) -> Any:
        session = owner_of(self)
        if session is None or _repeats(session, self):
            return generate(self, *args, **kwargs)
        log = session.begin(session.parts.name_of(self), Going(sys._getframe()), whole=True)
        if log is None:
            return generate(self, *args, **kwargs)
        log.forward.position = _held(kwargs)
        one = Generation(self, session, log, len(here.frames))
        here.generations.append(one)
        try:
            made = generate(self, *args, **kwargs)
            if "inputs_embeds" not in kwargs:  # else what comes back leaves the prompt out
                log.tokens = _length(made)
            return made
        finally:
            here.generations.remove(one)
            here.forget()
            session.end(log)
            log.going.end()

    undo.callback(setattr, mixin, "generate", generate)
    mixin.generate = heard
    _patch_guesses(mixin, undo)
    return True


generation = Shared(_patch)


def _repeats(session: Session, module: nn.Module) -> bool:
    """Whether a generate() is that of the same module, which goes on: some call themselves."""
    going = here.generating(session)
    return going is not None and going.module is module and going.depth == len(here.frames)


def _length(made: Any) -> int | None:
    """How many tokens there are in the end, prompt and padding included; None where that is not told."""
    sequences = getattr(made, "sequences", made)
    return sequences.shape[1] if isinstance(sequences, Tensor) and sequences.dim() == 2 else None


def _patch_guesses(mixin: Any, undo: ExitStack) -> None:
    """Assisted decoding says of its run that rows may be guesses; where it has another name, their sums are
    not kept apart.
    """
    assisted = mixin.__dict__.get("_assisted_decoding")
    if assisted is None:
        return

    @functools.wraps(assisted)
    def guessing(self: Any, *args: Any, **kwargs: Any) -> Any:
        session = owner_of(self)
        going = None if session is None else here.generating(session)
        if going is not None:
            going.log.guesses = True
        return assisted(self, *args, **kwargs)

    undo.callback(setattr, mixin, "_assisted_decoding", assisted)
    mixin._assisted_decoding = guessing


def _held(kwargs: dict[str, Any]) -> int | None:
    """How many tokens stand in the cache that generate() was handed; None where there is none, or where it
    does not say so.
    """
    cache = next((kwargs[name] for name in CACHES if kwargs.get(name) is not None), None)
    with suppress(Exception):  # whatever a cache of the user's own does, it is no reason to stop a model
        return int(getattr(cache, "get_seq_length", lambda: 0)()) or None
    return None
