"""Sites with random q and k under any mask, as a recording holds them."""

from __future__ import annotations

import torch

from attnscope.core.mask import Mask
from attnscope.core.scoring import Scoring
from attnscope.core.tile import Normaliser
from attnscope.core.walk import state_of_rows
from attnscope.recording import Site
from attnscope.recording.shelf import InMemory


def site_from(
    make: torch.Generator,
    mask: Mask,
    length: int,
    *,
    heads: tuple[int, int, int],
    sinks: bool = False,
    kind: str = "self",
    keep: str = "qk",
) -> Site:
    """heads: query heads, key heads, width."""
    h, hk, d = heads
    q = torch.randn(1, h, length, d, generator=make) * 2
    k = torch.randn(1, hk, length, d, generator=make)
    logits = torch.randn(h, generator=make) if sinks else None
    scoring = Scoring(mask, sinks=logits, offset=0 if kind == "self" else None)
    rows = state_of_rows(scoring.bind(q, k), slice(0, length)).normaliser()
    normaliser = Normaliser(rows.peak, rows.logsum)
    shelf = InMemory({"q": q, "k": k}, scoring, normaliser, None, None, None)
    return Site(
        index=0, name="attention", order=0, layer=0, kind=kind, stack="decoder", route="sdpa",
        dtype=torch.float32, batch=1, heads=h, key_heads=hk, tq=length, tk=length, d=d, dv=d,
        offset=0 if kind == "self" else None, kept=None, keep=keep, bit_exact=None, reach=None, shelf=shelf,
    )  # fmt: skip
