"""One head whose weights can be asked for block by block: of a recorded site, or of q and k themselves.

Pieces stand at fixed places, so that a cell has one value in whatever tile it is reduced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attnscope.core.engine import normaliser_of
from attnscope.core.mask import Mask
from attnscope.core.scoring import Bound, Scoring, as_scoring
from attnscope.core.tile import Normaliser, finished, logs_of, shifted
from attnscope.core.visible import Visible
from attnscope.core.walk import SHORT_GAP
from attnscope.errors import ShapeError
from attnscope.recording import Site
from attnscope.recording.blocks import overlap, weights_block
from attnscope.recording.site import LARGEST_BLOCK

ROWS, COLUMNS = 256, 1_024
"""Rows and columns of a piece: 1 MB in float32."""

Weights = Callable[[slice, slice], Tensor]
"""(rows, columns) -> weights (r c), 0 where not visible."""


@dataclass(frozen=True, eq=False)
class Piece:
    """A block of the head. weights: (r c), 0 where not visible.   logs: their logarithms, where these are at
    hand, 0 where not visible.
    """

    rows: slice
    cols: slice
    weights: Float[Tensor, "r c"] = field(repr=False)
    logs: Float[Tensor, "r c"] | None = field(default=None, repr=False)

    def within(self, rows: slice, cols: slice) -> tuple[Tensor, int, int]:
        """The part of it in these rows and columns, and the row and column of them at which it begins."""
        here, down = overlap(rows, self.rows)
        there, along = overlap(cols, self.cols)
        return self.weights[down, along], here.start, there.start

    def entropy(self) -> Float[Tensor, " r"]:
        """What the piece adds to the entropy of its rows, in nats."""
        logs = self.logs
        if logs is None:
            smallest = torch.finfo(self.weights.dtype).tiny
            logs = self.weights.clamp(min=smallest).log_()  # 0 log 0 = 0
        entropy: Tensor = -torch.linalg.vecdot(self.weights, logs)
        return entropy


@dataclass(frozen=True, eq=False)
class Head:
    """tq, tk: rows and columns.   offset: position of row 0 among the keys, None in cross attention.

    weights: any block, as the recording shows it.   seen: which cells of a block are visible, (r c) bool.
    visible: what its rows see, of this head alone (b = h = 1); where a mask is a rule, ask `seen`.   sink:
    the weight of each row on a learned sink, (tq), or None.   large: larger blocks at fixed places, on the
    device of q; None where rows are replayed whole. All else is on the CPU.
    """

    tq: int
    tk: int
    offset: int | None
    weights: Weights = field(repr=False)
    seen: Callable[[slice, slice], Bool[Tensor, "r c"]] = field(repr=False)
    visible: Visible = field(repr=False)
    sink: Float[Tensor, " tq"] | None = field(repr=False)
    large: Callable[[slice, slice], Piece] | None = field(repr=False)

    def runs(self, rows: slice) -> list[slice]:
        """The columns in which these rows see anything, in whole pieces: disjoint and in order."""
        found: list[slice] = []
        for lo, hi in self.visible.ranges(rows, gap=SHORT_GAP):
            first, stop = lo // COLUMNS * COLUMNS, min(-(-hi // COLUMNS) * COLUMNS, self.tk)
            if found and first <= found[-1].stop:
                first = found.pop().start
            found.append(slice(first, stop))
        return found

    def pieces(self, rows: slice, cols: slice) -> Iterator[Piece]:
        """Blocks at fixed places that hold every visible cell of these rows and columns; they may reach
        further.
        """
        for band in self.bands(rows):
            runs = [run for run in self.runs(band) if run.start < cols.stop and cols.start < run.stop]
            if not runs:
                continue
            if self.large is None:
                whole = slice(max(runs[0].start, cols.start), min(runs[-1].stop, cols.stop))
                yield Piece(band, whole, self.weights(band, whole))
                continue
            for run in runs:
                for first in range(run.start, run.stop, COLUMNS):
                    piece = slice(first, min(first + COLUMNS, self.tk))
                    if piece.start < cols.stop and cols.start < piece.stop:
                        yield self.large(band, piece)

    def bands(self, rows: slice) -> Iterator[slice]:
        """The rows at fixed places that hold these: ROWS at a time, fewer where so many cells would be too
        many for one block.
        """
        step = ROWS
        while step > 16 and step * self.tk > LARGEST_BLOCK:
            step //= 2
        for first in range(rows.start // step * step, rows.stop, step):
            yield slice(first, min(first + step, self.tq))


def of_site(site: Site, head: int, *, batch: int = 0, allow_uncertified: bool = False) -> Head:
    """A head of a recorded site, by the model's number.

    Raises NotKept, Uncertified for a head whose certificate was refused, ShapeError.
    """

    def shown(rows: slice, cols: slice) -> Tensor:
        return site.weights(head, rows, cols, batch=batch, allow_uncertified=allow_uncertified).cpu()

    nothing = slice(0, 0)
    shown(nothing, nothing)  # raises what there is to raise
    at, batch = site.head_at(head), batch % site.batch
    made = _of_bound(site.bound, site.normaliser, at, batch)
    offset = None if site.kind == "cross" else site.offset or 0
    return replace(made, offset=offset, weights=shown, large=None if site.reach else made.large)


def of_call(
    q: Tensor,
    k: Tensor,
    scoring: Scoring | Mask | None = None,
    *,
    normaliser: Normaliser | None = None,
    head: int = 0,
    batch: int = 0,
) -> Head:
    """A head of q (b h tq d) and k (b hk tk d); without the normaliser (b h tq) it is made first, of all
    heads.

    Raises ShapeError, DtypeError, MaskError or ScoringError.
    """
    bound = as_scoring(scoring).bind(q, k)
    for name, at, size in (("head", head, bound.shape.h), ("batch", batch, bound.shape.b)):
        if not 0 <= at < size:
            raise ShapeError(f"There is no {name} {at}", wanted=f"0 to {size - 1}")
    with torch.no_grad():
        known = normaliser_of(bound) if normaliser is None else normaliser
    lead = (bound.shape.b, bound.shape.h, bound.shape.tq)
    if tuple(known.peak.shape) != lead:
        raise ShapeError(f"normaliser is {tuple(known.peak.shape)}", wanted=f"That of all rows, {lead}")
    return _of_bound(bound, known, head, batch)


def _of_bound(bound: Bound, normaliser: Normaliser, head: int, batch: int) -> Head:
    heads, batches = slice(head, head + 1), slice(batch, batch + 1)

    @torch.no_grad()
    def shown(rows: slice, cols: slice) -> Tensor:
        return weights_block(bound, normaliser, rows, cols, head=head, batch=batch).cpu()

    @torch.no_grad()
    def large(rows: slice, cols: slice) -> Piece:
        tile = bound.tile(rows, cols, heads=heads, batch=batches)
        cut = (batches, heads, rows)
        logs = logs_of(bound, tile, normaliser.peak[cut], normaliser.logsum[cut])
        weights = finished(bound, tile, torch.exp(logs, out=tile.scores))  # which is no longer needed
        rounded = bound.arithmetic.softmax or bound.arithmetic.weights
        if not tile.whole:
            logs = logs.masked_fill_(~tile.visible, 0.0)
        return Piece(rows, cols, weights[0, 0], None if rounded else logs[0, 0])

    def seen(rows: slice, cols: slice) -> Tensor:
        found = bound.visible.tile(rows, cols, heads=heads, batch=batches)[0, 0]
        return found.expand(rows.stop - rows.start, cols.stop - cols.start).cpu()

    return Head(
        bound.shape.tq, bound.shape.tk, bound.offset, shown, seen, _alone(bound.visible, head, batch),
        _sink(bound, normaliser, heads, batches), large,
    )  # fmt: skip


def _alone(visible: Visible, head: int, batch: int) -> Visible:
    """What one head's rows see. A rule stays as it is: it is not asked for here."""
    b, h = (min(at, size - 1) for at, size in zip((batch, head), visible.lo.shape[:2], strict=True))
    lo, hi = (edge[b : b + 1, h : h + 1].cpu() for edge in (visible.lo, visible.hi))
    valid = None if visible.valid is None else visible.valid[batch : batch + 1].cpu()
    return replace(visible, lo=lo, hi=hi, b=1, h=1, valid=valid)


def _sink(bound: Bound, normaliser: Normaliser, heads: slice, batches: slice) -> Tensor | None:
    column = bound.sinks(heads)
    if column is None:
        return None
    peak, logsum = normaliser.peak[batches, heads], normaliser.logsum[batches, heads]  # (1 1 tq)
    score = column[..., None].expand(*peak.shape, 1)
    return (shifted(bound, score, peak)[..., 0] - logsum).exp()[0, 0].cpu()
