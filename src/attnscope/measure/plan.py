"""What a survey measures: which texts, in which order; a function of the model's vocabulary, the texts and a
seed.

Nothing of it is drawn while the survey runs, so that whoever takes a text measures the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from attnscope.errors import AttnscopeError, ModelError
from attnscope.measure.found import OfText
from attnscope.measure.needle import DEPTHS, run_needle
from attnscope.measure.passages import PASSAGES
from attnscope.measure.run import run_text
from attnscope.measure.texts import Text, four_times, plain, twice
from attnscope.models import Subject

DRAWS = 4
"""Texts of random tokens of each kind."""

Given = str | Sequence[int] | Tensor
"""A text, or the ids of one."""


@dataclass(frozen=True)
class Job:
    """One text of a survey: ids that are known, or a sentence hidden at a depth."""

    text: Text | None
    depth: float = 0.0

    def run(self, subject: Subject, index: int, seed: int) -> OfText:
        """What the model makes of it; `seed` is the survey's. Raises what the model raises."""
        own = (seed * 1_000_003 + index) % 2**63
        if self.text is None:
            return run_needle(subject, self.depth, index, seed=own)
        return run_text(subject, self.text, index, seed=own)

    def identity(self) -> list[Any]:
        """What tells it from any other job."""
        if self.text is None:
            return ["needle", self.depth]
        return [self.text.kind, self.text.period, list(self.text.ids or ())]


def jobs_of(
    subject: Subject, texts: Sequence[Given] | None, *, draws: int = DRAWS, seed: int = 0
) -> list[Job]:
    """The texts of a survey: the plain ones, random tokens twice and four times, and hidden sentences.

    texts None: our own passages, where the model reads texts. Raises TextError, and AttnscopeError for a
    number of draws that cannot be.
    """
    if draws < 0:
        raise AttnscopeError(f"draws={draws}", wanted="How many texts of random tokens, 0 or more")
    running = [Job(text) for text in _plain(subject, texts)]
    random = [Job(make(subject, seed + draw)) for make in (twice, four_times) for draw in range(draws)]
    hidden = [Job(None, depth) for depth in DEPTHS] if subject.writer is not None else []
    found = [*running, *random, *hidden]
    if not found:
        raise AttnscopeError("There is nothing to measure", wanted="A text, or draws of random tokens")
    return found


def _plain(subject: Subject, texts: Sequence[Given] | None) -> Iterator[Text]:
    if texts is not None:
        for at, given in enumerate(texts):
            yield plain(subject, given, f"text {at}")
        return
    for at, passage in enumerate(PASSAGES):
        try:
            text = plain(subject, subject.codec.mended(passage), f"passage {at}")
        except ModelError:  # a vocabulary without letters, or a model without a tokeniser
            continue
        yield text
