"""Text from a model, a character at a time, with or without a cache: the same characters either way."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from attnscope.errors import BrokenModel, EmptyText, ModelError
from attnscope.gpt.model import GPT

LEAST_TEMPERATURE = 1e-6  # below it no draw could tell the text from that of 0, and a quotient may overflow


def generate(
    model: GPT, prompt: str, length: int, *, temperature: float = 1.0, seed: int = 0, cached: bool = True
) -> str:
    """`length` characters that follow the prompt, without the prompt; see `stream`."""
    return "".join(stream(model, prompt, length, temperature=temperature, seed=seed, cached=cached))


def stream(
    model: GPT, prompt: str, length: int, *, temperature: float = 1.0, seed: int = 0, cached: bool = True
) -> Iterator[str]:
    """The same, one by one as they are made.

    temperature: logits are divided by it; 0, and all below 1e-6, takes the likeliest character every time. A
    text longer than the context is read from `window_start` on. Without a cache every character reads the
    whole window again: the slow, plain way, which the cache must equal.

    Raises EmptyText for an empty prompt, UnknownCharacter, and ModelError for a temperature below 0.
    """
    if not math.isfinite(temperature) or temperature < 0:
        raise ModelError(f"A temperature of {temperature}", wanted="0 or more; 1 is the model's own")
    if not -(2**63) <= seed < 2**63:
        raise ModelError(f"A seed of {seed}", wanted="A whole number from 0 to 2**63 - 1")
    if length < 0:
        raise ModelError(f"A length of {length} characters", wanted="0 or more")
    ids = model.tokenizer.encode(prompt)
    if not ids:
        raise EmptyText("An empty prompt", wanted="At least one character to go on from")
    return _stream(model, ids, length, temperature, torch.Generator().manual_seed(seed), cached=cached)


def window_start(length: int, context: int) -> int:
    """The first position that is read when `length` characters are known.

    It is 0 up to the context; past it, it goes forward by half a context at a time, so that a cache serves
    many characters before the window has to be read anew.
    """
    hop = max(1, context // 2)
    return 0 if length <= context else -(-(length - context) // hop) * hop


def _stream(
    model: GPT, ids: list[int], length: int, temperature: float, generator: torch.Generator, *, cached: bool
) -> Iterator[str]:
    start, caches, read = -1, model.new_caches(), 0
    for _ in range(length):
        fresh = window_start(len(ids), model.context)
        if fresh != start or not cached:
            start, caches, read = fresh, model.new_caches(), fresh
        with torch.no_grad():
            logits = model(torch.tensor([ids[read:]]), caches=caches if cached else None)[0, -1]
        read = len(ids)
        ids.append(_choose(logits, temperature, generator))
        yield model.tokenizer.decode(ids[-1:])


def _choose(logits: Tensor, temperature: float, generator: torch.Generator) -> int:
    """One id, by the inverse of the cumulative distribution in float64: one draw, whatever the vocabulary."""
    if not logits.isfinite().all():
        raise BrokenModel(
            "The model's logits are NaN or infinite", hint="Its weights are damaged: train it again"
        )
    if temperature < LEAST_TEMPERATURE:
        return int(logits.argmax())
    heap = (logits.double() / temperature).softmax(dim=-1).cumsum(dim=-1)
    draw = torch.rand((), generator=generator, dtype=torch.float64) * heap[-1]
    return min(int(torch.searchsorted(heap, draw, right=True)), len(heap) - 1)
