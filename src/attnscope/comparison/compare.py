"""compare(a, b): every head of one recording against its fellow in another, ranked by how far apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch

from attnscope.comparison.alignment import Alignment, align
from attnscope.comparison.contrast import Contrast
from attnscope.comparison.pairing import Head, Pair, pairs_of
from attnscope.comparison.side import Side, side_of
from attnscope.errors import NotKept, RecordingError, Uncertified
from attnscope.maps.head import of_site
from attnscope.recording import Recording, Site

Both = int | None | tuple[int | None, int | None]
"""One number for both sides, or one for each."""


@dataclass(frozen=True)
class HeadDifference:
    """How far a head of `a` is from a head of `b`.

    name, layer, head: of `a`, with their fellows in `b`.   mean, largest: of the total variation of a row,
    0 to 1.   row_a, row_b: the row of the largest (its first query on each side).   rows: how many were
    compared; rows_a, rows_b: how many have no fellow.   lost_a, lost_b: the mean weight of a compared row on
    keys that have no fellow. Means are NaN where no row could be compared.
    """

    name: str
    layer: int
    head: int
    name_b: str
    layer_b: int
    head_b: int
    mean: float
    largest: float
    row_a: int | None
    row_b: int | None
    rows: int
    rows_a: int
    rows_b: int
    lost_a: float
    lost_b: float


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two texts, models, or states of one model, head against head.

    how: how the queries were aligned.   heads: those that differ most first.   left_out: what could not be
    compared, with its reason.   label_a, label_b: what the models are called.
    """

    label_a: str
    label_b: str
    how: str
    heads: tuple[HeadDifference, ...]
    left_out: tuple[str, ...]
    _pairs: dict[HeadDifference, Pair] = field(repr=False)
    _aligned: Aligned = field(repr=False)

    def contrast(self, layer: int, head: int) -> Contrast:
        """The two heads of which `layer` and `head` name that of `a`: every row and every cell of both.

        Raises RecordingError for a head that was not compared.
        """
        for one, pair in self._pairs.items():
            if (one.layer, one.head) == (layer, head):
                return self.contrast_of(one, pair)
        raise RecordingError(
            f"Layer {layer}, head {head} was not compared", wanted="A head of the list", hint="See .left_out"
        )

    def contrast_of(self, one: HeadDifference, pair: Pair | None = None) -> Contrast:
        """The two heads of an entry of the list."""
        return self._aligned.contrast(self._pairs[one] if pair is None else pair)

    def pair_of(self, one: HeadDifference) -> Pair:
        """The sites and heads of an entry of the list."""
        return self._pairs[one]

    @property
    def sides(self) -> tuple[Side, Side]:
        """The two that were compared."""
        return self._aligned.a, self._aligned.b

    def ordered(self, by: str = "mean") -> list[HeadDifference]:
        """The heads by their "mean" or "largest" row, those that differ most first."""
        return ranked(self.heads, by)

    def to_dict(self) -> dict[str, Any]:
        """The list as JSON values; NaN is None."""
        heads = [
            {name: None if value != value else value for name, value in asdict(one).items()}
            for one in self.heads
        ]
        return {
            "a": self.label_a, "b": self.label_b, "align": self.how, "heads": heads,
            "left_out": list(self.left_out),
        }  # fmt: skip


def compare(
    a: Recording | str | Path,
    b: Recording | str | Path,
    align: str = "auto",
    *,
    pairs: Sequence[tuple[Head, Head]] | None = None,
    run: Both = None,
    batch: Both = 0,
    progress: Callable[[str, int, int], object] | None = None,
) -> Comparison:
    """Every head of `a` against its fellow in `b`, ranked by how much their rows differ.

    a, b: recordings or their folders.   align: "position", "token", "text" (tokens of two tokenisers put
    together until both end at the same letter), or "auto", which takes the first of position, text and token
    that loses nothing.   pairs: ((layer, head) of a, (layer, head) of b), for models of two shapes.   run,
    batch: which run and which text; a pair is one for each side.   progress: called before each
    block of rows with the head, how many heads are done, and of how many; what it raises ends the comparison.

    The difference of two rows is their total variation, half the sum of |a - b|: 0 for equal rows, 1 for
    rows that share nothing. Weight on a key without a fellow counts as difference, and so does what goes to a
    learned sink or, in a row that sees nothing, nowhere. Weights are those that the recordings show; nothing
    is renormalised. Memory grows with the length, never with its square.

    Raises RecordingError where no heads can be matched, BrokenRecording, NotKept, Uncertified, TooLarge.
    """
    runs, batches = _both(run, "run"), _both(batch, "batch")
    sides = [side_of(given, runs[at], batches[at] or 0) for at, given in enumerate((a, b))]
    return compared(sides[0], sides[1], align, pairs=pairs, progress=progress)


def compared(
    a: Side,
    b: Side,
    how: str = "auto",
    *,
    pairs: Sequence[tuple[Head, Head]] | None = None,
    progress: Callable[[str, int, int], object] | None = None,
) -> Comparison:
    """Two sides that are at hand compared; see compare()."""
    listed, left_out = pairs_of(a, b, pairs)
    aligned = Aligned(a, b, how)
    found: dict[HeadDifference, Pair] = {}
    fault: NotKept | Uncertified | None = None
    for done, pair in enumerate(listed):
        told = None if progress is None else partial(progress, str(pair), done, len(listed))
        try:
            found[_difference(pair, aligned.contrast(pair), told)] = pair
        except (NotKept, Uncertified) as error:
            fault = fault or error
            left_out.append(f"{pair}: {error.what}")
    if progress is not None:
        progress("", len(listed), len(listed))
    if fault is not None and not found:
        raise fault
    words = next(iter(aligned.known.values())).how
    heads = tuple(ranked(tuple(found), "mean"))
    return Comparison(a.label, b.label, words, heads, tuple(left_out), found, aligned)


def ranked(heads: Sequence[HeadDifference], by: str) -> list[HeadDifference]:
    """Heads by their mean or largest row, largest first; those without a row last."""
    if by not in ("mean", "largest"):
        raise RecordingError(f"Heads by {by!r}", wanted="'mean' or 'largest'")

    def place(one: HeadDifference) -> tuple[float, int, int]:
        value = getattr(one, by)
        return (1.0 if value != value else -value), one.layer, one.head

    return sorted(heads, key=place)


@dataclass(eq=False)
class Aligned:
    """The alignments of two sides, each made once: sites of one stack and size have the same."""

    a: Side
    b: Side
    how: str
    known: dict[tuple[Any, ...], Alignment] = field(default_factory=dict)

    def contrast(self, pair: Pair) -> Contrast:
        """Two heads under their alignments. Raises NotKept, Uncertified, TooLarge."""
        heads = [
            of_site(site, head, batch=side.batch)
            for side, (site, head) in zip((self.a, self.b), pair.both, strict=True)
        ]
        rows, cols = (self._of(pair.site_a, pair.site_b, side) for side in ("rows", "columns"))
        return Contrast(heads[0], heads[1], rows, cols)

    def _of(self, one: Site, other: Site, side: str) -> Alignment:
        key = (side, *(_place(site) for site in (one, other)))
        if key not in self.known:
            tokens = [of.tokens(site, side) for of, site in ((self.a, one), (self.b, other))]
            real = (self.a.real(one, side), self.b.real(other, side))
            self.known[key] = align(tokens[0], tokens[1], self.how, real=real)
        return self.known[key]


def _place(site: Site) -> tuple[Any, ...]:
    """What decides the tokens and the padding of a site's sides."""
    return site.stack, site.kind, site.tq, site.tk, site.offset, site.segment


def _difference(pair: Pair, contrast: Contrast, told: Callable[[], object] | None) -> HeadDifference:
    rows = contrast.distances(told)
    known = ~rows.distance.isnan()
    distance, lost = rows.distance[known], rows.lost[:, known].mean(dim=1)
    slot = int(rows.slots[known][distance.argmax()]) if len(distance) else None
    first = [
        None if slot is None else int((groups.of == slot).nonzero()[0])
        for groups in (contrast.rows.a, contrast.rows.b)
    ]
    (site_a, head_a), (site_b, head_b) = pair.both
    alone = contrast.rows.unmatched
    return HeadDifference(
        site_a.name, site_a.layer, head_a, site_b.name, site_b.layer, head_b,
        mean=float(distance.mean()) if len(distance) else torch.nan,
        largest=float(distance.max()) if len(distance) else torch.nan,
        row_a=first[0], row_b=first[1], rows=len(distance), rows_a=alone[0], rows_b=alone[1],
        lost_a=float(lost[0]), lost_b=float(lost[1]),
    )  # fmt: skip


def _both(given: Both, what: str) -> tuple[int | None, int | None]:
    if not isinstance(given, tuple):
        return given, given
    if len(given) != 2:
        raise RecordingError(f"{what}={given!r}", wanted="One number, or one for each of the two")
    return given
