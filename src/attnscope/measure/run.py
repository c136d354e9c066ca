"""One text through a model: recorded, measured, and the same once more with its tokens in another order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import torch

from attnscope.listen import record
from attnscope.measure.attention import Uniform, attention_of
from attnscope.measure.found import Numbers, OfSite, OfText, listed
from attnscope.measure.scores import SCORES
from attnscope.measure.texts import SHUFFLED_TO, Text, shuffled
from attnscope.measure.values import REFUSED, marks_of, scores_of_text, value_of
from attnscope.models import Subject
from attnscope.recording import Recording, Site


def run_text(subject: Subject, text: Text, index: int, *, seed: int) -> OfText:
    """What a text gives. The order in which its tokens are shuffled is told by the seed.

    Raises what record() raises, TextTooLong.
    """
    recorded = recorded_ids(subject, text.ids or ())
    uniform = Uniform()
    sites = [measured(site, text, uniform) for site in recorded.sites]
    part = text.beginning(SHUFFLED_TO)
    again = recorded_ids(subject, shuffled(part, seed).ids or ())
    others = {_place(site): site for site in again.sites}
    sites = [
        replace(one, shuffled=_same_cells(others[one.place], part, one)) if one.place in others else one
        for one in sites
    ]
    return OfText(
        index, text.kind, text.name, len(text.ids or ()), tuple(sites), spelled=text.spelled
    )  # fmt: skip


def recorded_ids(subject: Subject, ids: Sequence[int]) -> Recording:
    """A recording of ids as the model reads them, q and k kept."""
    encoded = subject.of_ids(list(ids))
    with torch.no_grad(), record(subject.module, keep="qk") as recording:
        subject.forward(encoded)
    return recording


def measured(site: Site, text: Text, uniform: Uniform, *, batch: int = 0) -> OfSite:
    """The scores of one site on one text of its batch."""
    values, level, reasons = scores_of_text(site, text, batch=batch, uniform=uniform)
    heads = tuple(range(site.heads)) if site.kept is None else site.kept
    refused = refused_heads(site, batch)
    own = listed(values, len(heads))
    for row in own.values():
        for at in refused:
            row[at] = math.nan
    if refused:
        reasons |= {name: REFUSED for name in own if len(refused) == len(heads)}
    return OfSite(
        site.name, site.order, site.layer, site.kind, site.stack, heads, own, listed(level, len(heads)),
        reasons=reasons, refused=tuple(heads[at] for at in refused),
    )  # fmt: skip


def refused_heads(site: Site, batch: int = 0) -> list[int]:
    """The heads of a site whose certificate was refused, by their place among the kept ones."""
    if site.certificate is None:
        return []
    return [at for at, verdict in enumerate(site.certificate.verdict[batch]) if verdict == "refused"]


def _same_cells(site: Site, text: Text, one: OfSite) -> Numbers:
    """The scores of a run on other tokens, at the cells of the text itself."""
    own = attention_of(site)
    asked = [score for score in SCORES if score.name in one.values]
    marked = marks_of(asked, text, own)
    return listed(
        {
            score.name: value_of(score, own, text, marked)
            for score in asked
            if score.name not in marked or marked[score.name].pairs
        },
        len(one.heads),
    )


def _place(site: Site) -> tuple[str, int, str, str]:
    return site.name, site.order, site.kind, site.stack
