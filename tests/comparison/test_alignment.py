"""Two rows of tokens as one row of slots, and what stands where they differ."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnscope.comparison.alignment import Alignment, align
from attnscope.comparison.matching import common_blocks
from attnscope.comparison.spelling import same_text, text_units
from attnscope.errors import RecordingError, TooLarge
from attnscope.models.tokens import of_bytes, of_text, special


def texts(*words: str) -> list[dict[str, Any]]:
    return [of_text(at, word).to_dict() for at, word in enumerate(words)]


def aligned(a: Sequence[Any], b: Sequence[Any], how: str = "auto") -> Alignment:
    return align(a, b, how, real=(range(len(a)), range(len(b))))


def pairs(found: Alignment) -> list[tuple[list[int], list[int]]]:
    """The places of each matched slot."""
    both = zip(found.a.places(), found.b.places(), strict=True)
    return [(a, b) for a, b in both if a and b]


def test_equal_tokens_are_aligned_by_position() -> None:
    found = aligned(texts("a", " b"), texts("a", " b"))
    assert (found.how, found.count, found.unmatched) == ("position", 2, (0, 0))
    assert found.a.of.tolist() == found.b.of.tolist() == [0, 1]


def test_the_number_of_a_token_does_not_make_it_another() -> None:
    one, other = texts("a", " b"), [of_text(7, "a").to_dict(), of_text(9, " b").to_dict()]
    assert aligned(one, other).how == "position"


def test_other_words_are_aligned_by_token_and_stand_in_slots_of_their_own() -> None:
    found = aligned(texts("the", " cat", " sat", "."), texts("the", " black", " dog", " sat", "."))
    assert found.how == "token"
    assert pairs(found) == [([0], [0]), ([2], [3]), ([3], [4])]
    assert found.a.of.tolist() == [0, 1, 4, 5] and found.b.of.tolist() == [0, 2, 3, 4, 5]
    assert found.unmatched == (1, 2) and found.matched.tolist() == [True, False, False, False, True, True]


def test_by_position_what_is_longer_hangs_over() -> None:
    found = aligned(texts("a", "b"), texts("x", "y", "z"), "position")
    assert pairs(found) == [([0], [0]), ([1], [1])] and found.unmatched == (0, 1)


def test_two_tokenisers_are_aligned_where_both_end_at_a_letter() -> None:
    one = [special(1, "[CLS]").to_dict(), *texts("the", "light", "er", "."), special(2, "[SEP]").to_dict()]
    other = texts(" The", " ligh", "ter", ".", "\n")
    found = aligned(one, other)
    assert found.how == "text"
    assert pairs(found) == [([1], [0]), ([2, 3], [1, 2]), ([4], [3])]
    assert found.unmatched == (2, 1)


def test_line_breaks_and_special_tokens_that_both_have_are_matched_between_the_letters() -> None:
    end = special(0, "</s>").to_dict()
    found = aligned([*texts("ab", "\n", "c"), end], [*texts("a", "b", "\n", "c"), end], "text")
    assert pairs(found) == [([0], [0, 1]), ([1], [2]), ([2], [3]), ([3], [4])]


def test_pieces_of_a_letter_are_never_parted() -> None:
    euro = "€".encode()
    one = [of_bytes(at, euro[at : at + 1]).to_dict() for at in range(3)]
    other = [of_bytes(0, euro[:2]).to_dict(), of_bytes(1, euro[2:] + b"x").to_dict()]
    assert text_units(one, other) == []  # nothing but the first of them ends where both do
    assert text_units([*one, *texts("x")], other) == [(range(4), range(2))]


@pytest.mark.parametrize("text", ["שלום עולם", "مرحبا بالعالم", "光 light", "naïve"])
def test_scripts_of_any_direction_are_spelled(text: str) -> None:
    one = texts(*text)
    other = [of_bytes(at, bytes([byte])).to_dict() for at, byte in enumerate(text.encode())]
    assert same_text(one, other)
    for a, b in text_units(one, other):
        assert len(a) == 1
        raw = b"".join(
            bytes.fromhex("".join(other[at]["bytes"] or [other[at]["text"].encode().hex()])) for at in b
        )
        assert raw.decode().strip() == one[a.start]["text"].strip()


def test_padding_is_in_no_slot_and_shifts_nothing() -> None:
    pad = special(0, "<pad>").to_dict()
    found = align([pad, pad, *texts("a", "b")], texts("a", "b"), real=([2, 3], [0, 1]))
    assert found.how == "position" and found.count == 2
    assert found.a.of.tolist() == [-1, -1, 0, 1]


def test_another_word_for_the_way_is_refused() -> None:
    with pytest.raises(RecordingError, match=r"align='lcs'\. One of 'auto', 'position', 'token', 'text'\."):
        aligned([], [], "lcs")


def test_too_many_pairs_of_equal_tokens_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attnscope.comparison.matching.LARGEST", 5)
    with pytest.raises(TooLarge, match=r"6 pairs of equal ones\. At most 5 .*align=\"position\""):
        common_blocks("xaaay", "waav")
    assert common_blocks("aaaaaaaay", "aaaaaaaax") == [(0, 0, 8)]  # equal ends cost nothing


words = st.lists(st.sampled_from("abc"), max_size=12)


@given(words, words)
def test_common_stretches_are_equal_in_order_and_no_fewer_than_difflib_finds(
    a: list[str], b: list[str]
) -> None:
    blocks = common_blocks(a, b)
    ends = (0, 0)
    for i, j, size in blocks:
        assert size > 0 and a[i : i + size] == b[j : j + size]
        assert i >= ends[0] and j >= ends[1]
        ends = (i + size, j + size)
    if a == b:
        assert blocks == ([(0, 0, len(a))] if a else [])
    if not set(a) & set(b):
        assert not SequenceMatcher(None, a, b).get_matching_blocks()[:-1] and not blocks


@given(words, words, st.sampled_from(["position", "token", "text"]))
def test_every_place_has_one_slot_in_its_order(a: list[str], b: list[str], how: str) -> None:
    found = aligned(texts(*a), texts(*b), how)
    for groups, word in ((found.a, a), (found.b, b)):
        of = groups.of.tolist()
        assert len(of) == len(word) and of == sorted(of) and min(of, default=0) >= 0
    assert sorted({*found.a.of.tolist(), *found.b.of.tolist()}) == list(range(found.count))
