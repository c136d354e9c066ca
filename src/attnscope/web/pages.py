"""The pages: each asked for again at each visit, and naming its files by their version."""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape

from starlette.responses import RedirectResponse, Response

from attnscope.lesson import SECTIONS
from attnscope.web.modules import reached
from attnscope.web.statics import REVALIDATED, TYPES, read, there, version

PAGES = {"walk": "Walk", "explore": "Explore", "map": "Map", "heads": "Heads", "compare": "Compare"}
"""The pages with their names, in the order in which the bar lists them."""

OF_RUNS = ("explore", "map", "heads")
"""The pages over a model: it, the head and the cell go with one from one to another."""

_BAR = re.compile(r"<!-- bar: (.*?) -->", re.DOTALL)

_FILE = re.compile(r'((?:href|src)=")static/')
_MODULE = re.compile(r'<script type="module" src="static/([^"]+)"></script>')


def page(name: str) -> Response:
    """Return one page of the app."""
    return Response(_addressed(name, version()), media_type=TYPES[".html"], headers=REVALIDATED)


@lru_cache(maxsize=16)
def _addressed(name: str, files: str) -> str:
    """Return a page whose files stand under a version, its modules named at its head: a browser then asks for
    all of them at once, and not level by level.
    """

    def preloaded(script: re.Match[str]) -> str:
        links = [f'<link rel="modulepreload" href="static/{name}">' for name in reached(script[1])]
        return "\n".join([*links, script[0]])

    text = walk_page() if name == "walk" else _with_bar(name, read(f"{name}.html"))
    return _FILE.sub(rf"\1static/{files}/", _MODULE.sub(preloaded, text))


def _with_bar(name: str, text: str) -> str:
    """Put in the top bar, which a page tells what it has of its own in it: `<!-- bar: OWN -->`."""

    def bar(own: re.Match[str]) -> str:
        home = name if name == "walk" else "explore"
        buttons = read("buttons.html").strip()
        parts = {"home": home, "own": own[1], "pages": _links(name), "buttons": buttons}
        made = read("bar.html").strip()
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
    texts = {one.number: f"chapters/{one.number:02d}.html" for one in SECTIONS}
    here = [one for one in SECTIONS if there(texts[one.number])]
    rail = [
        f'<li value="{one.number}"><a href="?chapter={one.number}" data-chapter="{one.number}">'
        f"{escape(one.title)}</a></li>"
        for one in here
    ]
    picker = [f'<option value="{one.number}">{one.number} · {escape(one.title)}</option>' for one in here]
    chapters = [_chapter(one.number, read(texts[one.number])) for one in here]
    text = read("walk.html")
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
        f"{base_path}/{name}" if base_path else name, status_code=307, headers=REVALIDATED
    )
