"""The calls of one module during a generation: which of them make one grid, and where a new one begins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from attnscope.core.scoring import Scoring
from attnscope.recording.biases import Biases
from attnscope.recording.growing import Growing
from attnscope.recording.piece import Piece
from attnscope.recording.placing import Place, fingerprints, place, reordered
from attnscope.recording.strips import Strip

MOST_SEGMENTS = 32
"""Grids of one module in one run, each with its own keys: past this their sum would grow as T x T."""


@dataclass(eq=False)
class Forward:
    """What the self attention of one forward has found out, for the cross attention beside it. position: of
    row 0 among all rows of the decoder.   same: (b b), where entries of the batch have changed places, whose
    history each may go on with.
    """

    position: int | None = None
    same: torch.Tensor | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Break:
    """Where a new segment begins: at this row of those that were generated, and why."""

    row: int
    reason: str


@dataclass(eq=False)
class Joining:
    """The segments of one module, in order.   strip(name) makes room for a growing tensor."""

    strip: Callable[[str], Strip]
    segments: list[Growing] = field(default_factory=list)
    breaks: list[Break] = field(default_factory=list)
    revisited: bool = False

    def take(self, piece: Piece, forward: Forward) -> None:
        """Adds one call."""
        k, v = (piece.tensors[name][:, :, : piece.used] for name in ("k", "v"))
        prints = fingerprints(k, v)
        is_self = piece.offset is not None
        if self.segments and is_self and piece.past == 0:
            for grown in self.segments:
                grown.drop()
            self.segments, self.breaks, self.revisited = [], [], True
        if not self.segments:
            self._open(piece, prints, forward)
            return
        held = self.segments[-1]
        found = _fit(held, piece, prints, forward)
        if isinstance(found, str):
            self.breaks.append(Break(self._position(), found))
            self._open(piece, prints, forward)
            return
        where, row, biases = found
        self.revisited = self.revisited or row < held.rows
        held.append(piece, where, row, prints, biases)
        if is_self:
            _tell(forward, where.first + piece.past, where.same)

    @property
    def why(self) -> str | None:
        """One sentence on where and why new segments began; None where there is one grid."""
        if not self.breaks:
            return None
        rows = ", ".join(str(one.row) for one in self.breaks[:4]) + (" ..." if len(self.breaks) > 4 else "")
        reasons = "; ".join(dict.fromkeys(one.reason for one in self.breaks))
        return f"its calls make {len(self.segments)} grids (site.segment), since at row {rows} {reasons}"

    def end_at(self, processed: int) -> str | None:
        """Drops guesses past the tokens that were processed in the end, where some were visited again; a
        sentence where rows of them were not heard.
        """
        last = self.segments[-1] if self.segments else None
        if last is None or last.base is None or last.facts["stack"] != "decoder":
            return None
        if self.revisited and last.base < processed < self._position():
            last.end_at(processed - last.base)
        lacking = processed - self._position()
        if lacking <= 0:
            return None
        return (
            f"the last {lacking} of {processed} tokens were not heard: they were processed by compiled code"
        )

    @property
    def full(self) -> bool:
        """Whether no further segment may be opened."""
        return len(self.segments) >= MOST_SEGMENTS

    def _open(self, piece: Piece, prints: torch.Tensor, forward: Forward) -> None:
        segment = len(self.segments)
        grown = Growing(piece.facts, piece.keep, self._strip_of(segment), segment, piece.offset)
        biases = _biases(Biases(), piece, 0) or Biases()
        grown.append(piece, Place(0), 0, prints, biases)
        grown.base = piece.offset if piece.offset is not None else forward.position
        self.segments.append(grown)
        if piece.offset is not None:
            _tell(forward, piece.offset, None)

    def _strip_of(self, segment: int) -> Callable[[str], Strip]:
        return lambda name: self.strip(f"{segment}.{name}")

    def _position(self) -> int:
        last = self.segments[-1]
        return (last.base or 0) + last.rows


def _fit(
    held: Growing, piece: Piece, prints: torch.Tensor, forward: Forward
) -> tuple[Place, int, Biases] | str:
    """Where a call stands in what is held: its place, its first row, the biases of both; or why it does not
    fit.
    """
    different = _different(held, piece)
    if different is not None:
        return different
    if piece.offset is None:
        where, row = _cross(held, prints, forward)
    else:
        if piece.past > held.columns:
            return f"{piece.past - held.columns} rows before it were not heard"
        where = place(held.prints, prints[:, : piece.past], forward.same)
        row = 0 if where is None else where.first + piece.past - (held.base or 0)
    if where is None:
        return "the keys it is handed are not those of the call before"
    if not 0 <= row <= held.rows:
        return "rows before it were not heard"
    if held.sums is not None and not held.sums.can_cut(row):
        return "rows whose sums were made are visited again"
    biases = _biases(held.biases, piece, where.first)
    return "its bias is another one" if biases is None else (where, row, biases)


def _cross(held: Growing, prints: torch.Tensor, forward: Forward) -> tuple[Place | None, int]:
    """Cross attention: all keys are those that were there; its rows are those of the self attention."""
    row = held.rows if forward.position is None or held.base is None else forward.position - held.base
    if held.prints.shape != prints.shape:
        return None, row
    if forward.same is None and torch.equal(held.prints, prints):
        return Place(0), row
    return reordered(held.prints, prints, 0, forward.same), row


def _biases(held: Biases, piece: Piece, first: int) -> Biases | None:
    return held.joined(piece.scoring.bias, piece.bound.visible, piece.bound.offset, first)


def _different(held: Growing, piece: Piece) -> str | None:
    """What cannot change within one grid."""
    names = {"batch": "batch", "heads": "heads", "key_heads": "key heads", "d": "width", "dv": "value width",
             "dtype": "dtype", "route": "route"}  # fmt: skip
    for name, word in names.items():
        if held.facts[name] != piece.facts[name]:
            return f"its {word} goes from {held.facts[name]} to {piece.facts[name]}"
    return None if _same(held.scoring, piece.scoring) else "its scale, cap or sinks are others"


def _same(one: Scoring, two: Scoring) -> bool:
    if (one.scale, one.softcap, one.bias_inside_cap) != (two.scale, two.softcap, two.bias_inside_cap):
        return False
    if one.sinks is None or two.sinks is None:
        return one.sinks is two.sinks
    return torch.equal(one.sinks, two.sinks)


def _tell(forward: Forward, position: int, same: torch.Tensor | None) -> None:
    if forward.position is None:
        forward.position = position
    if same is not None:
        forward.same = same if forward.same is None else forward.same & same
