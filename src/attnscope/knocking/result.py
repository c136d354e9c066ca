"""What came of taking something out: how far the answer moved, as tensors and as a few lines to read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

from torch import Tensor

from attnscope.errors import ModelError, ShapeError
from attnscope.knocking.cut import Cut
from attnscope.knocking.moved import Likeliest, Moved, Shifted
from attnscope.plain import plain
from attnscope.recording.asked import index_of

Name = Callable[[int], str]
"""The text of a token, by its id."""

WARNING = (
    "A large weight whose removal moves nothing explains nothing of the answer; and what moves when it is "
    "gone is its effect here, on this text, in a model that may make up for it."
)
"""What a reader has to know of such a number."""

_WAYS = {
    "zero": "weights set to 0, the others as they were",
    "renormalise": "as if masked, the row's other weights sharing their part",
    "mean": "the head's mean output in its place",
}
_SHOWN = 5


@dataclass(frozen=True)
class Nothing:
    """The answer with nothing taken out, held against the model's own. largest: difference of a number."""

    bit_equal: bool
    largest: float

    def __str__(self) -> str:
        if self.bit_equal:
            return "With nothing taken out the answer is the model's own, bit for bit."
        return (
            f"With nothing taken out the answer differs by up to {self.largest:.3g}: so much two runs of "
            "this model differ by themselves, and no smaller change means anything."
        )


@dataclass(frozen=True, eq=False)
class TakenOut:
    """One cut as it was made. call: which call of the forward it was.   layer: the model's own number of its
    layer, None where it has none.   weights: what each row lost, (b tq), 0 where it saw none of the cells;
    None where whole rows were taken out.   verdict: of the certificate of the head, one a text; None for
    whole rows.
    """

    cut: Cut
    call: int
    layer: int | None
    weights: Tensor | None = field(default=None, repr=False)
    verdict: tuple[str, ...] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The cut as JSON values; rows and columns as [first, end], None for all."""
        cut = self.cut
        spans = {
            name: [one.start, one.stop] if isinstance(one, slice) else one
            for name, one in (("rows", cut.rows), ("cols", cut.cols))
        }
        verdict = None if self.verdict is None else list(self.verdict)
        return {
            "site": cut.site, "order": cut.order, "call": self.call, "layer": self.layer, "head": cut.head,
            **spans, "how": cut.how, "batch": cut.batch, "weight": self.weight, "verdict": verdict,
            "words": str(self),
        }  # fmt: skip

    @property
    def weight(self) -> float | None:
        """The largest weight that a row lost: of a single cell its own."""
        return None if self.weights is None or not self.weights.numel() else float(self.weights.max())

    def __str__(self) -> str:
        cut = self.cut
        rows, cols = _span(cut.rows, "query", "queries"), _span(cut.cols, "key", "keys")
        part = ", ".join(filter(None, (rows, cols))) or "the whole head"
        layer = f"Layer {self.layer}" if self.layer is not None else f"Call {self.call}"
        lost = "" if self.weight is None else f"; weight {self.weight:.3g}"
        return f"{layer}, head {cut.head} of {cut.site}, {part}: {_way(cut)}{lost}"


@dataclass(frozen=True)
class Token:
    """A token that may come next: its probability before and after."""

    id: int
    text: str
    before: float
    after: float


@dataclass(frozen=True)
class Next:
    """What the model expected after one position, before and after.

    kl: in nats, of the distribution before from the one after.   variation: total variation, 0 to 1.
    realised: change of the log-probability of the token that stands next, None where none does.   before,
    after: the likeliest tokens of each.
    """

    position: int
    kl: float
    variation: float
    realised: float | None
    before: tuple[Token, ...]
    after: tuple[Token, ...]


@dataclass(frozen=True, eq=False)
class Knockout:
    """taken_out: the cuts.   nothing: the check that a knock-out of nothing changes nothing.   moved: of
    logits, how far the distribution after each position moved; None for a model that gives states alone.
    states: of those, how far they moved.   real: which positions are no padding, (b t), where that is known.
    name: the text of a token.
    """

    taken_out: tuple[TakenOut, ...]
    nothing: Nothing
    moved: Moved | None
    states: Shifted | None
    real: Tensor | None = field(default=None, repr=False)
    name: Name | None = field(default=None, repr=False)

    def named(self, name: Name) -> Knockout:
        """The same with texts for its tokens."""
        return replace(self, name=name)

    @property
    def positions(self) -> int:
        """How many positions the answer has."""
        found = self.moved.kl if self.moved is not None else None
        found = self.states.length if found is None and self.states is not None else found
        return 0 if found is None else int(found.shape[1])

    def position(self, batch: int = 0) -> int:
        """The position that is told of first: that of the one row that lost something, else the last one."""
        size = self.positions
        rows = {_single(one.cut.rows) for one in self.taken_out}
        row = rows.pop() if len(rows) == 1 else None
        if row is not None and row < size:
            return row
        if self.real is None or self.real.shape[1] != size:
            return size - 1
        places = self.real[batch].nonzero()[:, 0]
        return int(places[-1]) if len(places) else size - 1

    def at(self, position: int | None = None, *, batch: int = 0, top: int = _SHOWN) -> Next:
        """What was expected after a position, with its `top` likeliest tokens, at most 50.

        Raises ModelError for a model that gives states alone, ShapeError for a position that is not there.
        """
        moved = self.moved
        if moved is None:
            raise ModelError(
                "This model gives hidden states and expects no token",
                wanted="A model that gives logits",
                hint="How far the states moved is in .states",
            )
        b, t = moved.kl.shape
        batch = index_of(batch, b, "text of the batch")
        at = self.position(batch) if position is None else index_of(position, t, "position")
        if top < 0:
            raise ShapeError(f"top={top}", wanted="0 or more")
        realised = None if moved.realised is None else float(moved.realised[batch, at])
        return Next(
            at, float(moved.kl[batch, at]), float(moved.variation[batch, at]),
            None if realised is None or realised != realised else realised,
            self._tokens(moved.before, batch, at, top), self._tokens(moved.after, batch, at, top),
        )  # fmt: skip

    def to_dict(self, position: int | None = None, *, batch: int = 0, top: int = _SHOWN) -> dict[str, Any]:
        """What is told of one text as JSON values: the cuts, the check of nothing, how far the answer moved
        at every position, and the likeliest tokens at one.
        """
        told: dict[str, Any] = {
            "taken_out": [one.to_dict() for one in self.taken_out],
            "nothing": {"bit_equal": self.nothing.bit_equal, "largest": self.nothing.largest},
            "warning": WARNING,
        }
        if self.moved is None:
            states = self.states
            parts = {} if states is None else {"length": states.length, "share": states.share}
            at = self.position(batch) if position is None else position
            return told | {"answers": "states", "next": {"position": at}} | _of_text(parts, batch)
        names = ("kl", "variation", "realised")
        moved: dict[str, Tensor | None] = {name: getattr(self.moved, name) for name in names}
        found = self.at(position, batch=batch, top=top)
        return told | {"answers": "logits", "next": plain(found)} | _of_text(moved, batch)

    def __str__(self) -> str:
        lines = [str(one) for one in self.taken_out] or ["Nothing was taken out"]
        if self.moved is None:
            lines += self._told_of_states()
        else:
            found = self.at()
            lines.append(_told(found))
            lines += [_row(*cells) for cells in self._table(found)]
        return "\n".join([*lines, str(self.nothing), WARNING])

    def _repr_html_(self) -> str:
        heads = "".join(f"<div>{escape(str(one))}</div>" for one in self.taken_out)
        if self.moved is None:
            body = "".join(f"<div>{escape(line)}</div>" for line in self._told_of_states())
        else:
            found = self.at()
            first, *others = self._table(found)
            head = "".join(f"<th>{escape(cell)}</th>" for cell in first)
            rows = "".join(
                "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>" for cells in others
            )
            body = f"<div>{escape(_told(found))}</div><table><tr>{head}</tr>{rows}</table>"
        return f"<div>{heads}{body}<div>{escape(str(self.nothing))}</div><div>{escape(WARNING)}</div></div>"

    def _told_of_states(self) -> list[str]:
        states = self.states
        if states is None or not states.length.numel():
            return ["There are no positions"]
        at = self.position()
        place = int(states.length[0].argmax())
        return [
            f"The last hidden state of position {at} moved by {float(states.share[0, at]):.4f} of its "
            f"length; the one that moved most, of position {place}, by {float(states.share[0, place]):.4f}"
        ]

    def _tokens(self, tops: Likeliest, batch: int, at: int, top: int) -> tuple[Token, ...]:
        columns = (tops.ids, tops.before, tops.after)
        ids, before, after = (column[batch, at, :top].tolist() for column in columns)
        name = self.name or (lambda one: f"#{one}")
        return tuple(Token(i, name(i), p, q) for i, p, q in zip(ids, before, after, strict=True))

    def _table(self, found: Next) -> list[tuple[str, str, str]]:
        """The likeliest tokens of both, each once, those of before first."""
        each = {token.id: token for token in (*found.before, *found.after)}
        rows = [(repr(one.text), f"{one.before:.4f}", f"{one.after:.4f}") for one in each.values()]
        return [("token", "before", "after"), *rows]


def _of_text(columns: Mapping[str, Tensor | None], batch: int) -> dict[str, Any]:
    """One text's numbers at every position, null where there is none."""
    return {
        name: None if values is None else [x if math.isfinite(x) else None for x in values[batch].tolist()]
        for name, values in columns.items()
    }


def _single(rows: object) -> int | None:
    return int(rows.start) if isinstance(rows, slice) and rows.stop - rows.start == 1 else None


def _way(cut: Cut) -> str:
    return "output set to 0" if cut.whole and cut.how != "mean" else _WAYS[cut.how]


def _span(cut: object, one: str, many: str) -> str:
    if not isinstance(cut, slice):
        return ""
    if cut.stop - cut.start == 1:
        return f"{one} {cut.start}"
    return f"{many} {cut.start} to {cut.stop - 1}" if cut.stop > cut.start else f"no {one}"


def _told(found: Next) -> str:
    realised = (
        "" if found.realised is None else f"; log-probability of the token there: {found.realised:+.4f}"
    )
    return (
        f"After position {found.position} the distribution moved by {found.kl:.4g} nats (KL), total "
        f"variation {found.variation:.4g}{realised}"
    )


def _row(*cells: str) -> str:
    return f"  {cells[0]:<20} {cells[1]:>8} {cells[2]:>8}"
