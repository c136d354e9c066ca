"""Filling a template: the words and numbers of a sheet, in pieces that know which number they write."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from attnscope.lesson.walk.facts import fact, holds
from attnscope.lesson.walk.rules import HIDDEN, Env, Ref, place
from attnscope.lesson.walk.sentences import FORM, Case
from attnscope.lesson.walk.templates import Template
from attnscope.lesson.walk.values import Values
from attnscope.lesson.walk.writing import FORMS


@dataclass(frozen=True)
class Piece:
    """A piece of a sentence: `ref` is the number that it writes, `word` the position of the word it names."""

    text: str
    strong: bool = False
    ref: Ref | None = None
    word: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the piece as the page has it, without what it lacks."""
        made: dict[str, Any] = {"text": self.text}
        if self.strong:
            made["strong"] = True
        if self.ref:
            made["ref"] = {"grid": self.ref[0], "at": list(self.ref[1])}
        return made | ({} if self.word is None else {"word": self.word})


def choose(values: Values, env: Env, cases: Iterable[Case]) -> Template:
    """Return the first template whose condition holds, or an empty one."""
    return next((case.say for case in cases if holds(values, case.when, env)), [])


def fill(values: Values, env: Env, template: Template) -> list[Piece]:
    """Return a template's pieces, neighbours of one kind joined."""
    pieces: list[Piece] = []
    for piece in _pieces(values, env, template):
        last = pieces[-1] if pieces else None
        plain = piece.ref is None and piece.word is None
        if last and plain and last.ref is None and last.word is None and last.strong == piece.strong:
            pieces[-1] = replace(last, text=last.text + piece.text)
        else:
            pieces.append(piece)
    return pieces


def text(pieces: Iterable[Piece]) -> str:
    """Return pieces as one text."""
    return "".join(piece.text for piece in pieces)


def _pieces(values: Values, env: Env, template: Template) -> list[Piece]:
    made: list[Piece] = []
    for element in template:
        if isinstance(element, str):
            made.append(Piece(element))
        elif "strong" in element:
            made += [replace(piece, strong=True) for piece in _pieces(values, env, element["strong"])]
        elif "number" in element:
            made.append(_number(values, env, element))
        elif "each" in element:
            made += _each(values, env, element)
        elif "fact" in element:
            made.append(Piece(fact(values, element["fact"], env)))
        else:
            i = env[element["word"]]
            made.append(Piece(values.labels[i], word=i))
    return made


def _number(values: Values, env: Env, element: dict[str, Any]) -> Piece:
    grid = element["number"]
    at = tuple(place(values, index, env) for index in element["at"])
    write: Callable[[float], str] = FORMS[element.get("as", FORM[grid])]
    return Piece(write(values.at(grid, *at)), ref=None if grid in HIDDEN else (grid, at))


def _each(values: Values, env: Env, element: dict[str, Any]) -> list[Piece]:
    index, where = element["each"], element.get("where", "")
    envs = [env | {index: at} for at in range(values.sizes[index])]
    envs = [one for one in envs if holds(values, where, one)]
    made: list[Piece] = []
    for count, one in enumerate(envs):
        made += [Piece(joint(element["join"], count, len(envs)))] if count else []
        made += _pieces(values, one, element["of"])
    return made


def joint(join: str, count: int, of: int) -> str:
    """Return what stands before item `count` of `of`: "and" before the last of a list, commas before."""
    if join != "and":
        return join
    return " and " if count == of - 1 else ", "
