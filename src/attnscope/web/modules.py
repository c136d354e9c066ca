"""Which modules of the page need which: read from their imports, as a browser does."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from attnscope.errors import LessonError
from attnscope.web.statics import read

# import … from "x", export … from "x", import "x", import("x")
_SPECIFIER = re.compile(
    r"""((?:^|[;\n])\s*(?:import|export)\b[^;'"`()]*?\bfrom\s*|(?:^|[;\n])\s*import\s*|\bimport\(\s*)(['"])([^'"\n]+)\2""",
    re.MULTILINE,
)
_COMMENT = re.compile(r"/\*.*?\*/|(?:^|(?<=\s))//[^\n]*", re.DOTALL | re.MULTILINE)


def reached(entry: str) -> dict[str, str]:
    """Return the text of every module that `entry` reaches, itself included, by its path below static/.

    >>> sorted(reached("js/pure/number.js"))
    ['js/pure/number.js']
    """
    found: dict[str, str] = {}
    waiting = [entry]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = read(name)
            waiting += [target for _, target in imports(found[name], name)]
    return dict(sorted(found.items()))


def imports(text: str, name: str) -> Iterator[tuple[tuple[int, int], str]]:
    """Yield where each specifier stands in a module, and what it means as a path below static/.

    Raises LessonError for one that is no relative path.
    """
    # A comment keeps its length, so that places in the text stay what they are.
    code = _COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    for found in _SPECIFIER.finditer(code):
        given = found[3]
        if not given.startswith(("./", "../")):
            raise LessonError(f"{name} imports {given!r}", wanted="A relative path is wanted there")
        yield found.span(3), posixpath.normpath(posixpath.join(posixpath.dirname(name), given))
