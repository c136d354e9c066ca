"""The numbers of a URL, read as whole numbers in a stated range or refused with what is wanted."""

from __future__ import annotations

from fastapi import Request

from attnscope.web.refusals import Refusal
from attnscope.web.views import Views
from attnscope.web.worker import Worker


def place(worker: Worker, run: str, site: str, head: str) -> tuple[Views, int, int]:
    """The views of a run, with the numbers of a site and of a head in it; Refusal where there is none."""
    views = worker.views(run)
    s = whole(site, "site", 0, len(views.sites))
    return views, s, whole(head, "head", 0, views.sites[s].heads)


def number(request: Request, name: str, low: int, high: int, *, default: int | None = None) -> int:
    """A number of the query, low <= n < high; Refusal 400."""
    given = request.query_params.get(name)
    if given is None:
        if default is not None:
            return default
        raise Refusal(400, f"{name} is missing", wanted=f"{name}={low} to {name}={high - 1} is wanted")
    return whole(given, name, low, high)


def values_asked(request: Request) -> bool:
    """Whether weight times value is asked for: values=1 of the query; Refusal 400."""
    return bool(number(request, "values", 0, 2, default=0))


def whole(given: str, name: str, low: int, high: int) -> int:
    """A number of the path, low <= n < high; Refusal 400."""
    if not _is_whole(given) or not low <= int(given) < high:
        raise Refusal(
            400,
            f"There is no {name} {given[:20]!r} here",
            wanted=f"A whole number from {low} to {high - 1} is wanted",
        )
    return int(given)


def span(request: Request, name: str, size: int) -> slice:
    """FIRST:END of the query, of so many places; all of them where it is not there; Refusal 400."""
    given = request.query_params.get(name, f"0:{size}")
    first, _, last = given.partition(":")
    if not (_is_whole(first) and _is_whole(last) and 0 <= int(first) < int(last) <= size):
        raise Refusal(
            400,
            f"There are no {name} {given[:40]!r} here",
            wanted=f"{name}=FIRST:END with 0 ≤ FIRST < END ≤ {size}, END itself left out, is wanted",
        )
    return slice(int(first), int(last))


def _is_whole(given: str) -> bool:
    return given.isascii() and given.isdigit() and len(given) < 10
