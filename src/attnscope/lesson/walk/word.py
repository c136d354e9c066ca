"""A word of the walk: 1 to 24 characters that show, in their composed form.

What shows nothing is told by fixed ranges of Unicode and not by a table of one version, since the page and
Python may know different versions: a character that is not assigned yet is taken, and drawn as a box by who
does not know it.
"""

from __future__ import annotations

import re
import unicodedata

from attnscope.errors import LessonError

CHARACTERS = 24  # the longest word
# Controls, line ends, halves of characters, private use, what is no character, annotation and object marks,
# and what Default_Ignorable_Code_Point (UAX #44) says is drawn as nothing, the joiners below apart.
_NOTHING = (
    "\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ue000-\uf8ff\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffc\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e001f\U000e0080-\U000e00ff"
    "\U000e01f0-\U000e0fff\U000f0000-\U0010ffff"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0x10000, 0xF0000, 0x10000))
)
# They change or join what stands before them: in emoji, Arabic, the scripts of India, Mongolian, Chinese.
_JOINS = "\u180b-\u180d\u180f\u200c\u200d\ufe00-\ufe0f\U000e0020-\U000e007f\U000e0100-\U000e01ef"
# Spaces, and the braille cell without a dot.
_BLANK = " \xa0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000"
# Latin, Greek, Cyrillic and Armenian join nothing; digits and signs have a form as emoji.
_ALONE = "\x00-\u058f"

_BLANKS = re.compile(f"[{_BLANK}]*")
_EDGE = re.compile(f"\\A[{_BLANK}]|[{_BLANK}]\\Z")
_UNFIT = re.compile(
    f"(?P<nothing>[{_NOTHING}])|(?:^|[{_BLANK}]|(?![0-9#*©®][\ufe0e\ufe0f])[{_ALONE}])(?P<joins>[{_JOINS}])"
)


def checked_word(word: str) -> str:
    """Return a word in its composed form (NFC), so that two that look alike are one.

    Raises LessonError for an empty word, one of more than 24 characters, one with a character that shows
    nothing, and one that begins or ends with a blank.
    """
    whole = unicodedata.normalize("NFC", word)
    if not 1 <= len(whole) <= CHARACTERS:
        came = f"A word of {len(whole)} characters" if whole else "An empty word"
        raise LessonError(came, wanted=f"1 to {CHARACTERS} characters are wanted")
    unfit = _UNFIT.search(whole)
    if unfit or _BLANKS.fullmatch(whole):
        raise LessonError(
            f"The word {whole!a} cannot be seen whole{_why(unfit)}", wanted="Characters that show are wanted"
        )
    if _EDGE.search(whole):
        raise LessonError(
            f"The word {whole!r} begins or ends with a blank", wanted="A word without it is wanted"
        )
    return whole


def is_word(word: str) -> bool:
    """Return whether `checked_word` takes it."""
    try:
        checked_word(word)
    except LessonError:
        return False
    return True


def _why(unfit: re.Match[str] | None) -> str:
    if unfit is None:
        return ""
    kind = unfit.lastgroup or ""
    what = "shows nothing" if kind == "nothing" else "joins nothing"
    return f": U+{ord(unfit[kind]):04X} {what}"
