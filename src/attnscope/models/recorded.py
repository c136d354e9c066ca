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
from attnscope.recording import Recording

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
    kept = kept if kept is not None else Kept()
    if writing is not None and subject.writer is None:
        raise ModelError(
            f"{subject.label} does not write", wanted="A causal language model, or an encoder with a decoder"
        )
    writer = subject.writer
    heard = writing is not None and writer is not None and writer.heard
    if writing is not None and writer is not None and not heard:
        encoded = writer.write(encoded, writing)
    elif writing is None:
        encoded = subject.complete(encoded)
    with torch.no_grad(), _recording(subject, encoded, kept, path, progress) as recording:
        if heard and writing is not None and writer is not None:
            encoded = writer.write(encoded, writing)
        else:
            subject.forward(encoded)
        stacks = {site.stack for run in recording.runs for site in run.sites}
        recording.places = encoded.places(stacks)
        recording.model |= {"label": subject.label, "kind": subject.kind, "unit": subject.unit}
        recording.model["text"] = encoded.text
    return recording, encoded


def _recording(
    subject: Subject, encoded: Encoded, kept: Kept, path: Path | None, progress: Heard | None
) -> AbstractContextManager[Recording]:
    names = [token.text or token.spoken for token in encoded.tokens]
    return record(subject.module, names, path, kept.layers, kept.heads, kept.keep, progress=progress)
