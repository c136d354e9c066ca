"""The routes of the page Compare: two finished runs held against each other, head by head."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

import torch
from fastapi import APIRouter, Request
from starlette.responses import Response
from torch import Tensor

from attnscope.comparison import Comparison
from attnscope.comparison.compare import compared
from attnscope.comparison.contrast import Block, Contrast
from attnscope.comparison.side import Side
from attnscope.models.groups import Groups
from attnscope.web.numbers import FIXED, number
from attnscope.web.refusals import Json, Refusal
from attnscope.web.worker import Worker

MOST_CELLS = 2**32
"""Cells of all heads of one side that a request compares: past this it takes minutes."""

MOST_PIXELS = 384
"""Pixels along a side of a picture."""

_REMEMBERED = 8

WAYS = ("auto", "position", "token", "text")


@dataclass(eq=False)
class Comparing:
    """The comparisons that were asked for last, each made once."""

    worker: Worker
    _known: OrderedDict[tuple[str, str, str], Comparison] = field(default_factory=OrderedDict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def of(self, a: str, b: str, how: str) -> Comparison:
        """Return the comparison of two runs; Refusal where a run is not there, or takes too long."""
        sides = [self._side(run) for run in (a, b)]
        key = (a, b, how)
        with self._lock:
            if key not in self._known:
                self._known[key] = compared(sides[0], sides[1], how)
                while len(self._known) > _REMEMBERED:
                    self._known.popitem(last=False)
            self._known.move_to_end(key)
            return self._known[key]

    def side(self, run: str) -> Side:
        """Return a finished run as one of two sides."""
        return self._side(run)

    def _side(self, run: str) -> Side:
        look = self.worker.views(run).look
        if not look.sites:
            raise Refusal(409, "This run holds no call of attention")
        cells = sum(site.heads * site.tq * site.tk for site in look.sites)
        if cells > MOST_CELLS:
            raise Refusal(
                409,
                f"{cells:,} cells are more than the page compares",
                wanted=f"At most {MOST_CELLS:,}",
                hint="In a terminal: attnscope compare A B",
            )
        return Side(look.recording, look.recording.runs[look.run], look.batch)


def compare_routes(comparing: Comparing) -> APIRouter:
    """Return the routes of comparisons, under /api."""
    api = APIRouter(prefix="/api")

    @api.get("/compare")
    def ranked(request: Request) -> Json:
        """The heads of runs a and b by how much they differ."""
        a, b, how = _asked(request)
        found = comparing.of(a, b, how)
        return Json(found.to_dict(), headers=FIXED)

    @api.get("/compare/slots")
    def slots(request: Request) -> Json:
        """What stands along the rows and columns of a head's picture: tokens of a, of b, or of both."""
        a, b, how = _asked(request)
        contrast, pair = _contrast(comparing, request, a, b, how)
        sides = (comparing.side(a), comparing.side(b))
        told = {}
        for name, aligned in (("rows", contrast.rows), ("columns", contrast.cols)):
            tokens = [side.tokens(site, name) for side, (site, _) in zip(sides, pair.both, strict=True)]
            told[name] = _slots(tokens, (aligned.a, aligned.b))
        cells = _cells(contrast)
        return Json({"cells": cells, "align": contrast.rows.how, **told}, headers=FIXED)

    @api.get("/compare/picture")
    def picture(request: Request) -> Response:
        """Three planes over the slots of a head: a, b, and b - a."""
        a, b, how = _asked(request)
        contrast, _ = _contrast(comparing, request, a, b, how)
        cells = _cells(contrast)
        return _planes(contrast.block() if cells == 1 else contrast.reduced(cells))

    return api


def _asked(request: Request) -> tuple[str, str, str]:
    given = request.query_params
    if "a" not in given or "b" not in given:
        raise Refusal(400, "Two runs are wanted", wanted="a=RUN&b=RUN, as POST /api/runs gives them")
    how = given.get("align", "auto")
    if how not in WAYS:
        raise Refusal(400, f"There is no alignment {how[:40]!r}", wanted=f"One of {', '.join(WAYS)}")
    return given["a"], given["b"], how


def _contrast(comparing: Comparing, request: Request, a: str, b: str, how: str) -> tuple[Contrast, Any]:
    found = comparing.of(a, b, how)
    if not found.heads:
        raise Refusal(409, "No head could be compared")
    one = found.heads[number(request, "head", 0, len(found.heads), default=0)]
    return found.contrast_of(one), found.pair_of(one)


def _cells(contrast: Contrast) -> int:
    return max(1, -(-max(contrast.rows.count, contrast.cols.count) // MOST_PIXELS))


def _slots(tokens: list[Any], groups: tuple[Groups, Groups]) -> list[dict[str, Any]]:
    """Return each slot with its first position and its text on both sides, None where one has none."""
    sides = []
    for of, own in zip(tokens, groups, strict=True):
        sides.append(
            [
                {"at": places[0], "text": "".join(str(of[at]["text"]) for at in places)} if places else None
                for places in own.places()
            ]
        )
    return [{"a": a, "b": b} for a, b in zip(*sides, strict=True)]


def _planes(block: Block) -> Response:
    values: Tensor = torch.stack([block.a, block.b, block.difference]).float()
    raw = values.contiguous().numpy().astype("<f4", copy=False).tobytes()
    shape = ",".join(map(str, values.shape))
    return Response(raw, media_type="application/octet-stream", headers={"X-Shape": shape, **FIXED})
