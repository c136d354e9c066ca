"""What a model reads and what it writes itself: a text gone on from, a chat, an answer to a source."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch

from attnscope.errors import ModelError
from attnscope.gpt import GPT
from attnscope.gpt.chance import DRAWING
from attnscope.gpt.sampling import LEAST_TEMPERATURE, stream
from attnscope.models.encoded import Codec, Encoded
from attnscope.models.tokens import spelled

ANSWER = 64
"""Tokens that the decoder of an encoder-decoder writes at most where nobody says what it should read."""


@dataclass(frozen=True)
class Writing:
    """How a model writes: at most `length` tokens; temperature 0 takes the likeliest each time, another draws
    from the whole distribution, its draws told by `seed`. Raises ModelError for what cannot be.
    """

    length: int
    temperature: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.length < 2**31:
            raise ModelError(f"A length of {self.length} tokens", wanted="1 to 2**31 - 1")
        if not math.isfinite(self.temperature) or self.temperature < 0:
            raise ModelError(f"A temperature of {self.temperature}", wanted="0 or more; 1 is the model's own")
        if not 0 <= self.seed < 2**63:
            raise ModelError(f"A seed of {self.seed}", wanted="A whole number from 0 to 2**63 - 1")


def _check_room(read: int, length: int, context: int, unit: str) -> None:
    if read + length > context:
        raise ModelError(
            f"{read:,} {unit}s and {length:,} to write are {read + length:,}",
            wanted=f"This model reads at most {context:,} {unit}s. Nothing was run",
            hint=f"It can write {context - read:,}" if read < context else "Give it a shorter text",
        )


class Writer(Protocol):
    """Lets a model write."""

    heard: bool
    """Whether writing itself is what is recorded; else the finished text is run once, and that is."""

    def write(self, encoded: Encoded, how: Writing) -> Encoded:
        """Return what was read together with what the model wrote; runs the model."""
        ...

    def answered(self, encoded: Encoded, target: str) -> Encoded:
        """Return a source together with the target that the decoder is to read."""
        ...


class OwnWriter:
    """Our own models: a character at a time. The finished text is read once more, to be recorded."""

    heard = False

    def __init__(self, model: GPT, codec: Codec) -> None:
        self._model, self._codec = model, codec

    def write(self, encoded: Encoded, how: Writing) -> Encoded:
        """Return the text with `how.length` more characters; TextTooLong past the model's context."""
        _check_room(len(encoded.ids), how.length, self._model.context, "character")
        prompt = "".join(token.text for token in encoded.tokens)
        more = "".join(stream(self._model, prompt, how.length, temperature=how.temperature, seed=how.seed))
        return replace(self._codec.encode(prompt + more), written=len(encoded.ids))

    def answered(self, encoded: Encoded, target: str) -> Encoded:
        """Refuse: our own models have no encoder."""
        raise ModelError("This model has no encoder", wanted="A target is for an encoder with a decoder")


class HuggingFaceWriter:
    """A model with generate(): it goes on from the text, or its decoder answers what the encoder reads."""

    heard = True

    def __init__(self, module: Any, codec: Codec, context: int, *, answers: bool) -> None:
        self._module, self._codec, self._context, self._answers = module, codec, context, answers

    def write(self, encoded: Encoded, how: Writing) -> Encoded:
        """Return what was read, with up to `how.length` tokens that generate() added; it ends at an end."""
        read = 1 if self._answers else len(encoded.ids)
        _check_room(read, how.length, self._context, "token")
        if self._answers:
            self._start()
        with DRAWING, torch.no_grad(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(how.seed)
            ids = self._module.generate(**encoded.inputs, **self._options(encoded, how))[0].tolist()
        if self._answers:
            return self._answered(encoded, ids, written=1)
        more = self._codec.row(ids[read:], encoded.tokens[-1])
        inputs = {**encoded.inputs, "input_ids": torch.tensor([ids])}
        text = encoded.text + spelled(token.raw for token in more)
        tokens = [*encoded.tokens, *more]
        return replace(encoded, ids=ids, tokens=tokens, inputs=inputs, text=text, written=read)

    def answered(self, encoded: Encoded, target: str) -> Encoded:
        """Return a source together with the target that the decoder reads, shifted as in training.

        Raises ModelError where the model has no encoder beside its decoder, and what encode raises.
        """
        if not self._answers:
            raise ModelError("This model has no encoder", wanted="A target is for an encoder with a decoder")
        ids = self._codec.encode(target, target=True).ids
        shift = getattr(self._module, "prepare_decoder_input_ids_from_labels", None)
        start = self._start()
        if shift is not None:
            return self._answered(encoded, shift(labels=torch.tensor([ids]))[0].tolist())
        return self._answered(encoded, [start, *ids[:-1]])

    def _start(self) -> int:
        """Return the token that the decoder begins with. Raises ModelError where none is stated."""
        for config in (self._module.generation_config, self._module.config):
            for name in ("decoder_start_token_id", "bos_token_id"):
                found = getattr(config, name, None)
                if isinstance(found, int):
                    return found
        raise ModelError(
            "This model does not say how its decoder begins", wanted="A decoder_start_token_id in its config"
        )

    def _answered(self, encoded: Encoded, ids: list[int], written: int | None = None) -> Encoded:
        inputs = {**encoded.inputs, "decoder_input_ids": torch.tensor([ids])}
        answer = self._codec.row(ids)
        return replace(encoded, inputs=inputs, answer=answer, written=written)

    def _options(self, encoded: Encoded, how: Writing) -> dict[str, Any]:
        config = self._module.generation_config
        pad = config.pad_token_id if config.pad_token_id is not None else config.eos_token_id
        options: dict[str, Any] = {
            "max_new_tokens": how.length,
            "num_beams": 1,
            "do_sample": how.temperature >= LEAST_TEMPERATURE,
            "pad_token_id": pad[0] if isinstance(pad, list) else pad,
            # one text has no padding: all ones is what generate() would guess, with a warning
            "attention_mask": torch.ones_like(encoded.inputs["input_ids"]),
        }
        if options["do_sample"]:
            options |= {"temperature": how.temperature, "top_k": 0, "top_p": 1.0}
        return options
