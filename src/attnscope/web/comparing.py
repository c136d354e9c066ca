"""The routes of the page Compare: two finished runs held against each other, head by head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from fastapi import APIRouter, Request
from starlette.responses import Response

from attnscope.comparison import Comparison
from attnscope.comparison.alignment import WAYS
from attnscope.comparison.compare import compared
from attnscope.comparison.contrast import Block, Contrast
from attnscope.comparison.pairing import Pair
from attnscope.comparison.side import Side
from attnscope.exports.compared import csv_list, json_list, picture
from attnscope.models import Look
from attnscope.models.groups import Groups
from attnscope.models.tokens import shown
from attnscope.models.turns import turns_of
from attnscope.recording import Site
from attnscope.web.answers import FIXED, POLLED, file, floats
from attnscope.web.catalogue import Catalogue
from attnscope.web.job import Job
from attnscope.web.jobs import Jobs
from attnscope.web.numbers import whole
from attnscope.web.polling import add_polling
from attnscope.web.refusals import Json, Refusal
from attnscope.web.wishes import wish
from attnscope.web.worker import Worker

MOST_CELLS = 2**32
"""Cells of all heads of one side that a request compares: past this it takes minutes."""

MOST_PIXELS = 384
"""Pixels along a side of a picture."""

REMEMBERED = 8
"""Comparisons that are kept; each holds its two recordings."""

_FILES = ("csv", "json", "png", "svg")
_WANTED = (
    'A JSON object {"a": RUN, "b": RUN, "align": "auto"} is wanted, with runs as POST /api/runs gives them'
)


@dataclass(eq=False)
class Comparing:
    """The comparisons of finished runs, one under way at a time."""

    worker: Worker
    catalogue: Catalogue
    jobs: Jobs[Job[Comparison]] = field(
        default_factory=lambda: Jobs("comparison", Job[Comparison], remembered=REMEMBERED), init=False
    )

    def submit(self, a: str, b: str, how: str) -> Job[Comparison]:
        """The job of a comparison; Refusal where a run is not there, or holds too many cells."""
        sides = [self._side(run) for run in (a, b)]

        def work(job: Job[Comparison]) -> Comparison:
            return compared(sides[0], sides[1], how, progress=job.advance)

        return self.jobs.submit((a, b, how), work)

    def sizes(self) -> dict[str, int]:
        """How many cells the recordings on offer hold, by their ids."""
        found = {}
        for name, entry in self.catalogue.entries.items():
            opened = self.catalogue.open(name) if entry.recorded else None
            if isinstance(opened, Look):
                found[name] = _count(opened.sites)
        return found

    def _side(self, run: str) -> Side:
        look = self.worker.views(run).look
        if not look.sites:
            raise Refusal(409, "This run holds no call of attention")
        cells = _count(look.sites)
        if cells > MOST_CELLS:
            raise Refusal(
                409,
                f"{cells:,} cells are more than the page compares",
                wanted=f"At most {MOST_CELLS:,}",
                hint="In a terminal: attnscope compare A B",
            )
        return Side(look.recording, look.recording.runs[look.run], look.batch)


def _count(sites: Sequence[Site]) -> int:
    """Return the cells of all heads of one text."""
    return sum(site.heads * site.tq * site.tk for site in sites)


def compare_routes(comparing: Comparing) -> APIRouter:
    """Return the routes of comparisons, under /api."""
    api = APIRouter(prefix="/api/comparisons")

    @api.get("")
    def sizes() -> Json:
        """How many cells a side may have, and how many the recordings have."""
        return Json({"most": MOST_CELLS, "cells": comparing.sizes()}, headers=POLLED)

    @api.post("")
    async def start(request: Request) -> Json:
        """Start one of {"a", "b", "align"}, two finished runs."""
        a, b, how = _asked(await request.body())
        return Json({"id": comparing.submit(a, b, how).id}, status_code=202, headers=POLLED)

    add_polling(api, "/{comparison}", lambda comparison: comparing.jobs.get(comparison))

    @api.get("/{comparison}/heads")
    def ranked(comparison: str) -> Json:
        """The heads of both runs by how much they differ."""
        return Json(comparing.jobs.get(comparison).outcome().to_dict(), headers=FIXED)

    _add_heads(api, comparing)
    return api


def _add_heads(api: APIRouter, comparing: Comparing) -> None:
    """Add what is told of one head, by its place in the list, and the files."""

    @api.get("/{comparison}/heads/{head}/slots")
    def slots(comparison: str, head: str) -> Json:
        """What stands along the rows and columns of a head's picture: tokens of a, of b, or of both."""
        found = comparing.jobs.get(comparison).outcome()
        contrast, pair = _contrast(found, head)
        told = {}
        for name, aligned in (("rows", contrast.rows), ("columns", contrast.cols)):
            tokens = [side.tokens(site, name) for side, (site, _) in zip(found.sides, pair.both, strict=True)]
            told[name] = _slots(tokens, (aligned.a, aligned.b))
        return Json({"cells": _cells(contrast), "align": contrast.rows.how, **told}, headers=FIXED)

    @api.get("/{comparison}/heads/{head}/picture")
    def picture_of(comparison: str, head: str) -> Response:
        """Three planes over the slots of a head: a, b, and b - a."""
        contrast, _ = _contrast(comparing.jobs.get(comparison).outcome(), head)
        cells = _cells(contrast)
        return _planes(contrast.block() if cells == 1 else contrast.reduced(cells))

    @api.get("/{comparison}/heads/{head}/export/{form}")
    def export(comparison: str, head: str, form: str, request: Request) -> Response:
        """The list as CSV or JSON, or this head with its fellow and the difference as PNG or SVG."""
        found = comparing.jobs.get(comparison).outcome()
        given = request.query_params
        by, scale = given.get("by", "mean"), given.get("scale", "log")
        if form not in _FILES or by not in ("mean", "largest") or scale not in ("log", "linear"):
            raise Refusal(
                404, f"There is no export {form[:20]!r} by {by[:20]!r} in the scale {scale[:20]!r}",
                wanted=f"One of {', '.join(_FILES)}, by mean or largest, log or linear",
            )  # fmt: skip
        contrast, pair = _contrast(found, head)
        if form in ("csv", "json"):
            name = f"heads-that-differ.{form}"
            content = (csv_list(found, by) if form == "csv" else json_list(found, by)).encode()
        else:
            name = f"layer-{pair.site_a.layer}-head-{pair.head_a}-difference.{form}"
            content = picture(found.sides, pair, contrast, form, scale)  # type: ignore[arg-type]
        return file(content, name, FIXED)


def _asked(body: bytes) -> tuple[str, str, str]:
    found = wish(body, _WANTED)
    a, b, how = found.get("a"), found.get("b"), found.get("align", "auto")
    if not isinstance(a, str) or not isinstance(b, str):
        raise Refusal(400, "Two runs are wanted", wanted=_WANTED)
    if how not in WAYS:
        raise Refusal(400, f"There is no alignment {how!r:.40}", wanted=f"One of {', '.join(WAYS)}")
    return a, b, how


def _contrast(found: Comparison, head: str) -> tuple[Contrast, Pair]:
    if not found.heads:
        raise Refusal(409, "No head could be compared")
    one = found.heads[whole(head, "head", 0, len(found.heads))]
    return found.contrast_of(one), found.pair_of(one)


def _cells(contrast: Contrast) -> int:
    return max(1, -(-max(contrast.rows.count, contrast.cols.count) // MOST_PIXELS))


def _slots(tokens: list[Any], groups: tuple[Groups, Groups]) -> list[dict[str, Any]]:
    """Return each slot with its first position, its text and who speaks there on both sides, None where one
    has none.
    """
    sides = []
    for of, own in zip(tokens, groups, strict=True):
        roles: list[str | None] = [None] * len(of)
        for turn in turns_of(of):
            roles[turn.first : turn.end] = [turn.role] * (turn.end - turn.first)
        sides.append(
            [
                {"at": places[0], "text": "".join(shown(of[at]) for at in places), "role": roles[places[0]]}
                if places
                else None
                for places in own.places()
            ]
        )
    return [{"a": a, "b": b} for a, b in zip(*sides, strict=True)]


def _planes(block: Block) -> Response:
    return floats(torch.stack([block.a, block.b, block.difference]))
