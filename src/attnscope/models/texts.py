"""Whether a text can be read at all, before any model sees it, and how much of it fits."""

from __future__ import annotations

from collections.abc import Callable

from attnscope.errors import EmptyText, TextTooLong, UnknownCharacter


def check_text(text: str) -> None:
    """Refuse a text that is empty or holds half of a surrogate pair, which no encoding can write."""
    if not text:
        raise EmptyText("The text is empty", wanted="At least one character is wanted")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        raise UnknownCharacter(
            f"Character {error.start:,} is U+{code:04X}, half of a pair and no character of its own",
            wanted="Whole Unicode characters are wanted",
            hint="Leave it out, or type the character again",
        ) from error


def without_surrogates(text: str) -> str:
    """Return `text` without halves of surrogate pairs."""
    return text.encode(errors="ignore").decode()


def too_long(length: int, limit: int, unit: str, *, at_least: bool = False) -> TextTooLong:
    """Return the error for a text of `length` units where `limit` fit; `at_least` where the count stopped."""
    count = f"{'More than ' if at_least else ''}{length:,} {unit}s"
    return TextTooLong(
        f"{count}, the limit is {limit:,}",
        length=length,
        limit=limit,
        wanted=f"This model reads at most {limit:,} {unit}s. Nothing was run",
        hint=f"The first {limit:,} fit",
    )


def longest_prefix(text: str, count: Callable[[str], int], limit: int, *, guess: int) -> str:
    """Return a prefix of `text` of at most `limit` units that ends where a unit ends.

    `count` says how many units a prefix has and `guess` is where the limit should fall. A prefix may be cut
    into more units than it had as part of the whole, so the cut moves back until it fits.
    """
    end = min(guess, len(text))
    while end > 0 and count(text[:end]) > limit:
        end -= 1
    return text[:end]
