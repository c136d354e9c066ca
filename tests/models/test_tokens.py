"""Marks of single tokens: what is invisible is named, and nothing is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnscope.models import tokens as marks


@pytest.mark.parametrize(
    ("text", "kind", "spoken"),
    [
        ("light", "text", "light"),
        (" light", "text", "space light"),
        (" ", "space", "space"),
        ("   ", "space", "3 spaces"),
        ("\n", "newline", "newline"),
        ("\n\n", "newline", "2 newlines"),
        ("\r\n", "newline", "carriage return newline"),
        ("  \n", "newline", "2 spaces newline"),
        ("\t", "tab", "tab"),
        ("\u200d", "byte", "zero width joiner"),
        ("\x00", "byte", "control character 00"),
        ("\u00a0", "byte", "no-break space"),
        ("مرحبا", "text", "مرحبا"),
        ("", "text", ""),
    ],
)
def test_white_space_and_the_invisible_have_a_kind_and_a_name(text: str, kind: str, spoken: str) -> None:
    token = marks.of_text(7, text)
    assert (token.id, token.text, token.kind, token.spoken) == (7, text, kind, spoken)


def test_a_character_nobody_can_see_is_shown_by_its_bytes() -> None:
    assert marks.of_text(0, "\u200d").bytes == ["E2", "80", "8D"]


def test_a_piece_of_a_character_is_a_byte_piece_and_says_which() -> None:
    piece = marks.of_bytes(3, b"\xe2\x9c")
    assert (piece.kind, piece.text, piece.bytes, piece.spoken) == ("byte", "", ["E2", "9C"], "bytes E2 9C")
    assert marks.of_bytes(3, b"\xe2").spoken == "byte E2"


def test_a_special_token_shows_its_name_and_stands_for_no_text() -> None:
    token = marks.special(0, "<|endoftext|>")
    assert (token.kind, token.text, token.raw, token.spoken) == (
        "special",
        "<|endoftext|>",
        b"",
        "special token endoftext",
    )


@given(st.binary(min_size=1, max_size=12))
def test_the_bytes_of_a_token_are_those_it_was_made_of(raw: bytes) -> None:
    token = marks.of_bytes(1, raw)
    assert token.raw == raw
    assert token.spoken


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12))
def test_the_bytes_of_a_text_token_are_its_text(text: str) -> None:
    assert marks.of_text(1, text).raw == text.encode()
