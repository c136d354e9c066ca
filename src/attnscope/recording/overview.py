"""What a recording on disk keeps of each head so that it opens at once: its sums, and a small picture of its
blocks.
"""

from __future__ import annotations

import math
from dataclasses import replace

from attnscope.core.fold import summarize
from attnscope.recording.shelf import InMemory
from attnscope.recording.site import SIDE, Site


def block_of(tq: int, tk: int) -> int | None:
    """Rows and columns of a block of the small picture; None where the picture is the grid itself."""
    step = math.ceil(max(tq, tk) / SIDE)
    return step if step > 1 else None


def lacking(site: Site) -> int | None:
    """The block of the summary that a site is yet to get when it is written. None where it has one, where its
    grid is small enough to be made at sight, and where q and k were not kept.
    """
    shelf = site.shelf
    known = shelf.summary is not None and shelf.summary.block_max is not None
    return block_of(site.tq, site.tk) if not known and {"q", "k"} <= shelf.names else None


def with_overview(site: Site) -> Site:
    """The site with its summary, blocks included; as it is where it lacks none."""
    shelf, block = site.shelf, lacking(site)
    if block is None:
        return site
    kept = {name: x for name in ("q", "k", "v", "out") if (x := shelf.tensor(name)) is not None}
    summary = summarize(site.q, site.k, site.scoring, normaliser=site.normaliser, block=block)
    own = InMemory(kept, site.scoring, site.normaliser, site.certificate, summary, site.calls, shelf.lengths)
    return replace(site, shelf=own)
