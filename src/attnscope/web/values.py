"""The second picture of a head as the page draws it: weight times the length of the key's value after W_O.

The page multiplies a block itself, from the weights and one number a key; small pictures are made here.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import max_pool2d

from attnscope.models.reading import HIDDEN
from attnscope.recording import Site
from attnscope.recording.overview import block_of
from attnscope.web.refusals import Refusal

LENGTH = "length"
"""The name under which lengths stand along the keys of a heatmap."""

TOKENS_ALONE = "a word's part is that of several tokens, each with a value of its own; show tokens"
"""Why there is no second picture from word to word."""

MOST_CELLS = 2**27
"""Cells of all heads together of which small pictures are made: a second or two."""


def check_cells(sites: list[Site]) -> None:
    """Refuse texts of which small pictures would take long."""
    cells = sum(site.tq * site.tk * site.heads for site in sites)
    if cells > MOST_CELLS:
        raise Refusal(
            413,
            f"The heads have {cells:,} cells",
            wanted=f"Small pictures of weight times value are made of {MOST_CELLS:,} at most",
        )


def value_pictures(site: Site, pictures: Tensor, heads: list[int], batch: int) -> Tensor:
    """Return the small pictures (heads rows cols) with some `heads` as weight times value, the largest of
    each block; all others are left as they are, and all where lengths are not known.
    """
    if site.lengths.values is None:
        return pictures
    step, found = block_of(site.tq, site.tk) or 1, pictures.clone()
    for head in heads:
        grid = site.mixes(head, batch=batch).values.float()
        blocks = max_pool2d(grid[None], step, ceil_mode=True)[0]
        found[head] = torch.where(found[head] == HIDDEN, HIDDEN, blocks)
    return found
