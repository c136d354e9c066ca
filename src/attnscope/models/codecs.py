"""The two ways a text is read: character by character for our own models, else by a model's tokeniser."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from attnscope.errors import EmptyText, ModelError, UnknownCharacter
from attnscope.models import tokens as marks
from attnscope.models.encoded import Encoded
from attnscope.models.pieces import Span, continued, read_piece, read_row, read_tokens
from attnscope.models.spelling import spelling_of
from attnscope.models.texts import longest_prefix, too_long, without_surrogates
from attnscope.models.tokens import Token

_CHARACTERS_PER_TOKEN = 64  # a text longer than this many times the context is first judged by its beginning


class CharacterCodec:
    """One character, one token."""

    def __init__(self, numbers: Mapping[str, int], limit: int) -> None:
        """`numbers` gives each character of the vocabulary its id; `limit` is the model's context."""
        self._numbers = dict(numbers)
        self._characters = {number: character for character, number in self._numbers.items()}
        self._limit = limit

    def encode(self, text: str, *, target: bool = False) -> Encoded:
        """Return one token a character."""
        if len(text) > self._limit:
            raise too_long(len(text), self._limit, "character")
        unknown = next((place for place, c in enumerate(text) if c not in self._numbers), None)
        if unknown is not None:
            raise self._unknown(text, unknown)
        ids = [self._numbers[character] for character in text]
        tokens = [marks.of_text(number, character) for number, character in zip(ids, text, strict=True)]
        return Encoded(ids, continued(tokens), {"ids": torch.tensor([ids])}, text)

    def chat(self, messages: Sequence[Mapping[str, Any]]) -> Encoded:
        """Refuse: characters alone make no chat."""
        raise _no_chat("This model reads plain characters and has no chat template")

    def token(self, token_id: int) -> Token:
        """Return the token of one id."""
        return marks.of_text(token_id, self._characters[token_id])

    def row(self, ids: Sequence[int], after: Token | None = None) -> list[Token]:
        """Return the tokens of ids that follow one another, and `after`."""
        found = [self.token(one) for one in ids]
        return continued(found) if after is None else continued([after, *found])[1:]

    def of_ids(self, ids: Sequence[int]) -> Encoded:
        """Return the characters of these ids."""
        return self.encode("".join(self._characters[one] for one in ids))

    def ordinary(self) -> list[int]:
        """Return every id: each stands for a character."""
        return sorted(self._characters)

    @property
    def beginning(self) -> int | None:
        """Return None: a text begins with its first character."""
        return None

    def fitting(self, text: str) -> str:
        """Return the first characters, as many as fit."""
        return text[: self._limit]

    def mended(self, text: str) -> str:
        """Return the text without the characters outside the vocabulary."""
        return "".join(character for character in text if character in self._numbers)

    def _unknown(self, text: str, place: int) -> UnknownCharacter:
        others = list(dict.fromkeys(character for character in text if character not in self._numbers))
        named = ", ".join(_shown(character) for character in others[:6]) + (" …" if len(others) > 6 else "")
        return UnknownCharacter(
            f"This model has never seen {named} (first at position {place:,})",
            wanted=f"It knows {len(self._numbers)} characters: letters, spaces and the commonest signs",
            hint="Leave it out, or choose another model",
        )


class HuggingFaceCodec:
    """A Hugging Face tokeniser, with the marks of its spelling."""

    def __init__(self, tokenizer: Any, limit: int, inputs: Callable[[dict[str, list[int]]], dict[str, Any]]):
        """`inputs` makes the model's keyword inputs of the tokeniser's answer; `limit` is in tokens."""
        self._tokenizer = tokenizer
        self._spelling = spelling_of(tokenizer)
        self._limit = limit
        self._inputs = inputs

    def encode(self, text: str, *, target: bool = False) -> Encoded:
        """Return the tokens, with the special ones that the tokeniser adds."""
        return self._encoded(text, {"text_target": text} if target else {"text": text})

    def chat(self, messages: Sequence[Mapping[str, Any]]) -> Encoded:
        """Return the chat in the tokeniser's own template, with what opens the answer."""
        if not getattr(self._tokenizer, "chat_template", None):
            raise _no_chat("This model's tokeniser has no chat template")
        try:
            text = self._tokenizer.apply_chat_template(
                list(messages), tokenize=False, add_generation_prompt=True
            )
        except Exception as error:  # templates are programs of the model's makers and raise what they like
            raise ModelError(
                f"The chat template cannot take these messages ({type(error).__name__}: {error})",
                wanted='Messages such as [{"role": "user", "content": "…"}]',
            ) from error
        return self._encoded(text, {"text": text, "add_special_tokens": False})

    def _encoded(self, text: str, asked: dict[str, Any]) -> Encoded:
        ceiling = self._limit * _CHARACTERS_PER_TOKEN
        if len(text) > ceiling and self._count(text[:ceiling]) > self._limit:
            raise too_long(self._limit, self._limit, "token", at_least=True)
        answer, offsets = self._ask(**asked)
        ids = answer["input_ids"]
        if len(ids) > self._limit:
            raise too_long(len(ids), self._limit, "token")
        found = read_tokens(self._tokenizer, self._spelling, text, ids, offsets)
        unknown = getattr(self._tokenizer, "unk_token_id", None)
        if all(token.kind == "special" and token.id != unknown for token in found):
            raise EmptyText("The text is blank", wanted="At least one word or sign is wanted")
        return Encoded(ids, found, self._inputs(answer), text)

    def token(self, token_id: int) -> Token:
        """Return the token of one id."""
        return read_piece(self._tokenizer, self._spelling, token_id)

    def row(self, ids: Sequence[int], after: Token | None = None) -> list[Token]:
        """Return the tokens of ids that follow one another, and `after`."""
        return read_row(self._tokenizer, self._spelling, ids, after)

    def of_ids(self, ids: Sequence[int]) -> Encoded:
        """Return the tokens of these ids."""
        tokens = self.row(ids)
        return Encoded(
            list(ids),
            tokens,
            self._inputs({"input_ids": list(ids)}),
            marks.spelled(token.raw for token in tokens),
        )

    def ordinary(self) -> list[int]:
        """Return the ids of the tokeniser's vocabulary without its special and added ones."""
        apart = {*self._tokenizer.all_special_ids, *self._tokenizer.added_tokens_decoder}
        return sorted(set(self._tokenizer.get_vocab().values()) - apart)

    @property
    def beginning(self) -> int | None:
        """Return the tokeniser's token for the beginning of a text, or its class token."""
        for name in ("bos_token_id", "cls_token_id"):
            found = getattr(self._tokenizer, name, None)
            if isinstance(found, int):
                return found
        return None

    def fitting(self, text: str) -> str:
        """Return the longest prefix of whole tokens within the limit, special tokens counted."""
        head = text[: self._limit * _CHARACTERS_PER_TOKEN]
        answer, offsets = self._ask(head)
        if len(answer["input_ids"]) <= self._limit:
            return head
        return longest_prefix(head, self._count, self._limit, guess=self._guess(head, offsets))

    def mended(self, text: str) -> str:
        """Return the text without halves of surrogate pairs, all that a tokeniser cannot read."""
        return without_surrogates(text)

    def _count(self, text: str) -> int:
        return len(self._ask(text)[0]["input_ids"])

    def _guess(self, head: str, offsets: list[Span] | None) -> int:
        """Return where the token begins that is the first too many."""
        if offsets is None:
            low, high = 0, len(head)
            while low < high:
                middle = (low + high + 1) // 2
                low, high = (middle, high) if self._count(head[:middle]) <= self._limit else (low, middle - 1)
            return low
        spans = [span for span in offsets if span[1] > span[0]]
        room = self._limit - (len(offsets) - len(spans))
        return spans[room][0] if 0 <= room < len(spans) else 0

    def _ask(self, text: str | None = None, **how: Any) -> tuple[dict[str, list[int]], list[Span] | None]:
        fast = bool(getattr(self._tokenizer, "is_fast", False))
        try:
            answer = dict(self._tokenizer(text, return_offsets_mapping=fast, verbose=False, **how))
        except Exception as error:  # tokenisers raise whatever their Rust or Python parts raise
            raise ModelError(
                f"This model's tokeniser cannot read the text ({type(error).__name__}: {error})"
            ) from error
        offsets = answer.pop("offset_mapping", None)
        return answer, None if offsets is None else [(int(a), int(b)) for a, b in offsets]


def _shown(character: str) -> str:
    return f"“{character}”" if character.isprintable() else f"U+{ord(character):04X}"


def _no_chat(what: str) -> ModelError:
    return ModelError(
        what, wanted="A model that was taught to chat", hint="Without --chat the text goes in as it is"
    )
