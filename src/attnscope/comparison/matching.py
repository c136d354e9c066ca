"""What two lists have in common, in order: Python's difflib, with the equal ends taken off first.

The longest stretch that both lists hold is matched, then the same is done before it and after it
(Ratcliff and Obershelp 1988, as difflib has it, without its list of junk).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from difflib import SequenceMatcher

from attnscope.errors import TooLarge

LARGEST = 20_000_000
"""Pairs of equal items that are looked at: some twenty seconds."""

Block = tuple[int, int, int]
"""Where a common stretch begins in one list and in the other, and how long it is."""


def common_blocks(one: Sequence[Hashable], other: Sequence[Hashable]) -> list[Block]:
    """Return the common stretches, in order in both lists. Raises TooLarge.

    >>> common_blocks("a b c d".split(), "a x c d".split())
    [(0, 0, 1), (2, 2, 2)]
    """
    ahead = _common_start(one, other)
    room = min(len(one), len(other)) - ahead
    behind = min(_common_start(one[::-1], other[::-1]), room)
    middle = one[ahead : len(one) - behind], other[ahead : len(other) - behind]
    blocks = [(0, 0, ahead)]
    if all(middle):
        _check(*middle)
        found = SequenceMatcher(None, *middle, autojunk=False).get_matching_blocks()
        blocks += [(a + ahead, b + ahead, size) for a, b, size in found]
    blocks.append((len(one) - behind, len(other) - behind, behind))
    return _joined([block for block in blocks if block[2]])


def _common_start(one: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _joined(blocks: list[Block]) -> list[Block]:
    """Blocks of which one goes on where another ends, as one."""
    found: list[Block] = []
    for a, b, size in blocks:
        if found and (found[-1][0] + found[-1][2], found[-1][1] + found[-1][2]) == (a, b):
            found[-1] = (*found[-1][:2], found[-1][2] + size)
        else:
            found.append((a, b, size))
    return found


def _check(one: Sequence[Hashable], other: Sequence[Hashable]) -> None:
    counts = Counter(other)
    pairs = sum(counts[item] for item in one)
    if pairs > LARGEST:
        raise TooLarge(
            f"{len(one):,} and {len(other):,} tokens that differ hold {pairs:,} pairs of equal ones",
            wanted=f"At most {LARGEST:,} to align them by",
            hint='Align by position: align="position", or --align position',
        )
