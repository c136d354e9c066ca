"""The eleven sections of the lesson, in order, and the experiments of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from attnscope.errors import LessonError
from attnscope.lesson.experiment import Experiment


@dataclass(frozen=True)
class Section:
    """A section: its number, its title, what it shows in one sentence, and its experiments as module:name."""

    number: int
    title: str
    says: str
    homes: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of its experiments."""
        return tuple(home.partition(":")[2] for home in self.homes)

    def run(self) -> Iterator[tuple[str, Experiment]]:
        """Run every experiment with its defaults: (name, result), one after the other."""
        for home in self.homes:
            module, _, name = home.partition(":")
            yield name, getattr(import_module(f"attnscope.lesson.{module}"), name)()

    def to_dict(self) -> dict[str, Any]:
        """Return the whole section as JSON values."""
        found = {name: experiment.to_dict() for name, experiment in self.run()}
        return {"number": self.number, "title": self.title, "says": self.says, "experiments": found}


SECTIONS = (
    Section(
        1, "Words without context",
        "Token by token, a word has the same vector in every sentence; through attention it has not.",
        ("context:context", "late_word:late_word"),
    ),
    Section(
        2, "Four words by hand",
        "One word asks, every word answers, and the answers are mixed.",
        ("four_words:four_words",),
    ),
    Section(
        3, "Why divide by √d",
        "Products spread as √d, and a softmax of large numbers looks at one key and learns nothing.",
        ("scaling:spread", "scaling:saturation"),
    ),
    Section(
        4, "The usual mistakes",
        "Each mistake leaves a mark in the numbers, and a checker that names it.",
        ("mistakes:mistakes", "forgotten:forgotten_positions"),
    ),
    Section(
        5, "Many heads",
        "The width is seen as heads, each with weights of its own, and put together again.",
        ("many_heads:split", "designed:designed_heads"),
    ),
    Section(
        6, "Order",
        "Attention without positions cannot tell one order of words from another.",
        (
            "order:word_order", "order:shuffle", "waves:sinusoids", "learned:learned_positions",
            "rotations:rotations", "slopes:slopes",
        ),
    ),
    Section(
        7, "What it costs",
        "The grid grows with the square of the length; tiles give the same in memory that grows with it.",
        ("cost:cost",),
    ),
    Section(
        8, "The module",
        "Causal self-attention as one PyTorch module of 16,640 parameters, held against PyTorch's own.",
        ("module:module",),
    ),
    Section(
        9, "Untrained and trained",
        "The same heads before and after training, on the same line.",
        ("trained:trained_heads",),
    ),
    Section(
        10, "Three pictures",
        "What a word looks at, the pipeline with its shapes, and the way through the heads.",
        ("arcs:arcs", "pipeline:pipeline", "through:through_heads", "glossary:glossary"),
    ),
    Section(
        11, "What attention is not",
        "A large weight on a small value moves little, and a weight is not an explanation.",
        ("norms:value_norms", "knockout:knock_out"),
    ),
)  # fmt: skip


def section(number: int) -> Section:
    """Return a section by its number. Raises LessonError with the numbers there are."""
    if not 1 <= number <= len(SECTIONS):
        raise LessonError(f"There is no section {number}", wanted=f"1 to {len(SECTIONS)} is wanted")
    return SECTIONS[number - 1]
