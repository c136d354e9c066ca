"""How a vocabulary spells: from the piece it holds to the bytes that the piece stands for.

ByteAlphabet   GPT-2, Llama 3, SmolLM2   one printable character a byte: "Ġlight" is " light"
Marked         SentencePiece             "▁" is a space, "<0xE2>" is a byte
WordPiece      BERT                      "##s" goes on with the word before it
EndOfWord      CLIP, the first GPT       "light</w>" ends a word
Plain          characters, whole words   the piece is the text
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>\Z")


class Spelling(Protocol):
    """Reads one piece of a vocabulary."""

    def read(self, piece: str) -> tuple[bytes, bool]:
        """Return the bytes of `piece`, and whether its spelling says that it continues a word."""
        ...


@cache
def byte_alphabet() -> dict[str, int]:
    """Return the byte behind each of the 256 characters with which GPT-2's tokeniser writes bytes.

    Printable Latin-1 characters stand for themselves; the other 68 bytes, in order, are written with the
    characters from U+0100 on (Radford et al. 2019, the encoder released with GPT-2).
    """
    own = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(own)]
    table = {chr(byte): byte for byte in own}
    table.update({chr(0x100 + place): byte for place, byte in enumerate(others)})
    return table


@dataclass(frozen=True)
class ByteAlphabet:
    """One character a byte."""

    def read(self, piece: str) -> tuple[bytes, bool]:
        """Return the bytes; a piece outside the alphabet is its own text."""
        table = byte_alphabet()
        if all(character in table for character in piece):
            return bytes(table[character] for character in piece), False
        return piece.encode(), False


@dataclass(frozen=True)
class Marked:
    """A mark for the space, and byte pieces for what the vocabulary lacks."""

    mark: str = "▁"

    def read(self, piece: str) -> tuple[bytes, bool]:
        """Return the bytes of the piece with its marks as spaces."""
        byte = _BYTE_PIECE.match(piece)
        if byte:
            return bytes.fromhex(byte[1]), False
        return piece.replace(self.mark, " ").encode(), False


@dataclass(frozen=True)
class WordPiece:
    """A prefix for pieces inside a word."""

    prefix: str = "##"

    def read(self, piece: str) -> tuple[bytes, bool]:
        """Return the bytes without the prefix, and whether it was there."""
        inside = piece.startswith(self.prefix) and len(piece) > len(self.prefix)
        return (piece[len(self.prefix) :] if inside else piece).encode(), inside


@dataclass(frozen=True)
class EndOfWord:
    """A suffix on the last piece of a word, over the byte alphabet where the pieces are of it."""

    suffix: str = "</w>"

    def read(self, piece: str) -> tuple[bytes, bool]:
        """Return the bytes with a space for the suffix, since it stands for the gap after the word."""
        ends = piece.endswith(self.suffix)
        raw, _ = ByteAlphabet().read(piece[: -len(self.suffix)] if ends else piece)
        return raw + (b" " if ends else b""), False


@dataclass(frozen=True)
class Plain:
    """The piece is the text."""

    def read(self, piece: str) -> tuple[bytes, bool]:
        """Return the bytes of the piece itself."""
        return piece.encode(errors="replace"), False


def spelling_of(tokenizer: Any) -> Spelling:
    """Return how a Hugging Face tokeniser spells: from its decoder, or from its vocabulary where it has
    none.
    """
    decoder = getattr(getattr(tokenizer, "backend_tokenizer", None), "decoder", None)
    if decoder is not None:
        found = _from_decoder(json.loads(decoder.__getstate__()))
        if found is not None:
            return found
    return _from_pieces(tokenizer.get_vocab())


def _from_decoder(state: dict[str, Any]) -> Spelling | None:
    parts = state.get("decoders", [state])
    names = {part["type"]: part for part in parts}
    if "ByteLevel" in names:
        return ByteAlphabet()
    if "WordPiece" in names:
        return WordPiece(names["WordPiece"].get("prefix", "##"))
    if "BPEDecoder" in names:
        return EndOfWord(names["BPEDecoder"].get("suffix", "</w>"))
    if "Metaspace" in names:
        return Marked(names["Metaspace"].get("replacement", "▁"))
    if "ByteFallback" in names:
        return Marked()
    return None


def _from_pieces(pieces: Iterable[str]) -> Spelling:
    """Return the spelling that the vocabulary's own marks show, the commonest first."""
    counts = {"Ġ": 0, "▁": 0, "##": 0, "</w>": 0}
    for piece in pieces:
        counts["Ġ"] += piece.startswith("Ġ") and len(piece) > 1
        counts["▁"] += piece.startswith("▁")
        counts["##"] += piece.startswith("##") and len(piece) > 2
        counts["</w>"] += piece.endswith("</w>")
    mark = max(counts, key=counts.__getitem__)
    if not counts[mark]:
        return Plain()
    found: dict[str, Spelling] = {
        "Ġ": ByteAlphabet(),
        "▁": Marked(),
        "##": WordPiece(),
        "</w>": EndOfWord(),
    }
    return found[mark]
