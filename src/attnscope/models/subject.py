"""A subject: a model together with its tokeniser, so that one text gives one look at its attention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

from attnscope.models import looking
from attnscope.models.encoded import Codec, Encoded
from attnscope.models.looking import Look
from attnscope.models.texts import check_text, too_long
from attnscope.models.tokens import Token
from attnscope.models.writing import ANSWER, Writer, Writing

Kind = Literal["causal", "bidirectional", "encoder-decoder"]
Unit = Literal["character", "token"]


@dataclass(frozen=True)
class Description:
    """What is known of a model before its weights are read; context is in `unit`s."""

    id: str
    label: str
    context: int
    unit: Unit
    layers: int
    heads: int
    kind: Kind

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return asdict(self)


class Subject:
    """A model on the bench."""

    def __init__(
        self,
        description: Description,
        module: nn.Module,
        codec: Codec,
        forward: Callable[[Encoded], Tensor],
        *,
        predicts: bool,
        writer: Writer | None = None,
        source: str | None = None,
    ) -> None:
        """`forward` runs `module` on one encoded text and returns logits or last states, (T V).

        `predicts` says that row i of it is about the token after position i, in the decoder where there is
        one. `writer` lets it write; None where it cannot. `source` is what opens it again: its folder, or its
        name where it ships.
        """
        self.description = description
        self.module = module
        self.codec = codec
        self.forward = forward
        self.predicts = predicts
        self.writer = writer
        self.source = source

    @property
    def id(self) -> str:
        """Return the name by which requests ask for it."""
        return self.description.id

    @property
    def label(self) -> str:
        """Return the name shown to a person."""
        return self.description.label

    @property
    def kind(self) -> Kind:
        """Return how its tokens see each other."""
        return self.description.kind

    @property
    def context(self) -> int:
        """Return how many units it reads at most."""
        return self.description.context

    @property
    def unit(self) -> Unit:
        """Return what its tokens are."""
        return self.description.unit

    @property
    def layers(self) -> int:
        """Return its number of layers."""
        return self.description.layers

    @property
    def heads(self) -> int:
        """Return its query heads per layer."""
        return self.description.heads

    def encode(self, text: str) -> Encoded:
        """Return the text encoded; raises EmptyText, TextTooLong or UnknownCharacter."""
        check_text(text)
        return self.codec.encode(text)

    def of_ids(self, ids: Sequence[int]) -> Encoded:
        """Return ids encoded as they are; both stacks of an encoder with a decoder read them.

        Raises TextTooLong past the context.
        """
        if len(ids) > self.context:
            raise too_long(len(ids), self.context, self.unit)
        encoded = self.codec.of_ids(ids)
        if self.kind != "encoder-decoder":
            return encoded
        inputs = {**encoded.inputs, "decoder_input_ids": torch.tensor([list(ids)])}
        return replace(encoded, inputs=inputs, answer=encoded.tokens)

    def tokenize(self, text: str) -> list[Token]:
        """Return the tokens of the text, special ones included."""
        return self.encode(text).tokens

    def complete(self, encoded: Encoded) -> Encoded:
        """Return what one forward reads: where a decoder has nothing to read, what it answers greedily."""
        if self.kind != "encoder-decoder" or encoded.answer is not None or self.writer is None:
            return encoded
        return self.writer.write(encoded, Writing(min(ANSWER, max(1, self.context - 1))))

    def run(self, text: str, *, progress: looking.Progress | None = None) -> Look:
        """Return one look: the text's tokens, its recording, and what the model expected after each."""
        return looking.look(self, text, progress=progress)
