"""A text as one model gets it, and what turns texts into that and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor

from attnscope.models.tokens import Token
from attnscope.recording import Places


@dataclass(frozen=True)
class Encoded:
    """A text as the model gets it: ids, the tokens they stand for, and the model's keyword inputs.

    text: what was encoded, with what the model wrote after it.   answer: what the decoder reads, where an
    encoder reads the text.   written: the first token of the answer, or of the text where there is none, that
    the model wrote itself; None where it wrote none.
    """

    ids: list[int]
    tokens: list[Token]
    inputs: dict[str, Tensor]
    text: str
    answer: list[Token] | None = None
    written: int | None = None

    def places(self, stacks: Iterable[str]) -> dict[str, Places]:
        """Return what stands at the positions of each of these stacks."""
        if self.answer is None:
            return {stack: _places(self.tokens, self.written) for stack in stacks}
        return {"encoder": _places(self.tokens), "decoder": _places(self.answer, self.written)}


class Codec(Protocol):
    """Reads texts for one model."""

    def encode(self, text: str, *, target: bool = False) -> Encoded:
        """Return the whole text encoded; TextTooLong, EmptyText or UnknownCharacter where it cannot be.

        target: as what the decoder writes, where that is spelled otherwise than what the encoder reads.
        """
        ...

    def chat(self, messages: Sequence[Mapping[str, Any]]) -> Encoded:
        """Return a chat as the model was taught to read it, up to where it answers; ModelError where it was
        taught none.
        """
        ...

    def token(self, token_id: int) -> Token:
        """Return the token of one id alone."""
        ...

    def row(self, ids: Sequence[int], after: Token | None = None) -> list[Token]:
        """Return the tokens of ids that follow one another, and `after`, as a model writes them."""
        ...

    def of_ids(self, ids: Sequence[int]) -> Encoded:
        """Return ids of the vocabulary encoded, as they are: nothing is put before or after them."""
        ...

    def ordinary(self) -> list[int]:
        """Return the ids that stand for text, in order: the vocabulary without its special tokens."""
        ...

    @property
    def beginning(self) -> int | None:
        """Return the token that a text begins with, None where the vocabulary has none."""
        ...

    def fitting(self, text: str) -> str:
        """Return the longest prefix, cut where a token ends, that the model can read."""
        ...

    def mended(self, text: str) -> str:
        """Return the text without the characters that the model has no way to read."""
        ...


def _places(tokens: Sequence[Token], written: int | None = None) -> Places:
    return Places(tuple(token.to_dict() for token in tokens), written)
