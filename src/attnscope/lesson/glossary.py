"""Section 10: the lesson's thirteen words, one sentence each; the page shows them wherever a word stands."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnscope.errors import LessonError
from attnscope.lesson.experiment import Experiment, Table
from attnscope.lesson.given import checked
from attnscope.looks.drawing import INK, INK_2, figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LINE = 88  # characters of a line in the figure


@dataclass(frozen=True)
class Entry:
    """A word and what it means, in one sentence."""

    term: str
    says: str


ENTRIES = (
    Entry(
        "self-attention",
        "A layer in which each position of a sequence looks at positions of the same sequence and "
        "takes a weighted sum of what they carry.",
    ),
    Entry(
        "query",
        "The vector with which a position asks: what it looks for in the others.",
    ),
    Entry(
        "key",
        "The vector by which a position is found: its product with a query says how well they match.",
    ),
    Entry(
        "value",
        "The vector that a position hands over to whoever looks at it, in proportion to the weight.",
    ),
    Entry(
        "attention score",
        "The number of one query and one key before softmax: their product divided by √d, or −∞ where "
        "the mask hides the key.",
    ),
    Entry(
        "attention weights",
        "What softmax makes of one query’s scores: a number from 0 to 1 for every key, summing to 1.",
    ),
    Entry(
        "causal mask",
        "The rule that a position sees itself and what stands before it: all later weights are exactly 0.",
    ),
    Entry(
        "head",
        "One attention with queries, keys, values and weights of its own, at work beside others in "
        "the same layer.",
    ),
    Entry(
        "multi-head attention",
        "Several heads over the same input, their outputs laid side by side and projected together.",
    ),
    Entry(
        "d_head",
        "How many numbers a query or a key of one head has, usually d_model divided by the number of heads.",
    ),
    Entry(
        "permutation-equivariant",
        "Said of a layer that gives the same outputs in shuffled order when its inputs are shuffled.",
    ),
    Entry(
        "residual stream",
        "The vector that each position carries through the network, and to which every layer adds its "
        "output.",
    ),
    Entry(
        "lse",
        "The logarithm of the sum of the exponentials of one query’s scores: each weight is exp(score "
        "− lse).",
    ),
)


@dataclass(frozen=True, eq=False)
class Glossary(Experiment):
    """The words and their sentences."""

    entries: tuple[Entry, ...]

    def tables(self) -> list[Table]:
        rows = tuple((entry.term, entry.says) for entry in self.entries)
        return [Table("Glossary", ("word", "meaning"), rows)]

    def draw(self) -> Figure:
        lines = [textwrap.wrap(entry.says, _LINE) for entry in self.entries]
        height = sum(len(wrapped) + 0.7 for wrapped in lines)
        made, axes = figure(size=(9.0, 0.2 * height + 0.3))
        axes.set_axis_off()
        axes.set(xlim=(0, 1), ylim=(height, 0))
        top = 0.5
        for entry, wrapped in zip(self.entries, lines, strict=True):
            axes.text(0.0, top, entry.term, color=INK, weight="bold", va="center", fontsize=9)
            for k, line in enumerate(wrapped):
                axes.text(0.25, top + k, line, color=INK_2, va="center", fontsize=9)
            top += len(wrapped) + 0.7
        return made


@checked
def glossary(*, entries: tuple[Entry, ...] = ENTRIES) -> Glossary:
    """Return the glossary. Raises LessonError for a word that stands twice, or without a sentence."""
    if not isinstance(entries, tuple | list) or not all(isinstance(one, Entry) for one in entries):
        raise LessonError(f"entries={entries!r:.60}", wanted="Entries are wanted: Entry(term, says)")
    terms = [entry.term for entry in entries]
    for entry in entries:
        if not entry.term.strip() or not entry.says.strip() or terms.count(entry.term) > 1:
            raise LessonError(
                f"The glossary's entry {entry.term!r}",
                wanted="A word of its own and one sentence for it are wanted",
            )
    return Glossary(entries)
