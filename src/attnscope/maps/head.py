"""One head whose cells can be asked for block by block: of a recorded site, or of q and k themselves."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attnscope.core.engine import normaliser_of
from attnscope.core.mask import Mask
from attnscope.core.scoring import Bound, Scoring, as_scoring
from attnscope.core.tile import Normaliser, shifted
from attnscope.core.visible import Visible
from attnscope.core.walk import SHORT_GAP
from attnscope.errors import ShapeError
from attnscope.maps.mixed import Mixed
from attnscope.maps.replayed import Replayed
from attnscope.maps.scored import Scored
from attnscope.maps.source import Source
from attnscope.recording import Site
from attnscope.recording.refusals import not_measured

COLUMNS = 1_024
"""Columns of a stretch in which something is visible: what is kept begins and ends with one."""


@dataclass(frozen=True, eq=False)
class Head:
    """tq, tk: rows and columns.   offset: position of row 0 among the keys, None in cross attention.

    source: where its weights come from.   visible: what its rows see, of this head alone (b = h = 1).
    sink: the weight of each row on a learned sink, (tq), or None.   lengths: in the second picture of the
    head, what the weights of each key are multiplied by, (tk); None in the first, which is of the weights.
    What comes of it is on the CPU.
    """

    tq: int
    tk: int
    offset: int | None
    source: Source = field(repr=False)
    visible: Visible = field(repr=False)
    sink: Float[Tensor, " tq"] | None = field(repr=False)
    lengths: Float[Tensor, " tk"] | None = field(default=None, repr=False)

    def weights(self, rows: slice, cols: slice) -> Float[Tensor, "r c"]:
        """Any block, as the recording shows it: 0 where not visible. In the second picture weight times
        length, as site.mixes() has it.
        """
        return self.source.weights(rows, cols)

    def seen(self, rows: slice, cols: slice) -> Bool[Tensor, "r c"]:
        """Which cells of a block are visible."""
        found = self.visible.tile(rows, cols)[0, 0]
        return found.expand(rows.stop - rows.start, cols.stop - cols.start).cpu()

    def runs(self, rows: slice) -> list[slice]:
        """The columns in which these rows see anything, in whole stretches: disjoint and in order."""
        found: list[slice] = []
        for lo, hi in self.visible.ranges(rows, gap=SHORT_GAP):
            first, stop = lo // COLUMNS * COLUMNS, min(-(-hi // COLUMNS) * COLUMNS, self.tk)
            if found and first <= found[-1].stop:
                first = found.pop().start
            found.append(slice(first, stop))
        return found

    def sees(self, rows: slice, cols: slice) -> bool:
        """Whether these rows may see any of these columns."""
        return any(run.start < cols.stop and cols.start < run.stop for run in self.runs(rows))


def of_site(
    site: Site, head: int, *, batch: int = 0, values: bool = False, allow_uncertified: bool = False
) -> Head:
    """A head of a recorded site, by the model's number.

    values: its second picture, each weight times the length of its key's value, as `site.lengths` has it.
    Raises NotKept, for lengths that are not known too, Uncertified for a head whose certificate was refused,
    ShapeError.
    """

    def shown(rows: slice, cols: slice) -> Tensor:
        return site.weights(head, rows, cols, batch=batch, allow_uncertified=allow_uncertified).cpu()

    nothing = slice(0, 0)
    shown(nothing, nothing)  # raises what there is to raise
    at, batch = site.head_at(head), batch % site.batch
    made = _of_bound(site.bound, site.normaliser, at, batch)
    source = made.source if site.reach is None else Replayed(shown, made.visible)
    found = replace(made, offset=None if site.kind == "cross" else site.offset or 0, source=source)
    if not values:
        return found
    lengths = site.lengths.values
    if lengths is None:
        raise not_measured(site)
    return mixed(found, lengths[batch, at])


def mixed(head: Head, lengths: Float[Tensor, " tk"]) -> Head:
    """The second picture of a head: every cell is its weight times the length of its key's value.

    Raises ShapeError.
    """
    if tuple(lengths.shape) != (head.tk,):
        raise ShapeError(
            f"lengths is {tuple(lengths.shape)}", wanted=f"One number for each key, ({head.tk},)"
        )
    own = lengths.detach().cpu()
    return replace(head, source=Mixed(head.source, own, head.visible), lengths=own)


def of_call(
    q: Tensor,
    k: Tensor,
    scoring: Scoring | Mask | None = None,
    *,
    normaliser: Normaliser | None = None,
    head: int = 0,
    batch: int = 0,
) -> Head:
    """A head of q (b h tq d) and k (b hk tk d); without the normaliser (b h tq) it is made first, of this
    head.

    Raises ShapeError, DtypeError, MaskError or ScoringError.
    """
    bound = as_scoring(scoring).bind(q, k)
    for name, at, size in (("head", head, bound.shape.h), ("batch", batch, bound.shape.b)):
        if not 0 <= at < size:
            raise ShapeError(f"There is no {name} {at}", wanted=f"0 to {size - 1}")
    lead = (bound.shape.b, bound.shape.h, bound.shape.tq)
    if normaliser is not None and tuple(normaliser.peak.shape) != lead:
        raise ShapeError(f"normaliser is {tuple(normaliser.peak.shape)}", wanted=f"That of all rows, {lead}")
    return _of_bound(bound, normaliser, head, batch)


@torch.no_grad()
def _of_bound(bound: Bound, normaliser: Normaliser | None, head: int, batch: int) -> Head:
    one = bound.of_head(head, batch)
    known = normaliser_of(one) if normaliser is None else normaliser.of_head(head, batch)
    source = Scored(one, known)
    return Head(one.shape.tq, one.shape.tk, one.offset, source, source.visible, _sink(one, known))


def _sink(one: Bound, known: Normaliser) -> Tensor | None:
    column = one.sinks()
    if column is None:
        return None
    score = column[..., None].expand(*known.peak.shape, 1)
    return (shifted(one, score, known.peak)[..., 0] - known.logsum).exp()[0, 0].cpu()
