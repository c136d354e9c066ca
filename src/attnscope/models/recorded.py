"""A text run through a named model and recorded: one forward, or what the model writes as it writes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import torch

from attnscope.errors import ModelError
from attnscope.listen import record
from attnscope.models.encoded import Encoded
from attnscope.models.subject import Subject
from attnscope.models.writing import Writing
from attnscope.recording import Recording, Run

Heard = Callable[[int, str], None]


@dataclass(frozen=True)
class Kept:
    """What of a run is kept: as in record()."""

    layers: Iterable[int] | None = None
    heads: Sequence[int] | None = None
    keep: str = "qkv"


def record_text(
    subject: Subject, encoded: Encoded, *, writing: Writing | None = None, kept: Kept | None = None,
    path: Path | None = None, progress: Heard | None = None,
) -> tuple[Recording, Encoded]:  # fmt: skip
    """Run a text, or let the model write as `writing` says, and return the recording with what was read.

    With `path` it is saved there. A model whose writing cannot be heard as it happens writes first, and the
    finished text is run once. Raises ModelError where the model cannot write, and what record() raises.
    """
    read = _ready(subject, encoded, writing)
    names = [token.text or token.spoken for token in read.tokens]
    with torch.no_grad(), _recording(subject, names, kept, path, progress) as recording:
        read = _run(subject, read, writing)
        recording.places = read.places(_stacks(recording.runs))
        recording.model |= _described(subject) | {"text": read.text}
    return recording, read


def record_texts(
    subject: Subject, texts: Sequence[Encoded], *, writing: Writing | None = None, kept: Kept | None = None,
    path: Path | None = None, progress: Heard | None = None,
) -> tuple[Recording, list[Encoded]]:  # fmt: skip
    """Run several texts one after the other, each a run of one recording; else as record_text.

    No text is padded: each is run as it would be alone, and its numbers are the same.
    """
    ready = [_ready(subject, one, writing) for one in texts]
    with torch.no_grad(), _recording(subject, None, kept, path, progress) as recording:
        for at, one in enumerate(ready):
            before = len(recording.runs)
            ready[at] = _run(subject, one, writing)
            for run in recording.runs[before:]:
                run.places = [ready[at].places(_stacks([run]))]
        recording.model |= _described(subject) | {"texts": [one.text for one in ready]}
    return recording, ready


def _ready(subject: Subject, encoded: Encoded, writing: Writing | None) -> Encoded:
    """What is run: with what the model writes, where that cannot be heard as it happens."""
    writer = subject.writer
    if writing is None:
        return subject.complete(encoded)
    if writer is None:
        raise ModelError(
            f"{subject.label} does not write", wanted="A causal language model, or an encoder with a decoder"
        )
    return encoded if writer.heard else writer.write(encoded, writing)


def _run(subject: Subject, read: Encoded, writing: Writing | None) -> Encoded:
    writer = subject.writer
    if writing is not None and writer is not None and writer.heard:
        return writer.write(read, writing)
    subject.forward(read)
    return read


def _stacks(runs: Sequence[Run]) -> set[str]:
    return {site.stack for run in runs for site in run.sites}


def _described(subject: Subject) -> dict[str, str | None]:
    return {
        "label": subject.label, "kind": subject.kind, "unit": subject.unit, "source": subject.source,
    }  # fmt: skip


def _recording(
    subject: Subject, names: list[str] | None, kept: Kept | None, path: Path | None, progress: Heard | None
) -> AbstractContextManager[Recording]:
    kept = kept if kept is not None else Kept()
    return record(subject.module, names, path, kept.layers, kept.heads, kept.keep, progress=progress)
