"""Texts through real tokenisers: tokens join to the text again, and a cut is made where a token ends."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnscope.errors import EmptyText, TextTooLong, UnknownCharacter
from attnscope.models.codecs import CharacterCodec, HuggingFaceCodec
from attnscope.models.tokens import Token

HARD = "light ✓ 👩‍🚀\n\tمرحبا بك\r\n naïve  x\u00a0y שלום 日本"


def inputs(answer: dict[str, list[int]]) -> dict[str, Any]:
    return {"input_ids": torch.tensor([answer["input_ids"]])}


def raw(tokens: list[Token]) -> bytes:
    return b"".join(token.raw for token in tokens)


@pytest.fixture(scope="module")
def byte_level(tiny: SimpleNamespace) -> HuggingFaceCodec:
    return HuggingFaceCodec(tiny.byte_level(), 4000, inputs)


@pytest.fixture(scope="module")
def sentence_piece(tiny: SimpleNamespace) -> HuggingFaceCodec:
    return HuggingFaceCodec(tiny.sentence_piece(), 4000, inputs)


@pytest.fixture(scope="module")
def word_piece(tiny: SimpleNamespace) -> HuggingFaceCodec:
    return HuggingFaceCodec(tiny.word_piece(), 4000, inputs)


def test_byte_level_tokens_join_to_the_text(byte_level: HuggingFaceCodec) -> None:
    tokens = byte_level.encode(HARD).tokens
    assert raw(tokens) == HARD.encode()
    assert {"text", "space", "newline", "tab", "byte"} <= {token.kind for token in tokens}


def test_sentence_piece_tokens_join_to_the_text_without_the_space_that_was_added(
    sentence_piece: HuggingFaceCodec,
) -> None:
    tokens = sentence_piece.encode("the cat ✓").tokens
    assert [token.text for token in tokens[:3]] == ["<s>", "the", " cat"]
    assert raw(tokens) == "the cat ✓".encode()
    assert [token.bytes for token in tokens[-3:]] == [["E2"], ["9C"], ["93"]]
    assert raw(sentence_piece.encode(HARD).tokens) == HARD.encode()


def test_word_piece_marks_what_continues_a_word_and_what_is_special(word_piece: HuggingFaceCodec) -> None:
    tokens = word_piece.encode("The lighter cats").tokens
    assert [(token.text, token.kind, token.continues) for token in tokens] == [
        ("[CLS]", "special", False),
        ("the", "text", False),
        ("light", "text", False),
        ("er", "text", True),
        ("cat", "text", False),
        ("s", "text", True),
        ("[SEP]", "special", False),
    ]


def test_a_token_inside_a_word_says_that_it_continues_it(byte_level: HuggingFaceCodec) -> None:
    tokens = byte_level.encode("zebra zoo").tokens
    starts = [token.text for token in tokens if not token.continues]
    assert starts == ["z", " ", "z"]


@given(text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40))
def test_any_text_joins_again_from_byte_level_tokens(byte_level: HuggingFaceCodec, text: str) -> None:
    assert raw(byte_level.encode(text).tokens) == text.encode()


@pytest.mark.parametrize("kind", ["byte_level", "sentence_piece", "word_piece"])
def test_what_fits_is_the_longest_prefix_of_whole_tokens(tiny: SimpleNamespace, kind: str) -> None:
    text = "the cat sat ✓👋 the cats light " * 9
    codec = HuggingFaceCodec(getattr(tiny, kind)(), 17, inputs)
    with pytest.raises(TextTooLong) as caught:
        codec.encode(text)
    assert caught.value.limit == 17 and caught.value.length > 17
    fitting = codec.fitting(text)
    assert text.startswith(fitting)
    assert len(codec.encode(fitting).ids) <= 17
    with pytest.raises(TextTooLong):
        codec.encode(text[: len(fitting) + 6])  # one word more


def test_ten_megabytes_are_refused_without_reading_them_through(byte_level: HuggingFaceCodec) -> None:
    with pytest.raises(TextTooLong, match="More than 4,000 tokens, the limit is 4,000"):
        byte_level.encode("light " * 1_700_000)


def test_a_text_of_special_tokens_alone_is_blank(word_piece: HuggingFaceCodec) -> None:
    with pytest.raises(EmptyText, match="blank"):
        word_piece.encode("   \n ")


def test_a_text_of_unknown_words_alone_is_not_blank(word_piece: HuggingFaceCodec) -> None:
    assert [token.text for token in word_piece.encode("✓").tokens] == ["[CLS]", "[UNK]", "[SEP]"]


def test_characters_are_tokens_of_their_own() -> None:
    codec = CharacterCodec({c: i for i, c in enumerate("\n abc")}, 8)
    encoded = codec.encode("ab c\n")
    assert encoded.ids == [2, 3, 1, 4, 0]
    assert [token.kind for token in encoded.tokens] == ["text", "text", "space", "text", "newline"]
    assert codec.token(4).text == "c"


def test_characters_past_the_context_are_refused_and_the_first_are_offered() -> None:
    codec = CharacterCodec({c: i for i, c in enumerate("ab")}, 256)
    with pytest.raises(TextTooLong) as caught:
        codec.encode("ab" * 206)
    assert str(caught.value) == (
        "412 characters, the limit is 256. This model reads at most 256 characters. Nothing was run. "
        "The first 256 fit."
    )
    assert codec.fitting("ab" * 206) == "ab" * 128


def test_an_unknown_character_is_named_with_its_position_and_left_out_of_the_offer() -> None:
    codec = CharacterCodec({c: i for i, c in enumerate("ab")}, 256)
    with pytest.raises(UnknownCharacter, match=r"never seen “é”, U\+0000 \(first at position 1\)"):
        codec.encode("aé\0b")
    assert codec.mended("aé\0b") == "ab"
