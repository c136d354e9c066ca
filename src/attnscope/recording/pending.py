"""Rows of a generation whose normaliser and certificate are made later, many in one walk: a walk over the one
row of a step costs nearly as much as one over sixty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from attnscope.core.arithmetic import Arithmetic
from attnscope.core.certificate import Certificate, certify
from attnscope.core.engine import normaliser_of
from attnscope.core.masks import spans
from attnscope.core.scoring import Scoring
from attnscope.core.tile import Normaliser
from attnscope.recording.piece import Piece

FEW = 16
"""Rows of a call: past this it is worth a walk of its own."""

MOST = 64
"""Rows that are walked together; each holds its q and out until then."""


@dataclass(frozen=True, eq=False)
class _Step:
    """q, out: (b h r ..) copies.   lo, hi: (b|1 h|1 r s), in columns of the site."""

    q: Tensor
    out: Tensor
    lo: Tensor
    hi: Tensor


class _How(NamedTuple):
    """What the calls have in common; evening: see certify."""

    arithmetic: Arithmetic | None
    route: str
    evening: Tensor | None


@dataclass(eq=False)
class Pending:
    """Calls in order, the first of which begins at row `start` of the site."""

    start: int = 0
    rows: int = 0
    _steps: list[_Step] = field(default_factory=list, repr=False)
    _how: _How | None = field(default=None, repr=False)

    @property
    def full(self) -> bool:
        """Whether it is time to walk."""
        return self.rows >= MOST

    @staticmethod
    def can_wait(piece: Piece) -> bool:
        """Whether a call can be walked together with others, from what its site keeps."""
        kept = {"q", "k", "v"} <= set(piece.keep)
        few = piece.rows <= FEW and piece.scoring.bias is None and piece.spans is not None
        return piece.evening is not None and kept and few

    def goes_on(self, piece: Piece) -> bool:
        """Whether a call is of the same arithmetic as those that are held."""
        return self._how is None or self._how.arithmetic == piece.scoring.arithmetic

    def append(self, piece: Piece, row: int, first: int) -> None:
        """Adds a call whose row 0 is row `row` of the site, and whose column 0 is its column `first`."""
        seen = piece.spans
        if seen is None:
            raise ValueError("a call whose sight needs bits came")
        if self._how is None:
            route = piece.facts["route"].rsplit("/", 1)[-1]
            self.start, self._how = row, _How(piece.scoring.arithmetic, route, piece.evening)
        q, out = (piece.tensors[name].detach().clone() for name in ("q", "out"))
        self._steps.append(_Step(q, out, seen.lo + first, seen.hi + first))
        self.rows += piece.rows

    def can_cut(self, row: int) -> bool:
        """Whether the site's rows from `row` on can be taken off again, where they begin among these."""
        ends, at = {self.start}, self.start
        for step in self._steps:
            at += step.q.shape[2]
            ends.add(at)
        return row in ends or row > at

    def cut(self, row: int) -> None:
        """Forgets the site's rows from `row` on."""
        while self._steps and self.start + self.rows > row:
            self.rows -= self._steps.pop().q.shape[2]
        if not self._steps:
            self._how = None

    def walked(self, k: Tensor, v: Tensor, scoring: Scoring) -> tuple[Normaliser, Certificate]:
        """Normaliser and certificate of all rows, from the site's keys and values; nothing is held any more.
        scoring: of the site, whose mask is not asked.
        """
        how, steps = self._how, self._steps
        if how is None:
            raise ValueError("nothing is held")
        self.rows, self._steps, self._how = 0, [], None
        lo, hi = (_joined([getattr(step, edge) for step in steps]) for edge in ("lo", "hi"))
        q, out = (torch.cat([getattr(step, name) for step in steps], dim=2) for name in ("q", "out"))
        own = replace(scoring, mask=spans(lo, hi), bias=None, offset=0, arithmetic=how.arithmetic)
        with torch.no_grad(), torch.autocast(q.device.type, enabled=False):
            rows = normaliser_of(own.bind(q, k))
            return rows, certify(q, k, v, out, own, rows, route=how.route, evening=how.evening)


def _joined(edges: Sequence[Tensor]) -> Tensor:
    """Edges of calls, in order, as one (b|1 h|1 r s); spans that are added are empty."""
    b, h, s = (max(edge.shape[axis] for edge in edges) for axis in (0, 1, 3))
    wide = [pad(edge, (0, s - edge.shape[3])).expand(b, h, -1, -1) for edge in edges]
    return torch.cat(wide, dim=2)
