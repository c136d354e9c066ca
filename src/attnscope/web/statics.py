"""The files of the pages: from the package, with stated types, under addresses that hold what they are.

A page asks for static/VERSION/js/api.js, where VERSION tells all files as they are now. Such an address never
means anything else, so a browser keeps what it got; when any file changes, a page names another version, and
no new file is ever mixed with an old one. Without a version a file is asked for again at each visit.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import stat
from functools import lru_cache
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

STATIC = Path(__file__).parent / "static"

# Stated here, since what the system says of .js differs from machine to machine, and nosniff makes a page
# of it fail.
TYPES = {
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
REVALIDATED = {"Cache-Control": "no-cache"}
KEPT = {"Cache-Control": "private, max-age=31536000, immutable"}
_VERSIONED = re.compile(r"~[0-9a-f]{16}[/\\]([\w./\\-]+)", re.ASCII)


def read(name: str) -> str:
    """Return a file of the pages, a path below static/."""
    return (STATIC / name).read_text(encoding="utf-8")


def there(name: str) -> bool:
    """Return whether there is such a file."""
    return (STATIC / name).is_file()


def version() -> str:
    """Return the name of all files as they are now: of their sizes and the times of their last change."""
    told = hashlib.sha256()
    for folder, inner, files in os.walk(STATIC):
        inner.sort()
        for name in sorted(files):
            found = Path(folder, name).stat()
            told.update(f"{folder}/{name} {found.st_size} {found.st_mtime_ns}\n".encode())
    return f"~{told.hexdigest()[:16]}"


class Files(StaticFiles):
    """The files under /static."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file; one that is asked for with its version may be kept, and is kept here too."""
        named = _VERSIONED.fullmatch(path)
        if named is None or scope["method"] != "GET":
            return await super().get_response(path, scope)
        full, found = self.lookup_path(named[1])
        if found is None or not stat.S_ISREG(found.st_mode):
            return await super().get_response(path, scope)
        plain, packed = _content(full, found.st_size, found.st_mtime_ns)
        response = Response(plain, media_type=TYPES.get(Path(full).suffix.lower()), headers=KEPT)
        response.headers["Vary"] = "Accept-Encoding"
        if len(packed) < len(plain) and "gzip" in Headers(scope=scope).get("accept-encoding", ""):
            response.body = packed
            response.headers.update({"Content-Encoding": "gzip", "Content-Length": str(len(packed))})
        return response

    def file_response(
        self,
        full_path: str | os.PathLike[str],
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        """Return a file with its type, or 304 where the browser has it."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers.update(REVALIDATED)
        kind = TYPES.get(Path(full_path).suffix.lower())
        if kind is not None and "content-type" in response.headers:
            response.headers["content-type"] = kind
        return response


@lru_cache(maxsize=512)
def _content(path: str, _size: int, _changed: int) -> tuple[bytes, bytes]:
    """Return a file as it is and packed by gzip; read again where its size or time of change is another."""
    plain = Path(path).read_bytes()
    return plain, gzip.compress(plain, mtime=0)
