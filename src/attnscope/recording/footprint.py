"""How many bytes a site takes on disk, from its sizes alone."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import torch

from attnscope.core.distance import bin_of
from attnscope.recording.overview import block_of

TOP = 8
"""The weights of a row that a summary keeps, with their keys."""

KEY, COUNT = 8, 8
"""Bytes of the number of a key, and of a count."""

EDGES = 2 * 4
"""Bytes of the ends of what a row sees, the same for all heads."""

VERDICT = 9 * 8
"""Bytes of a head in a certificate."""

NAMED, SAID, HEAD = 185, 1500, 30
"""Bytes beside the tensors, most of them in the manifest: of each tensor its name, place and checksum; of a
site what it says of itself; of each head its verdict.
"""

PLACE = 140
"""Bytes of a token in the manifest, with what a codec says of it."""


class Extent(NamedTuple):
    """The sizes of a site. heads, key_heads: those that are kept.   item: bytes of a number in its dtype."""

    batch: int
    heads: int
    key_heads: int
    tq: int
    tk: int
    d: int
    dv: int
    item: int


def bytes_of_site(extent: Extent, kept: Collection[str]) -> int:
    """About how many bytes a site of one span a row takes, of which these of q, k, v and out are kept; where
    none is, its summary is.
    """
    b, h, hk, tq, tk, d, dv, item = extent
    each = {"q": h * tq * d, "k": hk * tk * d, "v": hk * tk * dv, "out": h * tq * dv}
    tensors = b * item * sum(each[name] for name in kept)
    rows = b * h * (2 * tq + tk) * _wide(item) + tq * EDGES + b * h * VERDICT  # normaliser, lengths of values
    told = SAID + b * h * HEAD + (len(kept) + 14) * NAMED
    return tensors + rows + told + _summary(extent, kept)


def _summary(extent: Extent, kept: Collection[str]) -> int:
    if not kept:
        return bytes_of_summary(extent, None)
    block = block_of(extent.tq, extent.tk) if {"q", "k"} <= set(kept) else None
    return 0 if block is None else bytes_of_summary(extent, block)


def bytes_of_summary(extent: Extent, block: int | None) -> int:
    """About how many bytes the sums of a site take, with those of blocks x block cells where told."""
    b, h, wide = extent.batch, extent.heads, _wide(extent.item)
    row = 6 * wide + KEY + TOP * (wide + KEY)
    bins = int(bin_of(torch.tensor(max(extent.tq, extent.tk, 1) - 1))) + 1
    own = extent.tq * row + extent.tk * 2 * wide + COUNT + bins * 4
    blocks = 0 if block is None else -(-extent.tq // block) * -(-extent.tk // block)
    seen = COUNT * (extent.tk + blocks)
    return b * h * (own + blocks * 2 * wide) + seen + (15 + 3 * bool(blocks)) * NAMED


def _wide(item: int) -> int:
    """Bytes of a number that is computed from the model's."""
    return max(item, 4)
