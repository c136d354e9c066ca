"""The summaries of many calls as one, where q and k are not kept: rows stand side by side, keys add up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn.functional import pad

from attnscope.core.certificate import Certificate
from attnscope.core.rowstats import first_keys
from attnscope.core.summary import Summary
from attnscope.core.visible import Visible
from attnscope.recording.piece import Piece
from attnscope.recording.strips import Strip

ROWS = (
    "entropy", "largest", "largest_key", "top_weights", "top_keys", "distance", "distance_spread", "first",
    "sink",
)  # fmt: skip
"""What a summary says of each row."""


@dataclass(frozen=True, eq=False)
class _Part:
    """What rows from `start` on gave to the keys; kept of the last call alone, whose rows may be replaced."""

    start: int
    received: Tensor
    seen: Tensor
    by_distance: Tensor
    first: int


@dataclass(eq=False)
class Sums:
    """Grows by the summary of one call after the other; strip(name) makes room for what is said of rows."""

    strip: Callable[[str], Strip]
    rows: dict[str, Strip] = field(default_factory=dict)
    size: int = 0
    _received: Tensor | None = None  # (b h tk) float64
    _seen: Tensor | None = None  # (b|1 h|1 tk)
    _by_distance: Tensor | None = None  # (b h bins) float64
    _last: list[_Part] = field(default_factory=list)
    _text: Tensor | None = None  # (b): the column of each batch's first token

    def append(self, piece: Piece, first: int) -> None:
        """Adds the rows of a call, part by part, whose key 0 is column `first` of the site."""
        if self._text is None:
            self._text = first_keys(piece.visible) + first
        on_first = piece.on_key(self._text - first)
        self._last = []
        for rows, summary in ((part.rows, part.summary) for part in piece.parts):
            if summary is None:
                continue
            for name in ROWS:
                value = on_first[..., rows] if name == "first" else getattr(summary, name)
                if name in ("largest_key", "top_keys"):
                    value = torch.where(value >= 0, value + first, value)
                self.rows.setdefault(name, self.strip(f"summary.{name}")).append(value)
            received, by_distance = summary.received.double(), _by_distance(summary)
            part = _Part(self.size, received, summary.seen, by_distance, first)
            self._last.append(part)
            self._add(part, 1)
            self.size += summary.entropy.shape[-1]

    def can_cut(self, size: int) -> bool:
        """Whether the rows from `size` on can be taken off again: those of the last call, one by one."""
        return size >= self.size or any(part.start == size for part in self._last)

    def cut(self, size: int) -> None:
        """Keeps the first `size` rows."""
        for part in self._last:
            if part.start >= size:
                self._add(part, -1)
        self._last = [part for part in self._last if part.start < size]
        for strip in self.rows.values():
            strip.cut(size)
        self.size = min(self.size, size)

    def reorder(self, parents: Sequence[int]) -> None:
        """Puts batch entry parents[b] in the place of b."""
        order = list(parents)
        for strip in self.rows.values():
            strip.reorder(order)
        for name in ("_received", "_seen", "_by_distance", "_text"):
            held = getattr(self, name)
            if held is not None and held.shape[0] > 1:
                setattr(self, name, held[order])
        self._last = []

    def drop(self) -> None:
        """Lets the rows go."""
        for strip in self.rows.values():
            strip.drop()

    def summary(self, visible: Visible, dtype: torch.dtype, certificate: Certificate | None) -> Summary:
        """The summary of all rows over the keys of `visible`."""
        if self._received is None or self._seen is None or self._by_distance is None:
            raise ValueError("no summary came")
        spare = (0, visible.tk - self._received.shape[-1])
        received, seen = pad(self._received, spare), pad(self._seen, spare)
        rows = {name: strip.whole() for name, strip in self.rows.items()}
        empty = (visible.count() == 0).expand(visible.b, visible.h, -1)
        return Summary(
            **rows,  # type: ignore[arg-type]
            received=received.to(dtype), received_mean=(received / seen).to(dtype), seen=seen,
            empty_rows=empty.sum(dim=-1), mass_by_distance=self._by_distance.to(dtype),
            certificate=certificate,
        )  # fmt: skip

    def _add(self, part: _Part, sign: int) -> None:
        self._received = _added(self._received, part.received * sign, part.first)
        self._seen = _added(self._seen, part.seen * sign, part.first)
        self._by_distance = _added(self._by_distance, part.by_distance * sign, 0)


def _by_distance(summary: Summary) -> Tensor:
    """The mass by distance of a summary that was just made, (b h bins) float64."""
    if summary.mass_by_distance is None:
        raise ValueError("a summary without mass_by_distance came")
    return summary.mass_by_distance.double()


def _added(held: Tensor | None, more: Tensor, first: int) -> Tensor:
    """held (.. n) plus `more` from place `first` on, longer where needed; leading axes broadcast."""
    more = pad(more, (first, 0))
    if held is None:
        return more
    size = max(held.shape[-1], more.shape[-1])
    return pad(held, (0, size - held.shape[-1])) + pad(more, (0, size - more.shape[-1]))
