"""The views of a look from word to word: the same routes, with words where tokens stood.

A weight to a word is the sum over its key tokens, one from a word the mean over its query tokens; so are
entropy, sink and first of a word's rows means, and what a word receives a sum. Small pictures stay those of
tokens.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from attnscope.models import Axis, Prediction
from attnscope.models.reading import HIDDEN
from attnscope.models.words import Specials, Word, check_words, groups_of_words, weights_between, words_of
from attnscope.recording import Site
from attnscope.recording.sight import Sight
from attnscope.web.refusals import Refusal
from attnscope.web.results import seal_of
from attnscope.web.values import LENGTH, TOKENS_ALONE
from attnscope.web.views import PER_KEY, Views, check_size


@dataclass(frozen=True, eq=False)
class WordViews(Views):
    """The views of one look, with special tokens marked or folded into one word."""

    specials: Specials = "mark"
    _words: dict[tuple[str, str], tuple[Word, ...]] = field(default_factory=dict, repr=False, init=False)

    def words(self, site: Site, side: str) -> tuple[Word, ...]:
        """Return the words along a side of a site. Raises RecordingError where its tokens are not known."""
        axis = self.look.axis(site, side)
        key = (f"{axis.stack} {len(axis.tokens)} {site.offset}", side)
        if key not in self._words:
            check_words(axis.tokens)
            self._words[key] = words_of(axis.tokens, self.specials)
        return self._words[key]

    def axis(self, site: Site, side: str) -> Axis:
        """Return what stands along a side: words, in the form of tokens, each with its places."""
        tokens, words = self.look.axis(site, side), self.words(site, side)
        generated = tokens.generated
        if generated is not None:
            generated = _first_from(words, generated)
        return Axis(tokens.stack, tuple(word.to_dict() for word in words), generated)

    def shape(self, place: int) -> tuple[int, int]:
        """Return how many words stand along the rows and the columns of a site."""
        site = self.sites[place]
        return len(self.words(site, "rows")), len(self.words(site, "columns"))

    def told(self, place: int) -> dict[str, Any]:
        """Return what is said of a site in words: sizes, and what its rows see."""
        site, sight = self.sites[place], self.sight(place)
        rows, columns = (self.words(site, side) for side in ("rows", "columns"))
        offset = None if site.kind == "cross" or site.offset is None else _first_from(columns, site.offset)
        plain = all(list(word.places) == list(range(word.places[0], word.places[-1] + 1)) for word in columns)
        causal = sight.form == "causal" and not sight.padding and plain
        return {
            "tq": len(rows), "tk": len(columns), "offset": offset, "causal": causal,
            "sight": asdict(_in_words(sight, rows, columns, causal)),
            "lengths": {"through": None, "why": TOKENS_ALONE},
        }  # fmt: skip

    def grid(self, place: int, head: int, rows: slice, cols: slice) -> Tensor:
        """Return a block of weights (r c) between words, HIDDEN where not visible."""
        check_size(rows, cols)
        site = self.certified(place, head)
        down, across = self.words(site, "rows"), self.words(site, "columns")
        found = weights_between(site, head, down[rows], across, cols, batch=self.look.batch)
        return torch.where(found.visible, found.weights, HIDDEN).float()

    def row(self, place: int, head: int, i: int) -> Tensor:
        """Return where word `i` looks."""
        site = self.certified(place, head)
        down, across = self.words(site, "rows"), self.words(site, "columns")
        found = weights_between(site, head, down[i : i + 1], across, batch=self.look.batch)
        return torch.where(found.visible, found.weights, HIDDEN).float()[0]

    def column(self, place: int, head: int, j: int) -> Tensor:
        """Return who looks at word `j`."""
        site = self.certified(place, head)
        down, across = self.words(site, "rows"), self.words(site, "columns")
        found = weights_between(site, head, down, across, slice(j, j + 1), batch=self.look.batch)
        return torch.where(found.visible, found.weights, HIDDEN).float()[:, 0]

    def sides(self, place: int, head: int) -> dict[str, Tensor]:
        """Return what stands along a heatmap's sides: per query word and per key word."""
        site = self.sites[place]
        found = {}
        for name, values in super().sides(place, head).items():
            if name == LENGTH:
                continue  # a word's part is a sum over its tokens, each with a value of its own
            side = "columns" if name in PER_KEY else "rows"
            groups = groups_of_words(self.words(site, side), len(values))
            if name == "received":
                found[name] = groups.of_keys(values[None])[0]
            elif name not in ("largest", *PER_KEY):
                found[name] = groups.of_queries(values[:, None])[:, 0]
        return found

    def cell(self, place: int, head: int, i: int, j: int) -> dict[str, Any]:
        """Return the token weights of which a weight between two words is made, and it."""
        site = self.certified(place, head)
        query, key = self.words(site, "rows")[i], self.words(site, "columns")[j]
        weights = [
            [float(site.weights(head, q, k, batch=self.look.batch)) for k in key.places] for q in query.places
        ]
        return {
            "layer": site.layer, "head": head, "i": i, "j": j, "queries": list(query.places),
            "keys": list(key.places), "weights": weights, "sums": [sum(row) for row in weights],
            "shown": sum(map(sum, weights)) / len(weights),
            "certificate": seal_of(site, head, self.look.batch),
        }  # fmt: skip

    def predictions(self, i: int, top: int = 8) -> Prediction:
        """Return what the model expected after word `i`: after its last token."""
        return self.look.predictions(self._read()[i].places[-1], top)

    @property
    def predicted(self) -> int:
        """Return after how many words a prediction is at hand."""
        return 0 if self.look.predicted is None else len(self._read())

    def map_of(self, place: int, head: int, *, values: bool = False) -> Any:
        """Refuse: a map is of tokens."""
        raise Refusal(409, "A map is of tokens", wanted="A run without words", hint="Leave words out")

    def _read(self) -> tuple[Word, ...]:
        """The words of what the model reads, or of the decoder where an encoder reads."""
        decoders = [one for one in self.sites if one.stack == "decoder" and one.kind == "self"]
        site = decoders[0] if decoders else self.sites[0]
        return self.words(site, "rows")


def _first_from(words: tuple[Word, ...], place: int) -> int:
    """Return the first word that begins at a place or after it."""
    return next((at for at, word in enumerate(words) if word.places[0] >= place), len(words))


def _in_words(sight: Sight, rows: tuple[Word, ...], columns: tuple[Word, ...], causal: bool) -> Sight:
    """Return what rows see, in words: padding and the rows of the text keep their ends."""
    padding = tuple((_first_from(columns, first), _first_from(columns, end)) for first, end in sight.padding)
    own = None if sight.rows is None else (_first_from(rows, sight.rows[0]), _first_from(rows, sight.rows[1]))
    form = sight.form if causal or sight.form == "everything" else "spans"
    return replace(
        sight, form=form, width=None, left=None, right=None, documents=(), rows=own,
        padding=tuple(one for one in padding if one[1] > one[0]),
    )  # fmt: skip
