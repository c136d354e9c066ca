"""Characters as numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnscope.errors import BrokenModel, UnknownCharacter
from attnscope.gpt.tokenizer import CharacterTokenizer


@given(st.text("ab \n\té☃\U0001f600", min_size=1, max_size=30))
def test_decoding_what_was_encoded_gives_the_text(text: str) -> None:
    tokenizer = CharacterTokenizer.of(text)
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert len(tokenizer) == len(set(text))


def test_an_unknown_character_is_named_with_its_place_and_what_is_known() -> None:
    with pytest.raises(UnknownCharacter) as caught:
        CharacterTokenizer.of("banana").encode("nab é")
    assert str(caught.value) == (
        "The character ' ' (U+0020) at position 3 is not in this model's vocabulary. "
        "Any of its 3 characters: 'abn'."
    )


@pytest.mark.parametrize("i", [-1, 3])
def test_an_id_outside_the_vocabulary_is_refused(i: int) -> None:
    with pytest.raises(UnknownCharacter, match=f"Token {i}. Ids from 0 to 2"):
        CharacterTokenizer.of("banana").decode([0, i])


@pytest.mark.parametrize("characters", ["", "abca"])
def test_a_vocabulary_has_each_character_once(characters: str) -> None:
    with pytest.raises(BrokenModel, match=f"A vocabulary of {len(characters)} characters"):
        CharacterTokenizer(characters)
