"""The calls of one module during a generation: which of them make one grid, and where a new one begins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from attnscope.recording.columns import outlines_of, same_text
from attnscope.recording.fitting import Fit, fit
from attnscope.recording.growing import Growing
from attnscope.recording.piece import Piece
from attnscope.recording.placing import fingerprints
from attnscope.recording.strips import Strip

MOST_SEGMENTS = 32
"""Grids of one module in one run, each with its own keys: past this their sum would grow as T x T."""

ANEW = "a text begins without the keys before it"
BITS = "its mask needs a bit for each cell, and there are too many: later rows are not shown"


@dataclass(eq=False)
class Forward:
    """What the self attention of one forward has found out, for the layers after it and the cross attention.
    position: of row 0 among all rows of the decoder.   text: the number of the text that goes on.   same: (b
    b), where entries of the batch have changed places, whose history each may go on with.
    """

    position: int | None = None
    text: int | None = None
    same: torch.Tensor | None = field(default=None, repr=False)

    def tell(self, position: int, text: int, same: torch.Tensor | None) -> None:
        """What one layer has found out."""
        self.position = position if self.position is None else self.position
        self.text = text if self.text is None else self.text
        if same is not None:
            self.same = same if self.same is None else self.same & same


@dataclass(eq=False)
class Joining:
    """The segments of one module, in order.   strip(name) makes room for a growing tensor.   over: why no
    more calls are taken.
    """

    strip: Callable[[str], Strip]
    segments: list[Growing] = field(default_factory=list)
    over: str | None = None
    _recent: list[Growing] = field(default_factory=list)  # the one that grew last comes last
    _opened: int = 0

    def take(self, piece: Piece, forward: Forward) -> str | None:
        """Adds one call; why it cannot be added, None where it was."""
        if self.over is not None:
            return self.over
        if piece.facts["stack"] != "decoder":
            forward = Forward()  # an encoder within the same forward has a text of its own
        k, v = piece.tensors.get("k"), piece.tensors["v"]
        prints = fingerprints(None if k is None else k[:, :, : piece.used], v[:, :, : piece.used])
        begins = piece.offset is not None and piece.past == 0
        found = ANEW if begins else self._fit(piece, prints, forward)
        if isinstance(found, Fit):
            return self._append(found, piece, prints, forward)
        again = self._computed_again(piece, forward) if begins else None
        if again is not None:
            self._forget(again)
        elif len(self.segments) >= MOST_SEGMENTS:
            self.over = f"{self.why}; what came after the last of them is left out"
            return self.over
        self._open(piece, prints, forward, again, found)
        return None

    @property
    def why(self) -> str | None:
        """One sentence on where and why new segments began; None where there is one grid."""
        later = [(one.base or 0, one.why) for one in self.segments[1:] if one.why is not None]
        if not later:
            return None
        rows = ", ".join(str(row) for row, _ in later[:4]) + (" ..." if len(later) > 4 else "")
        reasons = "; ".join(dict.fromkeys(why for _, why in later))
        return f"its calls make {len(self.segments)} grids (site.segment), since at row {rows} {reasons}"

    def end_at(self, processed: int, *, guesses: bool) -> str | None:
        """Drops `guesses` past the tokens that were processed in the end; a sentence where they cannot be
        dropped, or where rows of those tokens were not heard.
        """
        last = next((one for one in reversed(self.segments) if one.text == 0), None)
        if last is None or last.base is None or last.facts["stack"] != "decoder" or self.over is not None:
            return None
        count = processed - last.base
        if guesses and 0 < count < last.rows:
            if not last.can_cut(count):
                return f"its last {last.rows - count} rows are guesses that were not taken"
            last.end_at(count)
        lacking = count - last.rows
        if lacking <= 0 or len(self.segments) > 1:
            return None
        return (
            f"the last {lacking} of {processed} tokens were not heard: they were processed by compiled code"
        )

    def _fit(self, piece: Piece, prints: torch.Tensor, forward: Forward) -> Fit | str:
        """The segment that goes on with a call, one of which nothing is lost where there is one; else why the
        one that grew last does not.
        """
        likely, found = list(reversed(self._recent)), list[Fit | str]()
        likely.sort(key=lambda held: held.text != forward.text)
        for held in likely:
            if piece.offset is None and forward.text not in (None, held.text):
                continue
            one = fit(held, piece, prints, forward.position, forward.same)
            if isinstance(one, Fit) and one.row == held.rows:
                return one
            found.append(one)
        return next((one for one in found if isinstance(one, Fit)), found[0] if found else ANEW)

    def _append(self, found: Fit, piece: Piece, prints: torch.Tensor, forward: Forward) -> str | None:
        held = found.held
        if not held.edges.fits(piece.visible, piece.spans):
            self.over = BITS
            return self.over
        held.append(piece, found.place, found.row, prints, found.biases)
        self._recent.remove(held)
        self._recent.append(held)
        if piece.offset is not None:
            forward.tell(found.place.first + piece.past, held.text, found.place.same)
        return None

    def _computed_again(self, piece: Piece, forward: Forward) -> int | None:
        """The number of the text that a call without a past begins with: it is computed once more, from its
        first token on, as happens where nothing is cached. None where it is another text.
        """
        begun = {one.text: one for one in self.segments if one.offset == 0}
        if forward.text is not None:  # a layer before this one has found out
            return forward.text if forward.text in begun else None
        rows = piece.visible.count().amax(dim=1) > 0  # (b|1 t)
        outlines = outlines_of(piece.tensors["v"][:, :, : piece.used])
        for text, one in sorted(begun.items(), key=lambda pair: -pair[1].columns.size):
            if same_text(one.columns.outlines, outlines, rows, piece.facts["dtype"]):
                return text
        return None

    def _forget(self, text: int) -> None:
        """Lets go the segments of a text that is computed again."""
        for one in [one for one in self.segments if one.text == text]:
            one.drop()
            self.segments.remove(one)
            self._recent.remove(one)

    def _open(
        self, piece: Piece, prints: torch.Tensor, forward: Forward, again: int | None, why: str
    ) -> None:
        """A new segment. again: the number of the text, where it replaces what was held of it."""
        anew = piece.offset is not None and piece.past == 0
        before = next((one for one in reversed(self._recent) if forward.text in (None, one.text)), None)
        text = forward.text if again is None else again
        if text is None:
            following = max((one.text for one in self.segments), default=-1) + 1
            text = following if anew or before is None else before.text
        base = forward.position if piece.offset is None else 0 if anew else _position(piece, forward, before)
        first = 0 if piece.offset is None or base is None else base - piece.past
        grown = Growing(
            piece.facts, piece.keep, self._strip_of(self._opened), None if piece.offset is None else base,
            base, text, why if self.segments else None,
        )  # fmt: skip
        self._opened += 1
        grown.begin(piece, first, prints)
        self.segments.append(grown)
        self.segments.sort(key=lambda one: one.text)
        self._recent.append(grown)
        if piece.offset is not None and base is not None:
            forward.tell(base, text, None)

    def _strip_of(self, number: int) -> Callable[[str], Strip]:
        return lambda name: self.strip(f"{number}.{name}")


def _position(piece: Piece, forward: Forward, before: Growing | None) -> int:
    """The position of row 0 among all rows, where its keys are not those that were there: the keys before it
    may be the last ones alone, as in a window.
    """
    if forward.position is not None and forward.position >= piece.past:
        return forward.position
    if before is not None and before.late and before.end > piece.past:
        return before.end
    return piece.past
