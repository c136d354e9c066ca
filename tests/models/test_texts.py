"""Texts judged before any model sees them."""

from __future__ import annotations

import pytest

from attnscope.errors import EmptyText, UnknownCharacter
from attnscope.models.texts import check_text, longest_prefix, too_long, without_surrogates


def test_an_empty_text_is_refused() -> None:
    with pytest.raises(EmptyText, match="The text is empty"):
        check_text("")


def test_half_of_a_surrogate_pair_is_refused_with_its_place() -> None:
    with pytest.raises(UnknownCharacter, match=r"Character 2 is U\+D83D, half of a pair"):
        check_text("ab\ud83dc")
    assert without_surrogates("ab\ud83dc") == "abc"


def test_whole_characters_pass_even_the_invisible_ones() -> None:
    check_text("a\0b 👋\u200d")


def test_a_count_that_stopped_says_more_than() -> None:
    assert too_long(8192, 8192, "token", at_least=True).what == "More than 8,192 tokens, the limit is 8,192"


def test_the_cut_moves_back_until_the_prefix_fits() -> None:
    # a prefix may be cut into more pieces than it had inside the whole: here "ab" counts 1 and a lone "a" 3
    def count(text: str) -> int:
        return 3 * (len(text) % 2) + len(text) // 2

    assert longest_prefix("abababab", count, 3, guess=7) == "ababab"
