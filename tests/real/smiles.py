"""Reactions written as SMILES: their tokens, and the atom numbers that a mapped reaction carries."""

from __future__ import annotations

import re

# Two-letter symbols before one-letter ones; an atom in brackets is one token, and so is ">>".
_TOKEN = re.compile(r"\[[^\]]+\]|Br|Cl|>>|%\d\d|[A-Za-z0-9.=#+\-()\\/:~@?>*$]")
_MAPPED = re.compile(r"\[([A-Z][a-z]?|[a-z])H?\d*:(\d+)\]")
_ATOM = re.compile(r"\[(?!CLS\]|SEP\]|PAD\])|[A-Za-z]")


def reaction_tokens(reaction: str) -> list[str]:
    """The tokens of a reaction between [CLS] and [SEP]. ValueError where a character has no token."""
    tokens = _TOKEN.findall(reaction)
    if "".join(tokens) != reaction:
        raise ValueError(f"not a SMILES reaction: {reaction!r}")
    return ["[CLS]", *tokens, "[SEP]"]


def without_numbers(mapped: str) -> str:
    """The reaction as the model reads it: [CH3:1] becomes C, [K+] stays."""
    return _MAPPED.sub(r"\1", mapped)


def atom_numbers(mapped: str) -> dict[int, int]:
    """From the place of a token to its atom's number, for every numbered atom of a mapped reaction."""
    found = ((place, _MAPPED.fullmatch(token)) for place, token in enumerate(reaction_tokens(mapped)))
    return {place: int(match[2]) for place, match in found if match}


def atoms(tokens: list[str]) -> tuple[list[int], list[int]]:
    """The places of the atoms before ">>" and of those after it."""
    arrow = tokens.index(">>")
    places = [place for place, token in enumerate(tokens) if _ATOM.match(token)]
    return [p for p in places if p < arrow], [p for p in places if p > arrow]
