"""One look: run a text under a recording, run it again without, and keep what is worth keeping."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from attnscope.errors import ModelError
from attnscope.listen import record
from attnscope.models.axes import Axis, axis_of
from attnscope.models.predictions import Prediction, Predictions, predictions_from
from attnscope.recording import Recording, Site

if TYPE_CHECKING:
    from attnscope.models.subject import Description, Subject

Progress = Callable[[str, int, int], None]  # what is being done, steps done, steps in all

CHECKED = 4096  # tokens up to which the text is run a second time, to compare the answers bit by bit


@dataclass(frozen=True)
class Look:
    """What one run of a model gave, just now or read from a recording.

    run, batch: which run of the recording it is, and which text of its batch.   bit_equal: whether the
    answers with and without looking were equal, None where they were not compared.   predicted: None where
    the model predicts nothing, or nothing was kept of it.
    """

    description: Description
    text: str
    recording: Recording
    bit_equal: bool | None = None
    predicted: Predictions | None = None
    run: int = -1
    batch: int = 0

    @property
    def sites(self) -> list[Site]:
        """Return the sites of the run, in order."""
        return self.recording.runs[self.run].sites if self.recording.runs else []

    def axis(self, site: Site, side: str) -> Axis:
        """Return what stands along the "rows" or the "columns" of one of its sites."""
        return axis_of(self.recording, site, side, batch=self.batch)

    def predictions(self, i: int, top: int = 8) -> Prediction:
        """Return what the model expected after position `i`; ModelError where it predicts no next token."""
        if self.predicted is None:
            raise ModelError(
                f"{self.description.label} does not predict a next token",
                wanted="A causal language model is wanted",
            )
        return self.predicted.at(i, top)


def look(subject: Subject, text: str, *, progress: Progress | None = None) -> Look:
    """Run `text` through `subject` and return the look; cancelled by raising from `progress`."""
    tell = progress if progress is not None else _nothing
    encoded = subject.encode(text)
    layers = subject.layers
    if subject.kind == "encoder-decoder":
        tell("Letting the decoder answer", 0, layers)
        encoded = subject.complete(encoded)
    tell(f"Recording layer 1 of {layers}", 0, layers)

    def recorded(done: int, _site: str) -> None:
        tell(f"Recording layer {min(done + 1, layers)} of {layers}", min(done, layers), layers)

    names = [token.text or token.spoken for token in encoded.tokens]
    with torch.no_grad(), record(subject.module, tokens=names, progress=recorded) as recording:
        answer = subject.forward(encoded)
        recording.places = encoded.places({site.stack for site in recording.sites})
    predicted = predictions_from(answer, subject.codec.token) if subject.predicts else None
    bit_equal = None
    if len(encoded.ids) <= CHECKED:
        tell("Running once more without looking, to compare the answers", layers, layers)
        seen = fingerprint(answer)
        del answer  # at 4,096 tokens one answer over 150,000 tokens is 2.5 GB: never hold two
        with torch.no_grad():
            bit_equal = seen == fingerprint(subject.forward(encoded))
    return Look(subject.description, text, recording, bit_equal, predicted)


def fingerprint(tensor: Tensor) -> str:
    """Return a digest of shape, dtype and bits, so that a NaN equals itself and minus zero is not zero."""
    digest = hashlib.blake2b(f"{tensor.dtype}{tuple(tensor.shape)}".encode(), digest_size=32)
    for row in tensor.detach().cpu().contiguous():
        digest.update(row.view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _nothing(*_: Any) -> None:
    return None
