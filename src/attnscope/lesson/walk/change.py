"""What an edit did, in words: what is new on the sheet, and what that does to the word that asks.

The templates travel in the recipe; the page fills them by the same rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from attnscope.lesson.walk.facts import COUNTS, top
from attnscope.lesson.walk.filling import choose, fill, text
from attnscope.lesson.walk.sentences import LOOK
from attnscope.lesson.walk.sheet import PROJECTED, Sheet
from attnscope.lesson.walk.values import ORDINALS, Values, evaluate
from attnscope.lesson.walk.writing import three, typed

CHANGE = {
    "q": "{word}’s query is now [{new}] (was [{old}]).",
    "k": "{word}’s key is now [{new}] (was [{old}]).",
    "v": "{word}’s value is now [{new}] (was [{old}]).",
    "x": "{word}’s row of X is now [{new}] (was [{old}]).",
    "w": "The {ordinal} row of {matrix} is now [{new}] (was [{old}]).",
    "detached": "What was typed in no longer follows X and {matrix}.",
    "attached": "It follows X and {matrix} again.",
    "several": "Several numbers changed.",
    "renamed": "The {ordinal} word is now {new} (was {old}).",
    "count": "There are now {new} words (there were {old}).",
    "words": "The words are now: {new}.",
    "depth": "d is now {new} (was {old}).",
    "causal": "The causal mask is on: no word sees a later one.",
    "open": "The mask is off: every word sees every word.",
    "scaled": "Scores are divided by √{d} again.",
    "unscaled": "The scale is off: scores are not divided by √{d}.",
    "nothing": "Nothing changed.",
    "same": "Nothing changes for {word}.",
    "output": "{word} looks as before; its output is now [{new}] (was [{old}]).",
}

GUESS = {
    "right": "Right, it is {value}.",
    "close low": "Close: it is {value}, so {guess} is {gap} too low.",
    "close high": "Close: it is {value}, so {guess} is {gap} too high.",
    "low": "It is {value}, so {guess} is {gap} too low.",
    "high": "It is {value}, so {guess} is {gap} too high.",
}
"""The answer to a reader's guess; the page alone asks for one. Close is within a twentieth of the number."""

_STILL, _NOW, _PLAIN = 2, 1, 0


def change(before: Sheet, after: Sheet, query: int) -> str:
    """Return in words what differs between two sheets, and what that does to the word at `query`.

    >>> from dataclasses import replace
    >>> from attnscope.lesson.walk.recipe import first_sheet
    >>> sheet = first_sheet()
    >>> change(sheet, replace(sheet, causal=True), 2)
    'The causal mask is on: no word sees a later one. sat still looks mostly at cat.'
    """
    old, new = evaluate(before), evaluate(after)
    said = [*_words(before, after), *_settings(before, after), *_numbers(old, new)]
    return " ".join([*said, _effect(old, new, query)]) if said else say("nothing")


def _words(before: Sheet, after: Sheet) -> list[str]:
    if before.words == after.words:
        return []
    if before.n != after.n:
        return [say("count", new=COUNTS[after.n], old=COUNTS[before.n])]
    other = [i for i in range(after.n) if before.words[i] != after.words[i]]
    if len(other) > 1:
        return [say("words", new=" ".join(after.words))]
    i = other[0]
    return [say("renamed", ordinal=ORDINALS[i + 1], new=after.words[i], old=before.words[i])]


def _settings(before: Sheet, after: Sheet) -> list[str]:
    said = []
    if before.d != after.d:
        said.append(say("depth", new=str(after.d), old=str(before.d)))
    if before.causal != after.causal:
        said.append(say("causal" if after.causal else "open"))
    if before.scale != after.scale:
        said.append(say("scaled" if after.scale else "unscaled", d=str(after.d)))
    return said


def _numbers(old: Values, new: Values) -> list[str]:
    before, after = old.sheet, new.sheet
    if (before.words, before.d) != (after.words, after.d):
        return []
    if before.width != after.width:
        return [say("several")]
    keys = before.detached.keys() | after.detached.keys()
    rows = {key[:2] for key in keys if before.detached.get(key) != after.detached.get(key)}
    for name in ("x", "wq", "wk", "wv"):
        pairs = zip(getattr(before, name), getattr(after, name), strict=True)
        rows |= {(name, r) for r, (one, other) in enumerate(pairs) if one != other}
    if len(rows) != 1:
        return [say("several")] if rows else []
    grid, row = rows.pop()
    return _row(old, new, grid, row)


def _row(old: Values, new: Values, grid: str, row: int) -> list[str]:
    """The row of one grid that changed, and whether it still follows its projection."""
    was, now = (_vector(values, grid, row, typed) for values in (old, new))
    matrix = "W" + grid[-1]
    word = new.labels[row] if grid in PROJECTED else new.sheet.distinct[row] if grid == "x" else ""
    kind = "w" if grid.startswith("w") else grid
    said = [say(kind, word=word, new=now, old=was, matrix=matrix, ordinal=ORDINALS[row + 1])]
    if grid in PROJECTED:
        loose = [any(key[:2] == (grid, row) for key in values.sheet.detached) for values in (old, new)]
        if loose[0] != loose[1]:
            said.append(say("detached" if loose[1] else "attached", matrix=matrix))
    return said


def _effect(old: Values, new: Values, query: int) -> str:
    """What the change does to the word that asks."""
    if old.sheet.n != new.sheet.n:
        return _look(new, query, _NOW)
    if _look(old, query, _PLAIN) != _look(new, query, _PLAIN):
        return _look(new, query, _NOW)
    if _vector(old, "weights", query, three) != _vector(new, "weights", query, three):
        return _look(new, query, _STILL)
    was, now = (_vector(values, "out", query, three) for values in (old, new))
    return say("same" if was == now else "output", word=new.labels[query], new=now, old=was)


def _look(values: Values, query: int, now: int) -> str:
    env = {"i": query, "t": top(values, query), "now": now}
    return text(fill(values, env, choose(values, env, LOOK))) + "."


def _vector(values: Values, grid: str, row: int, write: Callable[[float], str]) -> str:
    return ", ".join(write(x) for x in values.grids[grid][row].tolist())


def say(name: str, **slots: str) -> str:
    """Return a sentence of CHANGE with its slots filled, in one pass: a word may hold braces of its own."""
    return re.sub(r"\{(\w+)\}", lambda found: slots[found[1]], CHANGE[name])
