"""The numbers of a head as text inside a file: float32 in base64, little-endian, as the page reads them.

Weights are those that the recording shows, row after row, cells that no query sees left out. Which cells
those are is told by runs, once for all heads that see alike.
"""

from __future__ import annotations

import base64
from typing import Any

import torch
from torch import Tensor

from attnscope.models.reading import HIDDEN, weights_of
from attnscope.recording import Site
from attnscope.web.values import LENGTH
from attnscope.web.views import Views

COST = 16 / 3
"""Bytes of one float32 in base64."""

_CELLS = 2**22  # weights computed together


def cells_of(site: Site, batch: int, rows: slice) -> Tensor:
    """Return how many keys each of these rows sees at most, of any head (r)."""
    seen = site.seen
    found = (seen.hi - seen.lo).clamp(min=0).sum(-1)  # (b|1 h|1 tq)
    return found[min(batch, found.shape[0] - 1)].amax(0)[rows]


def head_of(views: Views, place: int, head: int, rows: slice) -> tuple[dict[str, Any], str]:
    """Return the numbers of a head by name, and the runs of columns that its rows see.

    Raises what weights() raises.
    """
    site = views.sites[place]
    values, runs = _visible(site, head, rows, views.look.batch)
    sides = views.sides(place, head)
    names = ["entropy", "largest", *(["sink"] if site.scoring.sinks is not None else [])]
    told = {name: encoded(sides[name][rows]) for name in names}
    if LENGTH in sides:
        told[LENGTH] = encoded(sides[LENGTH])
    numbers = {"values": encoded(values), **told, "received": encoded(sides["received"])}
    return {"site": place, "head": head, **numbers}, runs


def encoded(values: Tensor, dtype: str = "<f4") -> str:
    """Return numbers as base64."""
    raw = values.detach().cpu().contiguous().numpy().astype(dtype, copy=False).tobytes()
    return base64.b64encode(raw).decode()


def short(token: dict[str, Any]) -> dict[str, Any]:
    """Return a token without what the page can tell from the rest of it."""
    usual = {"id": -1, "kind": "text", "bytes": None, "continues": False, "spoken": token["text"]}
    more = {name: value for name, value in token.items() if name in usual and value != usual[name]}
    return {"text": token["text"], **more}


def _visible(site: Site, head: int, rows: slice, batch: int) -> tuple[Tensor, str]:
    """Return the weights that are seen, and the runs: how many each row has, then where each begins and ends,
    int32.
    """
    values, numbers, edges = list[Tensor](), list[Tensor](), list[Tensor]()
    step = max(1, _CELLS // site.tk)
    for first in range(rows.start, rows.stop, step):
        band = slice(first, min(first + step, rows.stop))
        block = weights_of(site, head, band, slice(0, site.tk), batch=batch).cpu().float()
        seen = block != HIDDEN
        values.append(block[seen])
        walled = torch.nn.functional.pad(seen, (1, 1))
        turns = walled[:, 1:] != walled[:, :-1]  # (r tk+1)
        numbers.append(turns.sum(1) // 2)
        edges.append(turns.nonzero()[:, 1])
    return torch.cat(values), encoded(torch.cat([*numbers, *edges]), "<i4")
