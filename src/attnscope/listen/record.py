"""record(model): the block in which a model is listened to."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from attnscope.errors import NothingRecorded, RecordingError, ShapeError
from attnscope.listen import owners
from attnscope.listen.expected import check_room
from attnscope.listen.frames import here, running
from attnscope.listen.generating import generation
from attnscope.listen.hooks import hooks
from attnscope.listen.nothing import nothing
from attnscope.listen.routes.huggingface import registry
from attnscope.listen.session import POLL, Progress, Session
from attnscope.listen.wanted import KEEPS, Wanted
from attnscope.recording import Recording
from attnscope.recording.recording import Tokens
from attnscope.recording.room import cannot_write
from attnscope.recording.writing import Partial

PATIENCE = 10.0
"""Seconds that the end of the block waits for forwards and generations of other threads."""
LONGEST_PAUSE = 0.5
"""Seconds between two looks at whether threads that ran on are out of their forwards."""


@contextmanager
def record(
    model: nn.Module,
    tokens: Tensor | Sequence[str] | Sequence[Sequence[int]] | None = None,
    path: str | Path | None = None,
    layers: Iterable[int] | int | None = None,
    heads: Sequence[int] | Mapping[int, Sequence[int]] | None = None,
    keep: str = "qkv",
    *,
    progress: Progress | None = None,
) -> Iterator[Recording]:
    """Listens to every attention call of `model` inside the block; what the model computes stays the same,
    bit for bit.

    tokens: ids (b, t) or a list of strings, kept with the recording.   path: where to write it, each site as
    it comes; at the end of the block the folder is put in its place, and the recording reads from it.
    layers: the layers to keep, None for all.   heads: the heads to keep, or {layer: heads}.   keep:
    "summary" (statistics alone), "qk", "qkv", or "all" (adds out).   progress(done, name) is called after
    each recorded call; what it raises ends the forward.

    Gives the Recording, which fills while the model runs. Each forward is a run, and so is each generate(),
    with all of its steps; all runs are kept, on disk where there is a path. Threads started in the block are
    heard too: at its end their forwards have ten seconds to finish, and what still runs then is cut off,
    which recording.missing says.

    Raises NothingRecorded at the end of the block where nothing was heard, or at its start where the model is
    compiled; RecordingError for options that mean nothing; NoRoom where the disk
    cannot hold the recording, at the start where `tokens` and the model's config tell it, else at the end of
    the block: the model runs on as it would.
    """
    _check(model, keep)
    refuse_compiled(model)
    model = getattr(model, "_orig_mod", model)  # what torch.compile wraps
    wanted = Wanted(keep, _numbers(layers), heads)
    recording = Recording(tokens=_tokens(tokens), model=_described(model), keep=keep)
    if path is not None:
        check_room(Path(path), model, recording.tokens, wanted)
    partial = None if path is None else Partial(Path(path))
    session = Session(model, recording, wanted, progress, partial)
    try:
        with listening(session):
            yield recording
        if session.own_process:
            _end(session, partial)
    except BaseException:
        if partial is not None and session.own_process:
            partial.discard()
        raise


def _end(session: Session, partial: Partial | None) -> None:
    """What is missing is said, and a recording on disk is put in its place."""
    recording = session.recording
    recording.missing.extend(session.missing.listed())
    if partial is not None and session.fault is not None:
        fault = session.fault
        raise cannot_write(fault, partial.path) if isinstance(fault, OSError) else fault
    if not session.taken:
        raise nothing(session, recording.missing)
    if partial is not None:
        partial.commit(recording)


@contextmanager
def listening(session: Session) -> Iterator[None]:
    """Everything that is switched on for a session is switched off on any way out."""
    with ExitStack() as undo:
        undo.callback(_let_go, session)
        for one in (hooks, registry, generation):
            one.hold(session)
        undo.callback(owners.leave, session)
        owners.enter(session)
        try:
            yield
            here.forget(session)
            session.close(PATIENCE)
        finally:
            here.forget(session)
            session.close(0.0)


def _let_go(session: Session) -> None:
    """The hooks stay until every thread is out of the forwards that were begun under them."""
    for one in (registry, generation):
        one.let_go(session)
    late = [thread for thread, its in list(running.items()) if its is session]
    if late:
        hooks.hold(late)
        threading.Thread(target=_when_over, args=(late,), daemon=True).start()
    hooks.let_go(session)


def _when_over(late: list[threading.Thread]) -> None:
    pause = POLL
    while any(thread.is_alive() and thread in running for thread in late):
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
    hooks.let_go(late)


def _check(model: nn.Module, keep: str) -> None:
    if not isinstance(model, nn.Module):
        raise RecordingError(
            f"record() got a {type(model).__name__}",
            wanted="A torch.nn.Module",
            hint="For a pipeline, pass pipeline.model",
        )
    if keep not in KEEPS:
        raise RecordingError(f"keep={keep!r}", wanted=f"One of {', '.join(map(repr, KEEPS))}")


def refuse_compiled(model: nn.Module) -> None:
    """A model compiled beforehand makes its calls out of hearing, silently."""
    dynamo = sys.modules.get("torch._dynamo.eval_frame")
    if dynamo is None or dynamo._stance.stance == "force_eager":
        return
    if isinstance(model, dynamo.OptimizedModule):
        what, instead = (
            f"The {type(model._orig_mod).__name__}",
            "Record and call the model that was compiled ",
        )
        instead += "(model._orig_mod)"
    else:
        kind = type(model).__name__
        parts = [
            name
            for name, part in model.named_modules()
            if isinstance(part, dynamo.OptimizedModule) or part._compiled_call_impl is not None
        ]
        if not parts:
            return
        what = f"{parts[0]} of the {kind}" if parts[0] else f"The {kind}"
        instead = "Record the model before it is compiled"
    raise NothingRecorded(
        f"{what} is compiled, and compiled code cannot be listened to",
        wanted="A model that runs step by step",
        hint=f"{instead}, or open the block and call the model inside "
        'torch.compiler.set_stance("force_eager"); its outputs may differ in the last digits',
    )


def _numbers(layers: Iterable[int] | int | None) -> frozenset[int] | None:
    if layers is None:
        return None
    return frozenset({layers} if isinstance(layers, int) else map(int, layers))


def _tokens(tokens: Any) -> Tokens | None:
    if tokens is None:
        return None
    if isinstance(tokens, Tensor):
        if tokens.dim() not in (1, 2) or tokens.is_floating_point():
            raise ShapeError(
                f"tokens is {tuple(tokens.shape)} of {tokens.dtype}", wanted="Whole numbers, (b, t) or (t,)"
            )
        ids: list[list[int]] = (tokens if tokens.dim() == 2 else tokens[None]).tolist()
        return ids
    listed = list(tokens)
    if all(isinstance(one, str) for one in listed):
        return listed
    return [
        [int(i) for i in row] for row in (listed if listed and not isinstance(listed[0], int) else [listed])
    ]


def _described(model: nn.Module) -> dict[str, Any]:
    """What the model says of itself, as plain data."""
    config = getattr(model, "config", None)
    weight = next(iter(model.parameters()), torch.empty(0))
    described = {
        "class": type(model).__name__,
        "name": getattr(config, "name_or_path", None) or None,
        "type": getattr(config, "model_type", None),
        "attention": getattr(config, "_attn_implementation", None),
        "dtype": str(weight.dtype).removeprefix("torch."),
        "device": weight.device.type,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
    }
    return {
        name: value if isinstance(value, str | int | None) else str(value)
        for name, value in described.items()
    }
