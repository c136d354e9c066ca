"""Rows of a generation whose normaliser and certificate are made later, many in one walk: a walk over the one
row of a step costs nearly as much as one over sixty.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import NamedTuple

import torch
from torch import Tensor

from attnscope.core.arithmetic import Arithmetic
from attnscope.core.certificate import Certificate, certify
from attnscope.core.engine import normaliser_of
from attnscope.core.masks import spans
from attnscope.core.scoring import Scoring
from attnscope.core.tile import Normaliser
from attnscope.recording.piece import Piece
from attnscope.recording.strips import MemoryStrip

FEW = 16
"""Rows of a call: past this it is worth a walk of its own."""

MOST = 64
"""Rows that are walked together; each holds its q and out until then."""


class _How(NamedTuple):
    """What the calls have in common; evening: see certify."""

    arithmetic: Arithmetic | None
    route: str
    evening: Tensor | None


@dataclass(eq=False)
class Pending:
    """Calls in order, the first of which begins at row `start` of the site. What they may see is not held:
    their site knows it.

    Nothing of a step is kept in memory of its own: among the caches of the model, each a little longer than
    the last, it would lie where the next one has no room, and memory would grow by a cache with every step.
    """

    start: int = 0
    rows: int = 0
    _q: MemoryStrip = field(default_factory=MemoryStrip, repr=False)
    _out: MemoryStrip = field(default_factory=MemoryStrip, repr=False)
    _steps: list[int] = field(default_factory=list, repr=False)  # rows of each
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

    def append(self, piece: Piece, row: int) -> None:
        """Adds a call whose row 0 is row `row` of the site."""
        if piece.spans is None:
            raise ValueError("a call whose sight needs bits came")
        if self._how is None:
            route = piece.facts["route"].rsplit("/", 1)[-1]
            self.start, self._how = row, _How(piece.scoring.arithmetic, route, piece.evening)
        for name, strip in (("q", self._q), ("out", self._out)):
            strip.append(piece.tensors[name])
        self._steps.append(piece.rows)
        self.rows += piece.rows

    def can_cut(self, row: int) -> bool:
        """Whether the site's rows from `row` on can be taken off again, where they begin among these."""
        if row >= self.start + self.rows:
            return True
        return row in accumulate(self._steps, initial=self.start)

    def cut(self, row: int) -> None:
        """Forgets the site's rows from `row` on."""
        while self._steps and self.start + self.rows > row:
            self.rows -= self._steps.pop()
        if not self._steps:
            self._let_go()
        elif self.rows < self._q.size:
            self._q.cut(self.rows)
            self._out.cut(self.rows)

    def walked(
        self, k: Tensor, v: Tensor, sight: tuple[Tensor, Tensor], scoring: Scoring
    ) -> tuple[Normaliser, Certificate]:
        """Normaliser and certificate of all rows, from the site's keys and values; nothing is held any more.
        sight: the ends (b|1 h|1 r s) of what these rows may see, in columns of the site.   scoring: of the
        site, whose mask is not asked.
        """
        how, q, out = self._how, self._q.whole(), self._out.whole()
        if how is None:
            raise ValueError("nothing is held")
        self._let_go()
        own = replace(scoring, mask=spans(*sight), bias=None, offset=0, arithmetic=how.arithmetic)
        with torch.no_grad(), torch.autocast(q.device.type, enabled=False):
            rows = normaliser_of(own.bind(q, k))
            return rows, certify(q, k, v, out, own, rows, route=how.route, evening=how.evening)

    def _let_go(self) -> None:
        self.rows, self._steps, self._how = 0, [], None
        self._q, self._out = MemoryStrip(), MemoryStrip()
