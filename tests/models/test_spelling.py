"""How vocabularies spell."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from tokenizers import pre_tokenizers

from attnscope.models.spelling import (
    ByteAlphabet,
    EndOfWord,
    Marked,
    Plain,
    WordPiece,
    byte_alphabet,
    spelling_of,
)


def test_the_byte_alphabet_is_that_of_the_tokenizers_library() -> None:
    assert set(byte_alphabet()) == set(pre_tokenizers.ByteLevel.alphabet())
    assert sorted(byte_alphabet().values()) == list(range(256))
    for text in ("a b\n\té✓", "مرحبا 👋"):
        pieces = "".join(
            piece for piece, _ in pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str(text)
        )
        assert ByteAlphabet().read(pieces)[0] == text.encode()


def test_a_mark_is_a_space_and_a_byte_piece_is_its_byte() -> None:
    assert Marked().read("▁light") == (b" light", False)
    assert Marked().read("<0xE2>") == (b"\xe2", False)
    assert Marked().read("<0xE2>x") == (b"<0xE2>x", False)


def test_a_prefix_inside_a_word_is_told_and_taken_away() -> None:
    assert WordPiece().read("##er") == (b"er", True)
    assert WordPiece().read("##") == (b"##", False)
    assert WordPiece().read("er") == (b"er", False)


def test_the_end_of_a_word_is_the_gap_after_it() -> None:
    assert EndOfWord().read("light</w>") == (b"light ", False)


@pytest.mark.parametrize(
    ("pieces", "spelling"),
    [
        (["Ġthe", "a", "Ġ"], ByteAlphabet()),
        (["▁the", "▁", "a"], Marked()),
        (["the", "##er", "[CLS]"], WordPiece()),
        (["the</w>", "t"], EndOfWord()),
        (["C", "(", "=O"], Plain()),
    ],
)
def test_a_vocabulary_without_a_decoder_is_known_by_its_marks(pieces: list[str], spelling: object) -> None:
    tokenizer = SimpleNamespace(get_vocab=lambda: {piece: i for i, piece in enumerate(pieces)})
    assert spelling_of(tokenizer) == spelling
