"""One token as a reader meets it: its own text, its marks, and how it is spoken.

    kind      what it is                                     text      bytes
    text      letters, signs, or spaces together with them   its own   None
    space     spaces alone                                   its own   None
    newline   line breaks, perhaps with spaces round them    its own   None
    tab       tabs alone                                     its own   None
    byte      a piece of a character, or nothing visible     "" or own its UTF-8 bytes in hex
    special   a token that stands for no text                its name  None

Nothing is dropped: joined in order, `raw` of the tokens is the text wherever the tokeniser loses nothing.
"""

from __future__ import annotations

import builtins
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Literal

Kind = Literal["text", "space", "newline", "tab", "byte", "special"]

_NEWLINES = frozenset("\n\r\v\f\x85\u2028\u2029")
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_TEXTS = 2**14  # texts of tokens of which is remembered how they are spoken: a long text has few
_SPOKEN = {" ": "space", "\n": "newline", "\r": "carriage return", "\t": "tab", "\u00a0": "no-break space"}


@dataclass(frozen=True)
class Token:
    """A token of a text; `continues` says that it goes on inside the word of the token before."""

    id: int
    text: str
    kind: Kind
    bytes: list[str] | None
    continues: bool
    spoken: str

    @property
    def raw(self) -> builtins.bytes:
        """Return the UTF-8 bytes this token stands for; empty for a special token."""
        if self.kind == "special":
            return b""
        if self.bytes is not None:
            return bytes.fromhex("".join(self.bytes))
        return self.text.encode()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {name: getattr(self, name) for name in FIELDS}


FIELDS = frozenset(one.name for one in fields(Token))
"""What a token says of itself."""


def of_text(token_id: int, text: str, *, continues: bool = False) -> Token:
    """Return the token whose own text is `text`; invisible text becomes its bytes."""
    kind = _kind(text)
    if kind == "byte":
        return Token(token_id, text, kind, _hex(text.encode()), continues, speak(text))
    return Token(token_id, text, kind, None, continues, speak(text))


def of_bytes(token_id: int, raw: bytes, *, continues: bool = False) -> Token:
    """Return the token that stands for `raw`: text where that is UTF-8, a byte piece where it is not."""
    try:
        return of_text(token_id, raw.decode(), continues=continues)
    except UnicodeDecodeError:
        pieces = _hex(raw)
        word = "byte" if len(pieces) == 1 else "bytes"
        return Token(token_id, "", "byte", pieces, continues, f"{word} {' '.join(pieces)}")


def spelled(pieces: Iterable[bytes]) -> str:
    """Return the text that bytes of tokens make together; � stands for what makes no character.

    >>> spelled([b"caf", b"\\xc3", b"\\xa9"])
    'café'
    """
    return b"".join(pieces).decode("utf-8", "replace")


def raw_of(token: Mapping[str, Any]) -> bytes:
    """Return the bytes of a token as JSON values; none of a special one or a numbered place."""
    if token["kind"] in ("special", "place"):
        return b""
    return bytes.fromhex("".join(token["bytes"])) if token["bytes"] else str(token["text"]).encode()


def characters(data: bytes) -> Iterator[tuple[range, str | None]]:
    """Yield each UTF-8 character with the places of its bytes; None stands for a byte that is part of none.

    >>> list(characters("é🌲".encode() + b"\\xff"))
    [(range(0, 2), 'é'), (range(2, 6), '🌲'), (range(6, 7), None)]
    """
    at = 0
    while at < len(data):
        lead = data[at]
        size = 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
        try:
            letter: str | None = data[at : at + size].decode()
        except UnicodeDecodeError:
            letter, size = None, 1
        yield range(at, at + size), letter
        at += size


def shown(token: Mapping[str, Any]) -> str:
    """Return a token with marks for what is invisible: ␣ space, ↵ newline, ⇥ tab, [E2] a byte."""
    if token["kind"] == "byte":
        return f"[{' '.join(token['bytes'])}]"
    marked = str(token["text"]).replace("\r\n", "↵").replace("\n", "↵").replace("\t", "⇥").replace(" ", "␣")
    return "".join(c if c.isprintable() else f"[U+{ord(c):04X}]" for c in marked)


def special(token_id: int, name: str) -> Token:
    """Return the token of that name, which stands for no text."""
    return Token(token_id, name, "special", None, False, f"special token {name.strip('<>[]|')}")


@lru_cache(maxsize=_TEXTS)
def speak(text: str) -> str:
    """Return `text` as words for a screen reader: runs of white space and invisible characters by name."""
    words: list[str] = []
    start = 0
    while start < len(text):
        end = start + 1
        while end < len(text) and text[end] == text[start] and _is_named(text[start]):
            end += 1
        if _is_named(text[start]):
            words.append(_counted(_name(text[start]), end - start))
        else:
            while end < len(text) and not _is_named(text[end]):
                end += 1
            words.append(text[start:end])
        start = end
    return " ".join(words)


@lru_cache(maxsize=_TEXTS)
def _kind(text: str) -> Kind:
    characters = set(text)
    if not characters:
        return "text"
    if characters <= {" "}:
        return "space"
    if characters <= {"\t"}:
        return "tab"
    if characters <= _NEWLINES | {" ", "\t"} and characters & _NEWLINES:
        return "newline"
    if all(unicodedata.category(c) in _INVISIBLE or (c.isspace() and c not in " \t") for c in text):
        return "byte"
    return "text"


def _is_named(character: str) -> bool:
    return character.isspace() or unicodedata.category(character) in _INVISIBLE


def _name(character: str) -> str:
    if character in _SPOKEN:
        return _SPOKEN[character]
    return unicodedata.name(character, f"control character {ord(character):02X}").lower()


def _counted(name: str, count: int) -> str:
    return name if count == 1 else f"{count} {name}s"


def _hex(raw: bytes) -> list[str]:
    return [f"{byte:02X}" for byte in raw]
