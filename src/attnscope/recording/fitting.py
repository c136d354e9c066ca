"""Whether a call goes on with what a site holds, and where it then stands: or, in a few words, why not."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from attnscope.core.scoring import Scoring
from attnscope.recording.biases import Biases
from attnscope.recording.growing import Growing
from attnscope.recording.piece import Piece
from attnscope.recording.placing import Place, place, reordered


@dataclass(frozen=True, eq=False)
class Fit:
    """held: what goes on.   row: the site's row that is the call's row 0.   biases: of both."""

    held: Growing
    place: Place
    row: int
    biases: Biases = field(repr=False)


def fit(
    held: Growing,
    piece: Piece,
    prints: torch.Tensor,
    position: int | None = None,
    same: torch.Tensor | None = None,
) -> Fit | str:
    """Where a call stands in what is held, or why it does not fit. position, same: see joining.Forward."""
    different = _different(held, piece)
    if different is not None:
        return different
    where: Place | None
    if piece.offset is None:
        where, row = _cross(held, prints, position, same)
    elif piece.past > held.columns.size:
        return f"{piece.past - held.columns.size} rows before it were not heard"
    else:
        where = place(held.columns.prints, prints[:, : piece.past], same)
        row = 0 if where is None else where.first + piece.past - (held.base or 0)
    if where is None:
        return "the keys it is handed are not those of the call before"
    if not 0 <= row <= held.rows:
        return "rows before it were not heard"
    if not held.can_cut(row):
        return "rows whose sums were made are visited again"
    before = held.biases if where.parents is None else held.biases.reordered(where.parents)
    biases = before.joined(piece.scoring.bias, piece.visible, piece.scoring.offset or 0, where.first)
    return "its bias is another one" if biases is None else Fit(held, where, row, biases)


def _cross(
    held: Growing, prints: torch.Tensor, position: int | None, same: torch.Tensor | None
) -> tuple[Place | None, int]:
    """Cross attention: all keys are those that were there; its rows are those of the self attention."""
    row = held.rows if position is None or held.base is None else position - held.base
    known = held.columns.prints
    if known.shape != prints.shape:
        return None, row
    if same is None and torch.equal(known, prints):
        return Place(0), row
    return reordered(known, prints, 0, same), row


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
