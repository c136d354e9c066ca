"""The lesson's routes: what the chapters of the page Walk draw, made once and kept."""

from __future__ import annotations

import threading
from typing import Any

from fastapi import APIRouter

from attnscope.lesson import SECTIONS, section
from attnscope.web.refusals import Json, Refusal
from attnscope.web.statics import REVALIDATED


def lesson_routes() -> APIRouter:
    """Return the routes under /api/lesson."""
    api = APIRouter(prefix="/api/lesson")
    kept = Kept()

    @api.get("")
    def contents() -> Json:
        """The chapters: number, title, what each shows."""
        listed = [{"number": one.number, "title": one.title, "says": one.says} for one in SECTIONS]
        return Json({"chapters": listed}, headers=REVALIDATED)

    @api.get("/{chapter}")
    def chapter(chapter: str) -> Json:
        """The experiments of one chapter."""
        if not (
            chapter.isascii()
            and chapter.isdigit()
            and len(chapter) < 4
            and 1 <= int(chapter) <= len(SECTIONS)
        ):
            raise Refusal(
                404,
                f"There is no chapter {chapter[:20]!r}",
                wanted=f"A chapter from 1 to {len(SECTIONS)} is wanted",
            )
        return Json(kept.chapter(int(chapter)), headers=REVALIDATED)

    return api


class Kept:
    """Runs each chapter once, however many ask for it at the same time."""

    def __init__(self) -> None:
        self._made: dict[int, dict[str, Any]] = {}
        self._locks = {one.number: threading.Lock() for one in SECTIONS}

    def chapter(self, number: int) -> dict[str, Any]:
        """Return a chapter as JSON values."""
        with self._locks[number]:
            if number not in self._made:
                self._made[number] = section(number).to_dict()
            return self._made[number]
