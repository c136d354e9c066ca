"""Which head is held against which: the same layer and head of two models of one shape, or pairs by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from attnscope.comparison.side import Key, Side
from attnscope.errors import RecordingError
from attnscope.recording import Site

Head = tuple[int, int]
"""A layer and a head, both counted from 0."""

_SAME = ("class", "type", "parameters", "label")


@dataclass(frozen=True, eq=False)
class Pair:
    """A head of `a` and a head of `b`."""

    site_a: Site
    head_a: int
    site_b: Site
    head_b: int

    def __str__(self) -> str:
        one, other = (f"{site.name}, head {head}" for site, head in self.both)
        return one if one == other else f"{one} and {other}"

    @property
    def both(self) -> tuple[tuple[Site, int], tuple[Site, int]]:
        """The two, `a` first."""
        return (self.site_a, self.head_a), (self.site_b, self.head_b)


def pairs_of(a: Side, b: Side, named: Sequence[tuple[Head, Head]] | None) -> tuple[list[Pair], list[str]]:
    """Return the pairs, and what has no fellow. Raises RecordingError, which says what can be compared."""
    if named is not None:
        return [_named(a, b, pair) for pair in named], []
    ours, theirs = a.sites, b.sites
    common = [key for key in ours if key in theirs]
    alone = [key for key in (*ours, *theirs) if key not in common]
    if not common or (alone and not _one_model(a, b)):
        raise _shapes(a, b)
    if any(ours[key].heads != theirs[key].heads for key in common):
        raise _shapes(a, b)
    pairs = [
        Pair(ours[key], head, theirs[key], head)
        for key in common
        for head in _kept(ours[key])
        if head in set(_kept(theirs[key]))
    ]
    if not pairs:
        raise RecordingError("No head was kept in both recordings", wanted="One head or more in common")
    left = [f"{_words(key)}: recorded in {'one' if key in ours else 'the other'} alone" for key in alone]
    return pairs, left


def _named(a: Side, b: Side, pair: tuple[Head, Head]) -> Pair:
    places: list[tuple[Site, int]] = []
    for side, head in zip((a, b), pair, strict=True):
        layer, number = head
        site = side.run.site(layer)
        site.head_at(number)
        places.append((site, number))
    return Pair(*places[0], *places[1])


def _kept(site: Site) -> Iterator[int]:
    return iter(range(site.heads) if site.kept is None else site.kept)


def _one_model(a: Side, b: Side) -> bool:
    """Whether both say that they are of the same model, so that a layer left out is no other shape."""
    return all(a.recording.model.get(name) == b.recording.model.get(name) for name in _SAME)


def _words(key: Key) -> str:
    stack, kind, layer, order, segment = key
    more = f", call {order}" if order else ""
    return f"{stack} {kind} attention of layer {layer}{more}" + (f", segment {segment}" if segment else "")


def _shapes(a: Side, b: Side) -> RecordingError:
    return RecordingError(
        f"The first has {a.shape()}, the second {b.shape()}: no head of one is a head of the other",
        wanted="Two recordings with the same layers and heads, or pairs of heads by name",
        hint="Name pairs of (layer, head): pairs=[((3, 5), (2, 1))] or --pair 3.5=2.1",
    )
