"""What a word of the walk may be: whatever shows, and the page and Python say the same of every character."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import attnscope.web
from attnscope.errors import LessonError
from attnscope.lesson.walk.word import checked_word, is_word

_CODE = Path(attnscope.web.__file__).parent / "static" / "js" / "pure" / "walk"
FORMS = ("_", "कि_")
# Planes 0, 1 and 14 whole, and the ends of all: what lies between is unassigned or an ideograph.
POINTS = [
    p for p in range(sys.maxunicode + 1) if p >> 16 in (0, 1, 14) or p & 0xFFFF < 4 or p & 0xFFFF > 0xFFF0
]
WORDS = (
    "the", "naïve", "New York", "24", "“", "<b>", "\\", "東京", "кот", "قط", "می\u200cخواهم",
    "क्\u200dष", "संधि", "😺", "👩\u200d🔬", "👨\u200d👩\u200d👧\u200d👦", "❤\ufe0f",
    "❤\ufe0f\u200d🔥", "1\ufe0f\u20e3", "©\ufe0f", "🇩🇪",
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "葛\U000e0100", "ᠠ\u180b",
    "\u0301", "\u0600", "שָׁלוֹם", "한국", "x" * 24, "\U0001fae8",
)  # fmt: skip
NO_WORDS = (
    "", "   ", "\u00a0", "\u2800", "\u2800\u2800", " a", "a ", "a\u2800", "\u3164", "\u034f",
    "\ufffe", "\uffff", "\ufdd0", "\U0001fffe", "\U0010ffff", "\ue000", "\U000f0000", "\u00ad",
    "so\u00adft", "a\u200bb", "a\u2060b", "\u115f", "\u1160", "\uffa0", "\u17b4", "\u200d",
    "\ufe0f", "\u200d😺", "a\u200d", "a\ufe0f", "the\u200c", "a \u200dक", "\U000e0041",
    "\U000e0001", "\u180e", "\u061c", "قط\u200f", "\ufff9", "\ufffc", "\U0001d173", "\x00",
    "a\nb", "a\u2028b", "s\u202eat", "\ufeff", "x" * 25, "\ud83d", "a\udc00",
)  # fmt: skip


@cache
def page() -> dict[str, Any]:
    """What the page says of every character in each form, and of each word."""
    script = Path(__file__).with_name("words.mjs")
    done = subprocess.run(
        ["node", str(script), str(_CODE)],
        input=json.dumps({"forms": FORMS, "points": POINTS, "words": [*WORDS, *NO_WORDS]}),
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.skipif(shutil.which("node") is None, reason="node runs the page's code")
def test_the_page_and_python_say_the_same_of_every_character_there_is() -> None:
    for form, there in zip(FORMS, page()["forms"], strict=True):
        here = {point for point in POINTS if is_word(form.replace("_", chr(point)))}
        assert not here ^ set(there), (form, [hex(point) for point in sorted(here ^ set(there))[:20]])
        assert len(here) > 150_000


@pytest.mark.skipif(shutil.which("node") is None, reason="node runs the page's code")
def test_the_page_and_python_say_the_same_of_a_word() -> None:
    assert page()["words"] == [True] * len(WORDS) + [False] * len(NO_WORDS)


@pytest.mark.parametrize("word", WORDS, ids=ascii)
def test_a_word_that_shows_is_taken(word: str) -> None:
    assert checked_word(word) == unicodedata.normalize("NFC", word)


@pytest.mark.parametrize("word", NO_WORDS, ids=ascii)
def test_a_word_that_does_not_show_whole_is_refused(word: str) -> None:
    with pytest.raises(LessonError) as caught:
        checked_word(word)
    assert caught.value.wanted


def test_no_character_that_shows_nothing_is_a_word() -> None:
    """By Python's own tables: controls, formats but the signs that Arabic and others draw, private use."""
    shown_formats = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2"
    for point in POINTS:
        one = chr(point)
        kind = unicodedata.category(one)
        if kind in ("Cc", "Cs", "Co", "Zs", "Zl", "Zp"):
            assert not is_word(one), hex(point)
        if kind == "Cf" and one not in shown_formats and not 0x110BD <= point <= 0x13440:
            assert not is_word(one), hex(point)
        if kind[0] in "LNPS" and one not in "\u115f\u1160\u3164\uffa0\u2800\ufffc":
            assert is_word(one), hex(point)


def test_what_does_not_show_is_named() -> None:
    with pytest.raises(LessonError, match=r"cannot be seen whole: U\+3164 shows nothing"):
        checked_word("a\u3164")
    with pytest.raises(LessonError, match=r"U\+200D joins nothing"):
        checked_word("a\u200d")
