"""Words of a text, and a head's weights from word to word.

A word is a run of letters, digits and marks; the white space that a token puts before it belongs to it. Every
sign, line break and special token is a word of its own. Where a script puts no space between words (Chinese,
Japanese, Thai, Lao, Khmer, Burmese) each token is one. Pieces of a character are never parted.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attnscope.errors import RecordingError, TooLarge
from attnscope.models.axes import axis_of
from attnscope.models.groups import Groups
from attnscope.models.tokens import characters, raw_of, spelled
from attnscope.recording import Recording, Site
from attnscope.recording.asked import Where, cut_of
from attnscope.recording.site import LARGEST_BLOCK

Specials = Literal["mark", "fold"]

CELLS = 2**22
"""Cells of whole rows that are looked at together: 16 MB."""

_INSIDE = "inside"
_SPACELESS = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN")


@dataclass(frozen=True)
class Word:
    """places: the tokens it is made of, in order.   kind: that of a token; "text" of several.   spoken: how a
    screen reader says it.
    """

    text: str
    places: tuple[int, ...]
    kind: str
    spoken: str

    def to_dict(self) -> dict[str, Any]:
        """Return the word as JSON values, in the form of a token."""
        return {
            "id": -1, "text": self.text, "kind": self.kind, "bytes": None, "continues": False,
            "spoken": self.spoken, "places": list(self.places),
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class WordWeights:
    """weights: (r c) float64 from word to word, 0 where nothing is visible.   visible: whether any query of a
    word sees any key of another.   rows, columns: the words.
    """

    rows: tuple[Word, ...]
    columns: tuple[Word, ...]
    weights: Float[Tensor, "r c"] = field(repr=False)
    visible: Bool[Tensor, "r c"] = field(repr=False)


def words_of(tokens: Sequence[Mapping[str, Any]], specials: Specials = "mark") -> tuple[Word, ...]:
    """Return the words of tokens as JSON values (Token.to_dict, or those of an axis).

    specials: "mark" makes each special token a word; "fold" makes all of them one, at the place of the first.
    Raises RecordingError for another choice.

    >>> from attnscope.models.tokens import of_text
    >>> tokens = [of_text(0, " light").to_dict(), of_text(1, "er", continues=True).to_dict()]
    >>> words_of(tokens)[0].text, words_of(tokens)[0].places
    (' lighter', (0, 1))
    """
    if specials not in ("mark", "fold"):
        raise RecordingError(f"specials={specials!r}", wanted="'mark' or 'fold'")
    runs: list[list[int]] = []
    folded: list[int] | None = None
    ends = _ends(tokens)
    for place, token in enumerate(tokens):
        if specials == "fold" and token["kind"] == "special":
            if folded is None:
                folded = []
                runs.append(folded)
            folded.append(place)
        elif runs and runs[-1][-1] == place - 1 and _goes_on(ends[place - 1][1], ends[place][0], token):
            runs[-1].append(place)
        else:
            runs.append([place])
    return tuple(_word(tokens, run, run is folded) for run in runs)


def _ends(tokens: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return the character in which each token begins and that in which it ends, "" where it has none; a
    character in pieces is that of all of them, _INSIDE where a token begins in the middle of one.
    """
    raw = [raw_of(token) for token in tokens]
    data = b"".join(raw)
    of = [""] * len(data)  # the character that each byte is part of
    starts = [False] * len(data)
    for places, letter in characters(data):
        of[places.start : places.stop] = [letter or "\ufffd"] * len(places)
        starts[places.start] = True
    found, at = [], 0
    for piece in raw:
        end = at + len(piece)
        found.append(((of[at] if starts[at] else _INSIDE), of[end - 1]) if piece else ("", ""))
        at = end
    return found


def _goes_on(before: str, after: str, token: Mapping[str, Any]) -> bool:
    """Return whether a token that begins with `after` goes on inside the word that ends with `before`."""
    if not before or not after:
        return False
    if after == _INSIDE:
        return True
    if not (token["continues"] and _in_word(before)):
        return False
    return not (_spaceless(before) and _spaceless(after))


def _in_word(character: str) -> bool:
    return character.isalnum() or unicodedata.category(character).startswith("M")


def _spaceless(character: str) -> bool:
    return unicodedata.name(character, "").startswith(_SPACELESS)


def _word(tokens: Sequence[Mapping[str, Any]], places: list[int], folded: bool) -> Word:
    if folded and len(places) > 1:
        return Word("<specials>", tuple(places), "special", f"{len(places)} special tokens")
    if len(places) == 1:
        token = tokens[places[0]]
        text = str(token["text"]) or spelled([raw_of(token)])
        return Word(text, tuple(places), str(token["kind"]), str(token["spoken"]))
    text = spelled(raw_of(tokens[place]) for place in places)
    return Word(text, tuple(places), "text", text.strip() or str(tokens[places[0]]["spoken"]))


def groups_of_words(words: Sequence[Word], size: int) -> Groups:
    """Return the words as groups of `size` places."""
    of = torch.full((size,), -1, dtype=torch.int64)
    for group, word in enumerate(words):
        of[list(word.places)] = group
    return Groups(of, len(words))


def word_weights(
    recording: Recording,
    site: Site,
    head: int,
    rows: Where = None,
    cols: Where = None,
    *,
    batch: int = 0,
    specials: Specials = "mark",
) -> WordWeights:
    """A head's weights from word to word: the sum over the keys of a word, the mean over its queries.

    rows, cols: words, a number or a slice.   specials: "fold" makes all special tokens one word, whose
    weights are the same sum and mean; nothing is renormalised, so a row still sums to what its tokens' rows
    sum to. After Clark et al. 2019 (section 4.1) and Kovaleva et al. 2019.

    Raises RecordingError where the recording does not say what stands at its positions, TooLarge past 2**24
    words x words, and what Site.weights raises.
    """
    sides = [axis_of(recording, site, side, batch=batch).tokens for side in ("rows", "columns")]
    for tokens in sides:
        check_words(tokens)
    of_rows, of_cols = (words_of(tokens, specials) for tokens in sides)
    row, col = cut_of(rows, len(of_rows), "word"), cut_of(cols, len(of_cols), "word")
    if (row.stop - row.start) * (col.stop - col.start) > LARGEST_BLOCK:
        raise TooLarge(
            f"{row.stop - row.start:,} x {col.stop - col.start:,} words were asked for",
            wanted=f"At most {LARGEST_BLOCK:,} cells at once",
        )
    return weights_between(site, head, of_rows[row], of_cols, col, batch=batch)


def weights_between(
    site: Site,
    head: int,
    rows: Sequence[Word],
    columns: Sequence[Word],
    cut: slice | None = None,
    *,
    batch: int = 0,
) -> WordWeights:
    """The weights from some words to those of `columns`, all the words of that side, that `cut` names.

    Raises what Site.weights raises.
    """
    cut = slice(0, len(columns)) if cut is None else cut
    keys = groups_of_words(columns, site.tk)
    weights, seen = [], []
    for chunk in _chunks(rows, max(1, CELLS // max(1, site.tk))):
        found = _of_words(site, head, chunk, keys, batch)
        weights.append(found[0][:, cut])
        seen.append(found[1][:, cut])
    nothing = torch.zeros(0, cut.stop - cut.start)
    return WordWeights(
        tuple(rows),
        tuple(columns[cut]),
        torch.cat([nothing.double(), *weights]),
        torch.cat([nothing.bool(), *seen]),
    )


def check_words(tokens: Sequence[Mapping[str, Any]]) -> None:
    """Raises RecordingError for numbered places, which have no words."""
    if any(token["kind"] == "place" for token in tokens):
        raise RecordingError(
            "The recording does not hold the tokens of this text",
            wanted="Tokens with their texts",
            hint="Give record() the tokens as strings, or set recording.places",
        )


def _of_words(
    site: Site, head: int, words: Sequence[Word], keys: Groups, batch: int
) -> tuple[Tensor, Tensor]:
    """Whole rows of some words, and which words they see."""
    places = [place for word in words for place in word.places]
    runs = _runs(places)
    block = torch.cat([site.weights(head, run, batch=batch).double().cpu() for run in runs])
    visible = torch.cat([site.visible(head, run, batch=batch).cpu() for run in runs])
    own = torch.tensor([at for at, word in enumerate(words) for _ in word.places])
    queries = Groups(own, len(words))
    return queries.of_queries(keys.of_keys(block)), queries.seen(keys.seen(visible, 1), 0)


def _chunks(words: Sequence[Word], most: int) -> list[list[Word]]:
    """Words in order, so many together that they have at most `most` tokens, or one."""
    found: list[list[Word]] = []
    held = most
    for word in words:
        if held + len(word.places) > most:
            found.append([])
            held = 0
        found[-1].append(word)
        held += len(word.places)
    return found


def _runs(places: list[int]) -> list[slice]:
    """Neighbouring places as slices, in the order given."""
    found: list[slice] = []
    for place in places:
        if found and found[-1].stop == place:
            found[-1] = slice(found[-1].start, place + 1)
        else:
            found.append(slice(place, place + 1))
    return found
