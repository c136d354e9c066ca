"""One call of attention with all that scores are computed from: q, k, the normaliser, and sums over rows."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from attnscope.core.fold import summarize
from attnscope.core.mask import Mask
from attnscope.core.normaliser import RowState
from attnscope.core.scoring import Bound, Scoring
from attnscope.core.summary import Summary
from attnscope.core.tile import Normaliser
from attnscope.core.visible import Visible
from attnscope.recording import Site
from attnscope.recording.sight import sight_of, visible_of
from attnscope.recording.site import of_batch


@dataclass(frozen=True, eq=False)
class Attention:
    """One text of a call. rows: those that see a key and stand for no padding.   summary: of these rows,
    every axis kept.   bound: None where q and k are not at hand.   batch: which text of the call.
    looks_back: no row sees a key after its own.
    """

    rows: slice
    offset: int
    summary: Summary
    normaliser: Normaliser
    bound: Bound | None
    batch: int
    looks_back: bool = False

    @property
    def columns(self) -> int:
        """How many rows are counted."""
        return int(self.rows.stop - self.rows.start)


def attention_of(site: Site, *, batch: int = 0) -> Attention:
    """One text of a site. Raises NotKept where a part of its rows needs q and k, and these were not kept."""
    rows = _rows(site, batch)
    kept = {"q", "k"} <= site.shelf.names
    if rows == slice(0, site.tq) and (site.shelf.summary is not None or not kept):
        summary = site.summary(batch)
    else:
        whole = summarize(site.q, site.k, site.scoring, normaliser=site.normaliser, rows=rows, top=0)
        summary = of_batch(whole, batch, site.batch)
    bound = site.bound if kept else None
    return Attention(rows, site.offset or 0, summary, site.normaliser, bound, batch, _looks_back(site))


class Uniform:
    """The uniform head: the same weight on every key that a row sees. It is a head like any other, whose q
    and k are zero, so that every score of it is exact over the very cells that a model's head may use.

    Sites with the same sight share one.
    """

    def __init__(self) -> None:
        self._known: list[tuple[Visible, Attention]] = []

    def of(self, site: Site, *, batch: int = 0) -> Attention:
        """The uniform head under the mask of a site, (b 1 tq), or (b h tq) where heads see different keys."""
        bound = _flat(site)
        rows = _rows(site, batch)
        for seen, found in self._known:
            if found.batch == batch and found.rows == rows and _same(seen, bound.visible):
                return found
        summary = summarize(bound.q, bound.k, bound.scoring, rows=rows, top=0)
        count = bound.visible.count().expand(bound.shape.b, bound.shape.h, bound.shape.tq).double()
        peak = torch.zeros_like(count).masked_fill(count == 0, -torch.inf)
        made = Attention(
            rows, site.offset or 0, of_batch(summary, batch, site.batch),
            RowState(peak, count).normaliser(), bound, batch,
        )  # fmt: skip
        self._known.append((bound.visible, made))
        return made


def _flat(site: Site) -> Bound:
    """The mask of a site, and what its bias hides, with a q and k of zeros in float64."""
    mask, bias = site.scoring.mask, site.scoring.bias
    hidden = None if bias is None else bias.hidden()
    both: Mask | None = mask & hidden if mask is not None and hidden is not None else mask or hidden
    kept = site.heads if site.kept is None else len(site.kept)
    device = site.normaliser.peak.device
    seen = visible_of(site)
    alike = hidden is None and (seen is None or (seen.rule is None and seen.lo.shape[1] == 1))
    heads = 1 if alike else kept
    q = torch.zeros(site.batch, heads, site.tq, 1, dtype=torch.float64, device=device)
    k = torch.zeros(site.batch, heads, site.tk, 1, dtype=torch.float64, device=device)
    return Scoring(both, offset=site.scoring.offset or 0).bind(q, k)


def _same(one: Visible, other: Visible) -> bool:
    if one.rule is not None or other.rule is not None:
        return one is other
    if (one.b, one.h, one.tk, one.lo.shape) != (other.b, other.h, other.tk, other.lo.shape):
        return False
    if (one.valid is None) != (other.valid is None):
        return False
    valid = one.valid is None or other.valid is None or torch.equal(one.valid, other.valid)
    return valid and torch.equal(one.lo, other.lo) and torch.equal(one.hi, other.hi)


def _looks_back(site: Site) -> bool:
    seen = visible_of(site)
    if seen is None or site.offset is None:
        return False
    own = torch.arange(site.tq, device=seen.hi.device)[:, None] + site.offset
    return bool(((seen.hi <= own + 1) | (seen.hi <= seen.lo)).all())


def _rows(site: Site, batch: int) -> slice:
    """The rows of a text that see a key and stand for no padding, all of them where they are in pieces."""
    first, end = sight_of(site, batch=batch).rows or (0, site.tq)
    return slice(first, end)
