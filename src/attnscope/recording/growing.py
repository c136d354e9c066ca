"""A site that grows: the calls of one generation, joined into one grid of all rows and all columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor

from attnscope.core.certificate import Certificate
from attnscope.core.scoring import Scoring
from attnscope.core.summary import Summary
from attnscope.core.tile import Normaliser
from attnscope.recording.biases import Biases
from attnscope.recording.calls import Step, calls_of, order_of
from attnscope.recording.columns import Columns, outlines_of
from attnscope.recording.edges import Edges
from attnscope.recording.pending import Pending
from attnscope.recording.piece import Part, Piece
from attnscope.recording.placing import Place
from attnscope.recording.shelf import InMemory
from attnscope.recording.site import Site
from attnscope.recording.strips import Strip
from attnscope.recording.sums import Sums
from attnscope.recording.verdicts import Verdicts

MakeStrip = Callable[[str], Strip]

UNKNOWN = (0, 1, 2, 3)
"""The order of axes of a tensor that was not heard."""


@dataclass(eq=False)
class Growing:
    """The rows and columns that fit together. strip(name): makes room for a tensor.   offset: position of
    row 0 among the columns.   base: position of row 0 among all rows of its stack, None where nobody said it.

    text: the number of the text, since a model may go on with several by turns.   why: why it begins where
    there was a grid before it.
    """

    facts: Mapping[str, Any]
    keep: tuple[str, ...]
    strip: MakeStrip
    offset: int | None
    base: int | None = None
    text: int = 0
    why: str | None = None
    rows: int = 0
    scoring: Scoring = field(default_factory=Scoring, repr=False)
    biases: Biases = field(default_factory=Biases)
    columns: Columns = field(default_factory=Columns)
    edges: Edges = field(default_factory=Edges)
    verdicts: Verdicts = field(default_factory=Verdicts)
    pending: Pending = field(default_factory=Pending)
    sums: Sums | None = None
    _held: dict[str, Strip] = field(default_factory=dict)
    _steps: list[Step] = field(default_factory=list)

    @property
    def end(self) -> int:
        """The position after the last row among all rows of its stack, as far as anybody said it."""
        return (self.base or 0) + self.rows

    @property
    def late(self) -> bool:
        """Whether it has a window: columns have left its cache, or its last row no longer sees the first."""
        return self.edges.late or (bool(self._steps) and self._steps[-1].first > 0)

    def begin(self, piece: Piece, first: int, prints: Tensor) -> None:
        """Adds the first call; its column 0 is column `first`, and those before are left empty."""
        biases = Biases().joined(piece.scoring.bias, piece.visible, piece.scoring.offset or 0, first)
        if first:
            v = piece.tensors["v"]
            nothing = v.new_zeros(1).expand(*v.shape[:2], first, v.shape[3])
            self.columns.append(prints.new_zeros(prints.shape[0], first), outlines_of(nothing))
        self.append(piece, Place(first), 0, prints, biases or Biases())

    def can_cut(self, row: int) -> bool:
        """Whether the rows from `row` on can be taken off again, with all that was summed up about them."""
        if self.pending.rows and row > self.pending.start:
            return self.pending.can_cut(row)
        return self.verdicts.can_cut(row) and (self.sums is None or self.sums.can_cut(row))

    def append(self, piece: Piece, place: Place, row: int, prints: Tensor, biases: Biases) -> None:
        """Adds a call whose row 0 is row `row`; rows from there on, and columns after its past, go."""
        waits = self.pending.can_wait(piece)
        if not waits:
            piece.walked()
        if not self._steps:
            self.scoring = piece.scoring
        if place.parents is not None:
            self._reorder(place.parents)
        self._cut(row, place.first + piece.past)
        if not (waits and self.pending.goes_on(piece)):
            self._settle()
        q, k = piece.tensors.get("q"), piece.tensors.get("k")
        step = Step(
            row, piece.rows, place.first, piece.columns, UNKNOWN if q is None else order_of(q),
            UNKNOWN if k is None else order_of(k), piece.scoring.arithmetic, piece.bit_exact, piece.reach,
        )  # fmt: skip
        self._steps.append(step)
        self.biases = biases
        self.edges.append(piece.visible, piece.spans, place.first)
        new = slice(self.columns.size - place.first, piece.used)
        for name in self.keep:
            tensor = piece.tensors[name]
            self._add(name, tensor[:, :, new] if name in ("k", "v") else tensor)
        if waits:
            self.pending.append(piece, row)
        else:
            self._walked(row, piece.normaliser, piece.parts)
        if not waits and any(part.summary is not None for part in piece.parts):
            self.sums = self.sums or Sums(self.strip)
            self.sums.append(piece, place.first)
        self.columns.append(prints[:, new], outlines_of(piece.tensors["v"][:, :, new]))
        self.rows = row + piece.rows
        if self.pending.full:
            self._settle()

    def end_at(self, rows: int) -> None:
        """Keeps the first rows, and the columns up to the last one's own."""
        self._cut(rows, self.columns.size if self.offset is None else self.offset + rows)
        self.rows = min(self.rows, rows)

    def site(self, index: int, segment: int) -> Site:
        """The site of all that came; segment: number of such sites before this one in the run."""
        self._settle()
        calls, size = calls_of(self._steps), self.columns.size
        tensors = {name: self._held[name].whole() for name in self.keep}
        normaliser = Normaliser(self._held["peak"].whole(), self._held["logsum"].whole())
        offset = self.offset or 0
        scoring = replace(
            self.scoring, mask=self.edges.mask(offset), bias=self.biases.bias(size), offset=offset
        )
        certificate = self.verdicts.certificate()
        summary = self._summary(scoring, normaliser.peak, certificate)
        return Site(
            **self.facts, index=index, tq=self.rows, tk=size, offset=self.offset,
            segment=segment, bit_exact=calls.bit_exact, reach=calls.reach,
            shelf=InMemory(tensors, scoring, normaliser, certificate, summary, calls),
        )  # fmt: skip

    def drop(self) -> None:
        """Lets go what has grown."""
        for strip in self._held.values():
            strip.drop()
        if self.sums is not None:
            self.sums.drop()

    def _summary(self, scoring: Scoring, peak: Tensor, certificate: Certificate | None) -> Summary | None:
        if self.sums is None or scoring.mask is None:
            return None
        sizes = (peak.shape[0], peak.shape[1], self.rows, self.columns.size, scoring.offset or 0)
        return self.sums.summary(scoring.mask.bind(*sizes, peak.device), peak.dtype, certificate)

    def _walked(self, row: int, normaliser: Normaliser, parts: Sequence[Part]) -> None:
        """Adds what was found out about the rows from `row` on."""
        self._add("peak", normaliser.peak)
        self._add("logsum", normaliser.logsum)
        self.verdicts.append(row, parts)

    def _settle(self) -> None:
        """Walks the rows that wait for it."""
        if not self.pending.rows:
            return
        row, stop = self.pending.start, self.pending.start + self.pending.rows
        k, v = self._held["k"].whole(), self._held["v"].whole()
        sight = self.edges.rows(slice(row, stop))
        normaliser, certificate = self.pending.walked(k, v, sight, self.scoring)
        self._walked(row, normaliser, [Part(slice(0, stop - row), certificate)])

    def _add(self, name: str, x: Tensor) -> None:
        if name not in self._held:
            self._held[name] = self.strip(name)
            if name in ("k", "v") and self.columns.size:
                empty = x.new_zeros(1).expand(*x.shape[:2], self.columns.size, x.shape[3])
                self._held[name].append(empty)
        self._held[name].append(x)

    def _cut(self, row: int, column: int) -> None:
        for name, strip in self._held.items():
            strip.cut(column if name in ("k", "v") else row)
        self.columns.cut(column)
        self._steps = [step for step in self._steps if step.start < row]
        if row < self.rows:
            self.edges.cut(row)
        self.verdicts.cut(row)
        self.pending.cut(row)
        if self.sums is not None:
            self.sums.cut(row)

    def _reorder(self, parents: Sequence[int]) -> None:
        """All but the biases, which come reordered with the call that tells the parents."""
        self._settle()
        for strip in self._held.values():
            strip.reorder(parents)
        self.edges.reorder(parents)
        self.columns.reorder(parents)
        self.verdicts.reorder(parents)
        if self.sums is not None:
            self.sums.reorder(parents)
