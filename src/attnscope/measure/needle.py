"""Retrieval: which heads stand on a hidden sentence while the model writes it again.

Wu et al., "Retrieval Head Mechanistically Explains Long-Context Factuality", arXiv 2404.15574: a head
retrieves a token of the needle where the model writes that token while the head's largest weight is on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from attnscope.core.masks import full
from attnscope.errors import AttnscopeError
from attnscope.listen import record
from attnscope.measure.found import OfSite, OfText, listed
from attnscope.measure.passages import HIDDEN, NEEDLE, PASSAGES, QUESTION
from attnscope.measure.run import refused_heads
from attnscope.measure.texts import Text, shuffled, spelling
from attnscope.models import Kept, Subject, Writing, record_text
from attnscope.models.encoded import Encoded
from attnscope.recording import Site
from attnscope.recording.sight import visible_of

NAME = "retrieval"
DEPTHS = (0.2, 0.5, 0.8)
"""How far into the text the sentence is hidden, one text for each."""

OTHER_TEXT = "the hidden sentence is no text of these keys"


def needle_text(depth: float) -> str:
    """Passages with a sentence hidden at a share of their length, and the question that asks for it."""
    sentences = " ".join(PASSAGES[:3]).split(". ")
    at = round(depth * len(sentences))
    story = ". ".join([*sentences[:at], NEEDLE.rstrip("."), *sentences[at:]])
    return f"{story}\n\n{QUESTION}"


@dataclass(frozen=True)
class Steps:
    """The steps of an answer. made: the place of each token that the model wrote.   places: where the hidden
    sentence stands.   ids: of the whole text.
    """

    ids: tuple[int, ...]
    made: range
    places: range

    def meant(self, tk: int) -> Tensor:
        """Whether key j is a place of the needle whose token is the one that step s wrote, (s tk)."""
        ids, found = torch.tensor(self.ids), torch.zeros(len(self.made), tk, dtype=torch.bool)
        span = slice(self.places.start, self.places.stop)
        found[:, span] = ids[span] == ids[self.made.start : self.made.stop, None]
        return found


def run_needle(subject: Subject, depth: float, index: int, *, seed: int) -> OfText:
    """The retrieval score of every head on one hidden sentence.

    A model that cannot write, or reads too little for it, gives a text without sites and a note that says so.
    """
    name = f"a sentence hidden at {depth:.0%}"
    try:
        encoded = _read(subject, depth)
        recording, written = record_text(
            subject, encoded, writing=Writing(_length(subject)), kept=Kept(keep="summary")
        )
    except AttnscopeError as error:
        return OfText(index, "needle", name, 0, (), note=f"retrieval: {error.what}")
    begin = written.written if written.written is not None else len(encoded.ids)
    steps = Steps(tuple(written.ids), range(begin, len(written.ids)), _places(encoded))
    text = Text("needle", name, steps.ids, fixed=tuple(steps.made))
    with torch.no_grad(), record(subject.module, keep="summary") as again:
        subject.forward(subject.of_ids(shuffled(text, seed).ids or ()))
    others = {(site.name, site.order): site for site in again.sites}
    sites = [_measured(site, steps, others.get((site.name, site.order))) for site in recording.sites]
    spelled = spelling(subject, steps.ids)
    return OfText(index, "needle", name, len(steps.ids), tuple(sites), spelled=spelled)


def retrieved(site: Site, steps: Steps) -> Tensor:
    """The share of the needle's places that a head stood on while their token was written, (h) float64."""
    rows = _rows(site, steps)
    top = site.summary().largest_key[0, :, rows]  # (h s)
    meant = steps.meant(site.tk)[: top.shape[1]]
    hits = torch.zeros(top.shape[0], site.tk, dtype=torch.bool)
    head, step = torch.nonzero(top >= 0, as_tuple=True)
    key = top[head, step]
    good = meant[step, key]
    hits[head[good], key[good]] = True
    return hits.sum(dim=-1).double() / len(steps.places)


def by_chance(site: Site, steps: Steps) -> Tensor:
    """What retrieved() is in the mean where each step's top key is any key that its row sees, (1|h)
    float64.
    """
    rows = _rows(site, steps)
    seen = visible_of(site) or full().bind(1, 1, site.tq, site.tk, 0)
    tile = seen.tile(rows, slice(0, site.tk), batch=slice(0, 1))[0]  # (h|1 s tk)
    chance = tile.double() / tile.sum(dim=-1, keepdim=True).clamp(min=1)
    meant = steps.meant(site.tk)[: chance.shape[1]].to(chance.device)
    missed = (1 - chance * meant).prod(dim=1)  # (h|1 tk): that no step stands on a key
    return (1 - missed).sum(dim=-1) / len(steps.places)


def _rows(site: Site, steps: Steps) -> slice:
    """The rows that wrote the tokens: each is the one before its token."""
    first = steps.made.start - 1 - (site.offset or 0)
    return slice(first, min(first + len(steps.made), site.tq))


def _measured(site: Site, steps: Steps, other: Site | None) -> OfSite:
    heads = tuple(range(site.heads)) if site.kept is None else site.kept
    about = (site.name, site.order, site.layer, site.kind, site.stack, heads)
    if site.kind == "cross" or site.stack == "encoder":
        return OfSite(*about, {}, {}, reasons={NAME: OTHER_TEXT})
    own, chance = {NAME: retrieved(site, steps)}, {NAME: by_chance(site, steps)}
    for at in refused_heads(site):
        own[NAME][at] = torch.nan
    apart = {} if other is None else {NAME: retrieved(other, steps)}
    refused = tuple(heads[at] for at in refused_heads(site))
    return OfSite(
        *about,
        listed(own, len(heads)),
        listed(chance, len(heads)),
        listed(apart, len(heads)),
        refused=refused,
    )


def _read(subject: Subject, depth: float) -> Encoded:
    """The text of a depth as the model reads it. Raises AttnscopeError where it cannot or has no room."""
    if subject.kind == "encoder-decoder":
        raise AttnscopeError("An encoder with a decoder reads the hidden sentence in another stack")
    encoded = subject.encode(subject.codec.mended(needle_text(depth)))
    if not _places(encoded):
        raise AttnscopeError("The tokens of the hidden sentence cannot be told apart")
    return encoded


def _length(subject: Subject) -> int:
    """How many tokens the answer may have: those of what is hidden, and a few more."""
    return len(subject.encode(subject.codec.mended(HIDDEN)).ids) + 2


def _places(encoded: Encoded) -> range:
    """The tokens that hold what is hidden."""
    raw = [token.raw for token in encoded.tokens]
    ends = torch.tensor([0, *(len(one) for one in raw)]).cumsum(0).tolist()
    begin = b"".join(raw).find(HIDDEN.encode())
    if begin < 0:
        return range(0)
    end = begin + len(HIDDEN.encode())
    inside = [at for at in range(len(raw)) if ends[at] < end and ends[at + 1] > begin]
    return range(inside[0], inside[-1] + 1) if inside else range(0)
