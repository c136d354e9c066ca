"""Every error that attnscope raises on purpose, as one tree.

    AttnscopeError                  also a ValueError, so that ordinary habits catch it
    ├── ShapeError                  tensors whose axes do not fit
    ├── DtypeError                  a dtype that attention has no meaning for
    ├── ScoringError                a scale, bias, softcap or sink that cannot be
    │   └── MaskError               a mask that cannot be
    ├── EngineError                 an engine that was asked for and cannot run
    ├── Cancelled                   a long walk that was told to stop
    ├── RecordingError
    │   ├── NothingRecorded         the model ran, and no attention was seen
    │   ├── NotKept                 asked for what the recording left out
    │   ├── TooLarge                a block of weights past the guard
    │   ├── Uncertified             a head whose certificate failed
    │   ├── BrokenRecording         files that are not a whole recording; carries .file and .fault
    │   └── NoRoom                  a disk that cannot hold what is to be written
    ├── ModelError
    │   ├── MissingModel            no such folder, no such model
    │   ├── BrokenModel             a folder whose files are not a whole model
    │   └── TextError
    │       ├── EmptyText
    │       ├── TextTooLong         carries .length and .limit
    │       └── UnknownCharacter
    ├── TrainingError
    ├── LessonError                 an experiment of the lesson asked for what it cannot show
    └── ServerError
        └── PortInUse

A message has up to three parts: what came, what was wanted, what to try.
"""

from __future__ import annotations


class AttnscopeError(ValueError):
    """The root: `what` came, what was `wanted`, and a `hint` of what to try."""

    def __init__(self, what: str, *, wanted: str = "", hint: str = "") -> None:
        self.what = what
        self.wanted = wanted
        self.hint = hint
        super().__init__(" ".join(_sentence(part) for part in (what, wanted, hint) if part))


def _sentence(part: str) -> str:
    return part if part.endswith((".", "!", "?", ":")) else part + "."


class ShapeError(AttnscopeError):
    """Tensors whose axes do not fit."""


class DtypeError(AttnscopeError):
    """A dtype that attention has no meaning for."""


class ScoringError(AttnscopeError):
    """A scale, bias, softcap or sink that cannot be."""


class MaskError(ScoringError):
    """A mask that cannot be."""


class EngineError(AttnscopeError):
    """An engine that was asked for and cannot run."""


class Cancelled(AttnscopeError):
    """A long walk that was told to stop."""


class RecordingError(AttnscopeError):
    """Something about a recording."""


class NothingRecorded(RecordingError):
    """The model ran, and no attention was seen."""


class NotKept(RecordingError):
    """Asked for what the recording left out."""


class TooLarge(RecordingError):
    """A block of weights past the guard."""


class Uncertified(RecordingError):
    """A head whose certificate failed."""


class BrokenRecording(RecordingError):
    """Files that are not a whole recording; carries the name of the file that is to blame, and its fault."""

    def __init__(
        self, what: str, *, file: str = "", fault: str = "", wanted: str = "", hint: str = ""
    ) -> None:
        self.file = file
        self.fault = fault
        super().__init__(what, wanted=wanted, hint=hint)


class NoRoom(RecordingError):
    """A disk that cannot hold what is to be written."""


class ModelError(AttnscopeError):
    """Something about a model or the text given to it."""


class MissingModel(ModelError):
    """No such folder, no such model."""


class BrokenModel(ModelError):
    """A folder whose files are not a whole model."""


class TextError(ModelError):
    """A text that the model cannot read."""


class EmptyText(TextError):
    """A text without one token."""


class TextTooLong(TextError):
    """A text past the model's context; carries both numbers, in the model's own unit."""

    def __init__(self, what: str, *, length: int, limit: int, wanted: str = "", hint: str = "") -> None:
        self.length = length
        self.limit = limit
        super().__init__(what, wanted=wanted, hint=hint)


class UnknownCharacter(TextError):
    """A character outside the model's vocabulary."""


class LessonError(AttnscopeError):
    """An experiment of the lesson asked for what it cannot show."""


class TrainingError(AttnscopeError):
    """A training run that cannot start or go on."""


class ServerError(AttnscopeError):
    """The app cannot start."""


class PortInUse(ServerError):
    """Another program listens on the port."""
