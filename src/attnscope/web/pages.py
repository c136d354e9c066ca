"""The pages and their files: from the package, with stated types, and asked for again at each visit."""

from __future__ import annotations

import os
import re
from html import escape
from pathlib import Path

from starlette.responses import RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from attnscope.lesson import SECTIONS

STATIC = Path(__file__).parent / "static"

PAGES = {"walk": "Walk", "explore": "Explore", "map": "Map", "compare": "Compare"}
"""The pages with their names, in the order in which the bar lists them."""

OF_RUNS = ("explore", "map")
"""The pages that look at a run: the model, the head and the cell go with one from one to another."""

_BAR = re.compile(r"<!-- bar: (.*?) -->", re.DOTALL)

# Stated here, since what the system says of .js differs from machine to machine, and nosniff makes a page
# of it fail.
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}
# The browser keeps a file and asks whether it is still the same: a new version is never mixed with an old
# one.
_REVALIDATED = {"Cache-Control": "no-cache"}


class Files(StaticFiles):
    """The files under /static."""

    def file_response(
        self,
        full_path: str | os.PathLike[str],
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        """Return a file with its type, or 304 where the browser has it."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers.update(_REVALIDATED)
        kind = _TYPES.get(Path(full_path).suffix.lower())
        if kind is not None and "content-type" in response.headers:
            response.headers["content-type"] = kind
        return response


def page(name: str) -> Response:
    """Return one page of the app."""
    text = walk_page() if name == "walk" else _with_bar(name, _read(f"{name}.html"))
    return Response(text, media_type=_TYPES[".html"], headers=_REVALIDATED)


def _read(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


def _with_bar(name: str, text: str) -> str:
    """Put in the top bar, which a page tells what it has of its own in it: `<!-- bar: OWN -->`."""

    def bar(own: re.Match[str]) -> str:
        parts = {"home": name if name == "walk" else "explore", "own": own[1], "pages": _links(name)}
        made = _read("bar.html").strip()
        for place, words in parts.items():
            made = made.replace(f"<!-- {place} -->", words)
        return made

    return _BAR.sub(bar, text)


def _links(here: str) -> str:
    """The links to all pages; those from run to run take along what the address says of it."""
    links = []
    for name, title in PAGES.items():
        goes_along = here in OF_RUNS and name in OF_RUNS
        more = ' aria-current="page"' if name == here else f' data-carry="{name}"' if goes_along else ""
        links.append(f'<a href="{name}"{more}>{title}</a>')
    return "".join(links)


def walk_page() -> str:
    """Return the page Walk as HTML: its frame with every chapter that has a text put in, hidden, and the list
    of them at the side.
    """
    texts = {one.number: STATIC / "chapters" / f"{one.number:02d}.html" for one in SECTIONS}
    here = [one for one in SECTIONS if texts[one.number].is_file()]
    rail = [
        f'<li value="{one.number}"><a href="?chapter={one.number}" data-chapter="{one.number}">'
        f"{escape(one.title)}</a></li>"
        for one in here
    ]
    picker = [f'<option value="{one.number}">{one.number} · {escape(one.title)}</option>' for one in here]
    chapters = [_chapter(one.number, texts[one.number].read_text(encoding="utf-8")) for one in here]
    text = _read("walk.html")
    for place, lines in (("rail", rail), ("picker", picker), ("chapters", chapters)):
        text = text.replace(f"<!-- {place} -->", "\n".join(lines))
    return _with_bar("walk", text)


def _chapter(number: int, text: str) -> str:
    head = f'<section class="chapter" data-chapter="{number}" aria-labelledby="title-{number}" hidden>'
    return f"{head}\n{text.strip()}\n</section>"


def to_page(base_path: str, name: str) -> Response:
    """Return the redirect to a page; relative where no base path is stated, since a proxy may have taken one
    off.
    """
    return RedirectResponse(
        f"{base_path}/{name}" if base_path else name, status_code=307, headers=_REVALIDATED
    )
