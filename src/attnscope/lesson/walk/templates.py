"""Sentences as templates: written in Python once, sent to the page as data, filled by both.

{i}                      the word at index i
{weights[i,j]}           a number in its grid's own form; {scores[i,j]|two} in another
{+c: q[i,c] × k[j,c]}    for every c, joined by " + " ("," joins by ", ", "&" as a list with "and")
{+j|visible: ...}        for every j that the condition holds for
{:d}                     a fact, by its name
*...*                    what weighs most
"""

from __future__ import annotations

import re
from typing import Any

Template = list[Any]
"""Text, {"word": i}, {"number": grid, "at": [i, j]}, {"each": c, ...}, {"fact": d} and {"strong": [...]}."""

_JOINS = {"+": " + ", ",": ", ", "&": "and"}
_NUMBER = re.compile(r"(?P<grid>[a-z]+)\[(?P<at>[a-z0-9,]+)\](?:\|(?P<form>[a-z]+))?")
_EACH = re.compile(r"(?P<join>[+,&])(?P<index>[a-z])(?:\|(?P<where>[a-z ]+))?: (?P<of>.*)", re.DOTALL)


def parse(text: str) -> Template:
    """Return a template as data.

    >>> parse("How well? *{products[i,j]}*.")
    ['How well? ', {'strong': [{'number': 'products', 'at': ['i', 'j']}]}, '.']
    """
    made: Template = []
    at = 0
    while at < len(text):
        if text[at] == "{":
            end = _closing(text, at)
            made.append(_slot(text[at + 1 : end]))
        elif text[at] == "*":
            end = text.index("*", at + 1)
            made.append({"strong": parse(text[at + 1 : end])})
        else:
            end = min((text.find(mark, at) - 1 for mark in "{*" if mark in text[at:]), default=len(text) - 1)
            made.append(text[at : end + 1])
        at = end + 1
    return made


def _slot(text: str) -> dict[str, Any]:
    if text.startswith(":"):
        return {"fact": text[1:]}
    if number := _NUMBER.fullmatch(text):
        slot = {"number": number["grid"], "at": number["at"].split(",")}
        return slot | ({"as": number["form"]} if number["form"] else {})
    if each := _EACH.fullmatch(text):
        slot = {"each": each["index"], "join": _JOINS[each["join"]], "of": _inner(each["of"])}
        return slot | ({"where": each["where"]} if each["where"] else {})
    return {"word": text}


def _inner(text: str) -> Template:
    """What stands inside a loop: numbers need no braces of their own there."""
    return parse(text if "{" in text else _NUMBER.sub(lambda found: "{" + found.group() + "}", text))


def _closing(text: str, start: int) -> int:
    depth = 0
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if not depth:
            return at
    raise ValueError(f"No closing brace in {text!r}")
