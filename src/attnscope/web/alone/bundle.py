"""Modules of the page put together into one plain script, for places that let a page load nothing.

A notebook's frame may run what stands in it and no more: no address, no data: URL. So each module becomes a
function that returns what it exports, and an import becomes the names of what was returned. Modules stand in
the order in which they need each other; their lines stay as they are.
"""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache

from attnscope.errors import AttnscopeError
from attnscope.web.statics import read

# The forms that our modules keep to; what else begins a line with these words is refused.
_IMPORT = re.compile(r"^import (\{[^}]*\}|\* as \w+) from '(\.[^'\n]+)'$", re.MULTILINE)
_EXPORT = re.compile(
    r"^export (?=(?:async )?(?:function|class|const) (?:(\w+)|\{([^{}]*)\} =))", re.MULTILINE
)
_NOTHING = re.compile(r"^export \{\}$", re.MULTILINE)
_LEFT = re.compile(r"^(?:import|export)\b[^\n]*", re.MULTILINE)
_RENAMED = re.compile(r"(\w+) as (\w+)")


@lru_cache(maxsize=8)
def bundled(entry: str) -> str:
    """Return the module `entry`, a path below static/, with all that it imports, as one plain script.

    Raises AttnscopeError for a module in another form, and for modules that need each other.

    >>> bundled("js/pure/triangle.js").startswith("(() => {")
    True
    """
    order: list[str] = []
    _gather(entry, order, ())
    parts = [_as_function(name) for name in order]
    script = "(() => {\n'use strict'\n" + "\n".join(parts) + "\n})()\n"
    for ending in ("</script", "<!--"):
        if ending in script.lower():
            raise AttnscopeError(f"A module that {entry} needs holds {ending!r}, which ends a script")
    return script


def styles(*names: str) -> str:
    """Return style sheets, paths below static/, one after the other."""
    return "\n".join(read(name) for name in names)


def _gather(name: str, order: list[str], above: tuple[str, ...]) -> None:
    """Put what `name` imports before it, each module once."""
    if name in above:
        raise AttnscopeError(f"Modules need each other: {' → '.join([*above[above.index(name) :], name])}")
    if name in order:
        return
    for found in _IMPORT.finditer(read(name)):
        _gather(_meant(found[2], name), order, (*above, name))
    order.append(name)


def _as_function(name: str) -> str:
    text = read(name)
    exports = [name for found in _EXPORT.finditer(text) for name in _names(found)]

    def named(found: re.Match[str]) -> str:
        given, source = found[1], _variable(_meant(found[2], name))
        if given.startswith("*"):
            return f"const {given.removeprefix('* as ')} = {source}"
        names = _RENAMED.sub(r"\1: \2", given)
        return f"const {names} = {source}"

    text = _NOTHING.sub("", _EXPORT.sub("", _IMPORT.sub(named, text)))
    left = _LEFT.search(text)
    if left is not None:
        raise AttnscopeError(
            f"{name}: {left[0]!r} cannot be bundled",
            wanted="import { … } from './x.js', import * as x from './x.js', export function, class or const",
        )
    return f"const {_variable(name)} = (() => {{\n{text}\nreturn {{ {', '.join(exports)} }}\n}})()"


def _names(found: re.Match[str]) -> list[str]:
    """Return what an export gives: one name, or those that an object is taken apart into."""
    if found[1]:
        return [found[1]]
    return [part.split(":")[-1].strip() for part in found[2].split(",")]


def _variable(name: str) -> str:
    return "$" + re.sub(r"\W", "_", name.removeprefix("js/").removesuffix(".js"))


def _meant(given: str, name: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), given))
