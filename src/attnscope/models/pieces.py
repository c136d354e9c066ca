"""From a Hugging Face tokeniser's answer to tokens that join to the text again."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from attnscope.models import tokens as marks
from attnscope.models.spelling import ByteAlphabet, Marked, Plain, Spelling, WordPiece
from attnscope.models.tokens import Token

Span = tuple[int, int]


def read_tokens(
    tokenizer: Any, spelling: Spelling, text: str, ids: Sequence[int], offsets: Sequence[Span] | None
) -> list[Token]:
    """Return one Token for each of `ids`, which `tokenizer` made of `text`.

    `offsets` are the spans of characters that a fast tokeniser names; where they tile the text, a token's
    text is its own slice of it, so that a vocabulary that adds a space or folds a letter shows what was
    typed.
    """
    pieces = tokenizer.convert_ids_to_tokens(list(ids))
    added = tokenizer.added_tokens_decoder
    specials = set(tokenizer.all_special_ids)
    found = [
        _read(spelling, added, specials, token_id, "" if piece is None else piece)
        for token_id, piece in zip(ids, pieces, strict=True)
    ]
    if isinstance(spelling, Marked | Plain) and offsets is not None:
        sliced = _slices(text, found, offsets)
        found = found if sliced is None else sliced
    if isinstance(spelling, Marked | ByteAlphabet):
        found = _without_added_space(text, found)
    return found if isinstance(spelling, WordPiece) else continued(found)


def read_piece(tokenizer: Any, spelling: Spelling, token_id: int) -> Token:
    """Return the token of one id alone, as in a list of predictions."""
    piece = tokenizer.convert_ids_to_tokens([token_id])[0]
    added, specials = tokenizer.added_tokens_decoder, set(tokenizer.all_special_ids)
    return _read(spelling, added, specials, token_id, "" if piece is None else piece)


def read_row(
    tokenizer: Any, spelling: Spelling, ids: Sequence[int], after: Token | None = None
) -> list[Token]:
    """Return the tokens of ids that follow one another, and `after`, as a model writes them."""
    found = [read_piece(tokenizer, spelling, token_id) for token_id in ids]
    if isinstance(spelling, WordPiece):
        return found
    return continued(found) if after is None else continued([after, *found])[1:]


def _read(spelling: Spelling, added: dict[int, Any], specials: set[int], token_id: int, piece: str) -> Token:
    if token_id in specials or (token_id in added and added[token_id].special):
        return marks.special(token_id, piece)
    if token_id in added:
        return marks.of_text(token_id, str(added[token_id].content))
    raw, continues = spelling.read(piece)
    return marks.of_bytes(token_id, raw, continues=continues)


def _slices(text: str, found: list[Token], offsets: Sequence[Span]) -> list[Token] | None:
    """Return the tokens with their slices of the text for text; None unless the slices tile it."""
    shown = [span for token, span in zip(found, offsets, strict=True) if token.kind != "special"]
    end = 0
    for place, span in enumerate(shown):
        if span[0] != end and not (place and span == shown[place - 1]):
            return None
        end = span[1]
    if end != len(text):
        return None
    shared = Counter(shown)
    return [
        token
        if token.kind == "special" or shared[span] > 1
        else marks.of_text(token.id, text[span[0] : span[1]], continues=token.continues)
        for token, span in zip(found, offsets, strict=True)
    ]


def _without_added_space(text: str, found: list[Token]) -> list[Token]:
    """Take away the space that some tokenisers put before a text that has none."""
    first = next((place for place, token in enumerate(found) if token.kind != "special"), None)
    if first is None or text.startswith(" ") or not found[first].text.startswith(" "):
        return found
    token = found[first]
    if token.text == " ":
        plain = Token(token.id, "▁", "special", None, False, "space added before the text")
    else:
        plain = marks.of_text(token.id, token.text[1:], continues=token.continues)
    return [*found[:first], plain, *found[first + 1 :]]


def continued(found: list[Token]) -> list[Token]:
    """Return tokens that spell a text without a gap, marked where they go on in the word before."""
    result = found[:1]
    for before, token in pairwise(found):
        joined = _ends_in_word(before) and _starts_in_word(token)
        result.append(replace(token, continues=joined) if joined != token.continues else token)
    return result


def _ends_in_word(token: Token) -> bool:
    return (token.kind == "byte" and not token.text) or (token.kind == "text" and _in_word(token.text[-1:]))


def _starts_in_word(token: Token) -> bool:
    if token.kind == "byte" and not token.text:
        return not (token.bytes or [""])[0].startswith("20")
    return token.kind == "text" and _in_word(token.text[:1])


def _in_word(character: str) -> bool:
    return character.isalnum() or (character != "" and unicodedata.category(character).startswith("M"))
