"""Where a call's keys stand among those that a site already holds: by equality of their bits, through
fingerprints.

Each decode step hands over the whole key cache again. A fingerprint of 64 bits for each key of each batch
entry tells in one comparison whether they are the same keys; two keys that differ in any bit share one with
a chance of about 2^-64. No key need be held in memory to be compared.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import torch
from jaxtyping import Int64
from torch import Tensor

MATCHES = 64
"""Places that are tried where keys stand neither at the end nor at the beginning."""


@dataclass(frozen=True)
class Place:
    """first: the column of the site at which the call's column 0 stands.   parents: for each batch entry, the
    one whose history it goes on with; None where each goes on with its own.   same: (b b), where parents are
    given, which others would do as well.
    """

    first: int
    parents: tuple[int, ...] | None = None
    same: Tensor | None = field(default=None, repr=False, compare=False)


def fingerprints(k: Tensor | None, v: Tensor) -> Int64[Tensor, "b tk"]:
    """One number for each key (b hk tk d) and its value (b hk tk dv), from all of their bits; from those of
    the value alone where the key is not known.
    """
    return _prints(v, 2) if k is None else _prints(k, 1) * 3 + _prints(v, 2)


def place(
    held: Int64[Tensor, "b n"], came: Int64[Tensor, "b p"], allowed: Tensor | None = None
) -> Place | None:
    """Where the past keys of a call stand among the held ones; None where they are not there.

    Keys that go on where the held ones end come first (a cache, whole or cut from the left), then those that
    begin where the held ones begin (some are visited again). Entries of a batch may have changed places, as
    beams do; `allowed` (b b) are the parents that other layers leave open.
    """
    size, past = held.shape[1], came.shape[1]
    if held.shape[0] != came.shape[0] or past > size:
        return None
    if allowed is None:
        for first in _candidates(held, came):
            if torch.equal(held[:, first : first + past], came):
                return Place(first)
    for first in dict.fromkeys((size - past, 0)):
        found = reordered(held[:, first : first + past], came, first, allowed)
        if found is not None:
            return found
    return None


def reordered(
    held: Int64[Tensor, "b n"], came: Int64[Tensor, "b n"], first: int, allowed: Tensor | None = None
) -> Place | None:
    """The place where each entry of `came` equals some entry of `held`, its own where that is one; None where
    some equals none.
    """
    same = (came[:, None] == held[None]).all(dim=-1)  # (b b)
    same = same if allowed is None else same & allowed
    if not bool(same.any(dim=1).all()):
        return None
    own, nearest = same.diagonal(), same.to(torch.uint8).argmax(dim=1)
    parents = torch.where(own, torch.arange(len(own), device=own.device), nearest)
    return Place(first, tuple(parents.tolist()), same)


def _candidates(held: Tensor, came: Tensor) -> list[int]:
    size, past = held.shape[1], came.shape[1]
    likely = [size - past, 0]
    if past:
        ends = held[0, : size - past + 1] == came[0, 0]
        likely += ends.nonzero()[:MATCHES, 0].tolist()
    return list(dict.fromkeys(likely))


def _prints(x: Tensor, seed: int) -> Tensor:
    """(b hk t d) -> (b t): a sum over heads and places of words that were mixed place by place."""
    words = _words(x.detach())
    first, second = (factor.to(x.device) for factor in _factors(words.shape[1], words.shape[3], seed))
    mixed = words * first  # int64 wraps around
    mixed ^= mixed >> 31
    mixed *= second
    mixed ^= mixed >> 29
    total: Tensor = mixed.sum(dim=(1, 3))
    return total


def _words(x: Tensor) -> Tensor:
    """The bits of x as int64 words, (b hk t n)."""
    x = x if x.shape[-1] <= 1 or x.stride(-1) == 1 else x.contiguous()
    width, size = x.shape[-1] * x.element_size(), x.element_size()
    for dtype in (torch.int64, torch.int32, torch.int16):
        step = dtype.itemsize
        starts = [stride * size for stride in x.stride()[:-1]] + [x.storage_offset() * size, width]
        if step >= size and all(start % step == 0 for start in starts):
            return x.view(dtype).to(torch.int64)
    return x.contiguous().view(torch.int16).to(torch.int64)


@lru_cache(maxsize=64)
def _factors(heads: int, words: int, seed: int) -> tuple[Tensor, Tensor]:
    """Two odd numbers for each place of a key, so that a change of one word is always seen."""
    own = torch.Generator().manual_seed(20_261_130 + seed)
    drawn = torch.randint(-(2**62), 2**62, (2, 1, heads, 1, words), generator=own)
    first, second = drawn * 2 + 1
    return first, second
