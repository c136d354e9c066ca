"""A site that grows: the calls of one generation, joined into one grid of all rows and all columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from attnscope.core.certificate import Certificate
from attnscope.core.joining import merge_certificates
from attnscope.core.scoring import Scoring
from attnscope.core.tile import Normaliser
from attnscope.recording.biases import Biases
from attnscope.recording.calls import Step, calls_of, order_of
from attnscope.recording.edges import Edges
from attnscope.recording.piece import Piece
from attnscope.recording.placing import Place
from attnscope.recording.shelf import InMemory
from attnscope.recording.site import Site
from attnscope.recording.strips import Strip
from attnscope.recording.sums import Sums

CERTIFICATES = 16
"""Certificates that are held before they are merged into one."""

MakeStrip = Callable[[str], Strip]


@dataclass(eq=False)
class Growing:
    """The rows and columns that fit together. strip(name): makes room for a tensor.   segment: number of such
    sites before this one in the run.   offset: position of row 0 among the columns.
    """

    facts: Mapping[str, Any]
    keep: tuple[str, ...]
    strip: MakeStrip
    segment: int
    offset: int | None
    base: int | None = None  # position of row 0 among all rows of its stack, None where nobody said it
    rows: int = 0
    columns: int = 0
    scoring: Scoring = field(default_factory=Scoring, repr=False)
    biases: Biases = field(default_factory=Biases)
    _held: dict[str, Strip] = field(default_factory=dict)
    _prints: Tensor | None = None  # (b, at least as many as columns)
    _edges: Edges = field(default_factory=Edges)
    _steps: list[Step] = field(default_factory=list)
    _certificates: list[tuple[int, Certificate]] = field(default_factory=list)
    sums: Sums | None = None

    @property
    def prints(self) -> Tensor:
        """The fingerprints of all columns, (b n)."""
        return (
            torch.empty(0, 0, dtype=torch.int64) if self._prints is None else self._prints[:, : self.columns]
        )

    def append(self, piece: Piece, place: Place, row: int, prints: Tensor, biases: Biases) -> None:
        """Adds a call whose row 0 is row `row`; rows from there on, and columns after its past, go."""
        if not self._steps:
            self.scoring = piece.scoring
        if place.parents is not None:
            self._reorder(place.parents)
        self._cut(row, place.first + piece.past)
        q, k = piece.tensors["q"], piece.tensors["k"]
        step = Step(
            row, q.shape[2], place.first, k.shape[2], order_of(q), order_of(k),
            piece.scoring.arithmetic, piece.bit_exact, piece.reach,
        )  # fmt: skip
        self._steps.append(step)
        self.biases = biases
        self._edges.append(piece.bound.visible, q.shape[2], place.first)
        new = slice(self.columns - place.first, piece.used)
        for name in self.keep:
            tensor = piece.tensors[name]
            self._add(name, tensor[:, :, new] if name in ("k", "v") else tensor)
        self._add("peak", piece.normaliser.peak)
        self._add("logsum", piece.normaliser.logsum)
        if piece.summaries:
            self.sums = self.sums or Sums(self.strip)
            self.sums.append(piece.summaries, piece.bound, piece.normaliser, place.first)
        self._add_prints(prints[:, new])
        self._certify(row, piece.certificate)
        self.rows, self.columns = row + q.shape[2], place.first + piece.used

    def end_at(self, rows: int) -> None:
        """Keeps the first rows, and the columns up to the last one's own."""
        columns = self.columns if self.offset is None else self.offset + rows
        self._cut(rows, columns)
        self.rows = min(self.rows, rows)

    def site(self, index: int) -> Site:
        """The site of all that came."""
        calls = calls_of(self._steps)
        tensors = {name: self._held[name].whole() for name in self.keep}
        normaliser = Normaliser(self._held["peak"].whole(), self._held["logsum"].whole())
        certificate = self._certificate()
        offset = self.offset or 0
        scoring = replace(
            self.scoring, mask=self._edges.mask(offset), bias=self.biases.bias(self.columns), offset=offset
        )
        summary = None
        if self.sums is not None and scoring.mask is not None:
            b, h = normaliser.peak.shape[:2]
            device = normaliser.peak.device
            visible = scoring.mask.bind(b, h, self.rows, self.columns, offset, device)
            summary = self.sums.summary(visible, normaliser.peak.dtype, certificate)
        return Site(
            **self.facts, index=index, tq=self.rows, tk=self.columns, offset=self.offset,
            segment=self.segment, bit_exact=calls.bit_exact, reach=calls.reach,
            shelf=InMemory(tensors, scoring, normaliser, certificate, summary, calls),
        )  # fmt: skip

    def drop(self) -> None:
        """Lets go what has grown."""
        for strip in self._held.values():
            strip.drop()
        if self.sums is not None:
            self.sums.drop()

    def _add(self, name: str, x: Tensor) -> None:
        if name not in self._held:
            self._held[name] = self.strip(name)
        self._held[name].append(x)

    def _cut(self, row: int, column: int) -> None:
        for name, strip in self._held.items():
            strip.cut(column if name in ("k", "v") else row)
        self.columns = min(self.columns, column)
        self._steps = [step for step in self._steps if step.start < row]
        if row < self.rows:
            self._edges.cut(row)
        if self.sums is not None:
            self.sums.cut(row)

    def _reorder(self, parents: Sequence[int]) -> None:
        for strip in self._held.values():
            strip.reorder(parents)
        self._edges.reorder(parents)
        self.biases.reorder(parents)
        if self._prints is not None:
            self._prints = self._prints[list(parents)]
        if self.sums is not None:
            self.sums.reorder(parents)

    def _add_prints(self, new: Tensor) -> None:
        size, held = self.columns + new.shape[1], self._prints
        if held is None:
            self._prints = new.clone()
            return
        if held.shape[1] < size:
            wide = new.new_empty(new.shape[0], size + size // 4 + 64)
            wide[:, : self.columns] = held[:, : self.columns]
            self._prints = held = wide
        held[:, self.columns : size] = new

    def _certify(self, row: int, certificate: Certificate | None) -> None:
        if certificate is None:
            return
        self._certificates.append((row, certificate))
        if len(self._certificates) >= CERTIFICATES:
            merged = self._certificate()
            self._certificates = [] if merged is None else [(0, merged)]

    def _certificate(self) -> Certificate | None:
        if len(self._certificates) < 2:
            return self._certificates[0][1] if self._certificates else None
        starts, parts = zip(*self._certificates, strict=True)
        return merge_certificates(parts, starts)
