"""Two rows of places as one row of slots: a slot holds what is the same in both, or what one alone has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor

from attnscope.comparison.matching import common_blocks
from attnscope.comparison.spelling import same_text, text_units
from attnscope.errors import RecordingError
from attnscope.models.groups import Groups

Tokens = Sequence[Mapping[str, Any]]
Unit = tuple[range, range]
"""Places of the one and places of the other that stand for the same."""

WAYS = ("auto", "position", "token", "text")


@dataclass(frozen=True, eq=False)
class Alignment:
    """how: "position", "token" or "text".   a, b: the slot of each place, -1 for padding.

    Slots stand in the order of both: between two that are matched come those of `a` alone, then those of `b`.
    """

    how: str
    a: Groups = field(repr=False)
    b: Groups = field(repr=False)

    @property
    def count(self) -> int:
        """How many slots there are."""
        return self.a.count

    @property
    def matched(self) -> Bool[Tensor, " slots"]:
        """Which slots hold places of both."""
        return (self.a.sizes > 0) & (self.b.sizes > 0)

    @property
    def unmatched(self) -> tuple[int, int]:
        """How many places of each have no fellow in the other."""
        alone = (~self.matched).nonzero()[:, 0]
        return int(self.a.sizes[alone].sum()), int(self.b.sizes[alone].sum())


def align(a: Tokens, b: Tokens, how: str = "auto", *, real: tuple[Sequence[int], Sequence[int]]) -> Alignment:
    """Return the alignment of two rows of tokens; real: the places of each that are no padding.

    "position": the n-th place with the n-th.   "token": equal tokens, by their longest common stretches.
    "text": tokens of two tokenisers, put together until both end at the same letter.   "auto": by position
    where the tokens are the same, by text where they spell the same, else by token. Raises RecordingError for
    another word, TooLarge.
    """
    if how not in WAYS:
        raise RecordingError(f"align={how!r}", wanted=f"One of {', '.join(map(repr, WAYS))}")
    own = [[tokens[at] for at in places] for tokens, places in zip((a, b), real, strict=True)]
    keys = [[_key(token) for token in tokens] for tokens in own]
    if how == "auto":
        how = "position" if keys[0] == keys[1] else "text" if same_text(*own) else "token"
    if how == "position":
        units = [(range(at, at + 1), range(at, at + 1)) for at in range(min(map(len, own)))]
    elif how == "token":
        units = _tokens(keys[0], keys[1])
    else:
        units = _with_rest(text_units(*own), keys)
    return _slots(how, units, (len(a), len(b)), real)


def _key(token: Mapping[str, Any]) -> tuple[str, str, tuple[str, ...]]:
    """What makes two tokens equal: kind, text and bytes, whatever their numbers."""
    return str(token["kind"]), str(token["text"]), tuple(token["bytes"] or ())


def _tokens(one: Sequence[Any], other: Sequence[Any], first: tuple[int, int] = (0, 0)) -> list[Unit]:
    a, b = first
    return [
        (range(a + i + at, a + i + at + 1), range(b + j + at, b + j + at + 1))
        for i, j, size in common_blocks(one, other)
        for at in range(size)
    ]


def _with_rest(units: list[Unit], keys: list[list[Any]]) -> list[Unit]:
    """The units and, between them, tokens without a letter that are equal: line breaks, special tokens."""
    ends = (range(len(keys[0]), len(keys[0])), range(len(keys[1]), len(keys[1])))
    found, a, b = list[Unit](), 0, 0
    for unit in [*units, ends]:
        found += _tokens(keys[0][a : unit[0].start], keys[1][b : unit[1].start], (a, b))
        found += [unit] if unit is not ends else []
        a, b = unit[0].stop, unit[1].stop
    return found


def _slots(
    how: str, units: list[Unit], sizes: tuple[int, int], real: tuple[Sequence[int], Sequence[int]]
) -> Alignment:
    of = [torch.full((size,), -1, dtype=torch.int64) for size in sizes]
    at, done = 0, [0, 0]

    def alone(side: int, stop: int) -> None:
        nonlocal at
        for place in range(done[side], stop):
            of[side][real[side][place]] = at
            at += 1
        done[side] = max(done[side], stop)

    for unit in units:
        for side, places in enumerate(unit):
            alone(side, places.start)
        for side, places in enumerate(unit):
            for place in places:
                of[side][real[side][place]] = at
            done[side] = places.stop
        at += 1
    for side in (0, 1):
        alone(side, len(real[side]))
    return Alignment(how, Groups(of[0], at), Groups(of[1], at))
