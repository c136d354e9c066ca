"""Characters as numbers: the vocabulary is the sorted set of characters of the training text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attnscope.errors import BrokenModel, UnknownCharacter


class CharacterTokenizer:
    """One id for each known character, in code point order.

    >>> tokenizer = CharacterTokenizer.of("banana")
    >>> tokenizer.characters, tokenizer.encode("nab"), tokenizer.decode([1, 0])
    ('abn', [2, 0, 1], 'ba')
    """

    def __init__(self, characters: str) -> None:
        if not characters or len(set(characters)) != len(characters):
            raise BrokenModel(
                f"A vocabulary of {len(characters)} characters, {len(set(characters))} of them different",
                wanted="One or more characters, each once",
            )
        self.characters = characters
        self._ids = {character: i for i, character in enumerate(characters)}

    @classmethod
    def of(cls, text: str) -> CharacterTokenizer:
        """The tokenizer whose vocabulary is what the text is made of."""
        return cls("".join(sorted(set(text))))

    def __len__(self) -> int:
        return len(self.characters)

    def encode(self, text: str) -> list[int]:
        """The ids of a text. Raises UnknownCharacter with the first character that has none."""
        try:
            return [self._ids[character] for character in text]
        except KeyError:
            raise self._unknown(text) from None

    def decode(self, ids: Iterable[int] | Sequence[int]) -> str:
        """The text of some ids. Raises UnknownCharacter for an id outside the vocabulary."""
        characters = []
        for i in ids:
            if not 0 <= int(i) < len(self):
                raise UnknownCharacter(f"Token {int(i)}", wanted=f"Ids from 0 to {len(self) - 1}")
            characters.append(self.characters[int(i)])
        return "".join(characters)

    def _unknown(self, text: str) -> UnknownCharacter:
        place = next(i for i, character in enumerate(text) if character not in self._ids)
        character = text[place]
        shown = f"{character!r} (U+{ord(character):04X})"
        return UnknownCharacter(
            f"The character {shown} at position {place} is not in this model's vocabulary",
            wanted=f"Any of its {len(self)} characters: {self.characters!r}",
        )
