"""The weights of a head from its q, k and normaliser, through the engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import torch
from torch import Tensor

from attnscope.core.engine import Wanted, engine_of
from attnscope.core.keystats import KeyStats
from attnscope.core.scoring import Bound
from attnscope.core.tile import Normaliser
from attnscope.core.visible import Visible
from attnscope.core.walk import SHORT_GAP
from attnscope.maps.source import ROWS, WIDE, Band, Block


@dataclass(frozen=True, eq=False)
class Scored:
    """bound, normaliser: of this head alone (b = h = 1)."""

    bound: Bound = field(repr=False)
    normaliser: Normaliser = field(repr=False)

    @cached_property
    def visible(self) -> Visible:
        """What its rows see; on the CPU, but for a rule, which may hold tensors of its own."""
        seen = self.bound.visible
        if seen.rule is not None:
            return seen
        valid = None if seen.valid is None else seen.valid.cpu()
        return replace(seen, lo=seen.lo.cpu(), hi=seen.hi.cpu(), valid=valid)

    @torch.no_grad()
    def weights(self, rows: slice, cols: slice) -> Tensor:
        """Any block, (r c)."""
        return engine_of(self.bound).weights(self.bound, rows, cols, self.normaliser)[0, 0].cpu()

    def blocks(self, rows: slice, cols: slice) -> Iterator[Block]:
        """The weights in pieces of ROWS x WIDE cells, those alone in which something is visible."""
        for top in range(rows.start, rows.stop, ROWS):
            down = slice(top, min(top + ROWS, rows.stop))
            seen = self.visible.ranges(down, gap=SHORT_GAP)
            for first in range(cols.start, cols.stop, WIDE):
                across = slice(first, min(first + WIDE, cols.stop))
                if any(lo < across.stop and across.start < hi for lo, hi in seen):
                    yield down, across, self.weights(down, across)

    @torch.no_grad()
    def pixels(self, rows: slice, cols: slice, cells: int) -> Tensor:
        """Sums and maxima over squares of cells, (2 r c)."""
        found = engine_of(self.bound).pixels(self.bound, rows, cols, self.normaliser, cells)
        return torch.cat(found)[:, 0].float().cpu()

    @torch.no_grad()
    def band(self, rows: slice, cells: int) -> Band:
        """What is kept of these rows: one fold."""
        bound, engine = self.bound, engine_of(self.bound)
        cols = slice(*bound.visible.bounds(rows))
        keys = KeyStats(bound, rows=rows, cols=cols, start=0, block=cells)
        first = torch.zeros(1, dtype=torch.int64, device=bound.q.device)
        wanted = Wanted(top=0, first=first, block=cells, start=0, probe=None, brief=True, keys=keys)
        entropy = []
        for part in engine.blocks(bound, rows):
            states = engine.fold(bound, wanted, part, self.normaliser.of_rows(part))
            entropy.append(-states.rows.plogp[0, 0])
        planes = [*keys.blocks]
        if bound.visible.rule is not None and keys.counts is not None:
            planes.append(keys.counts)
        values = torch.stack([plane[0, 0].float() for plane in planes])
        received = keys.received[0, 0].cpu()
        return Band(cols.start // cells, values.cpu(), cols, received, torch.cat(entropy).clamp(min=0).cpu())
