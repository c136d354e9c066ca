"""Every score of one text of one call, as numbers: what the registry defines, computed."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from attnscope.core.distance import limits
from attnscope.errors import NotKept
from attnscope.measure.attention import Attention, Uniform, attention_of
from attnscope.measure.cells import Marked, after_copies, stripe
from attnscope.measure.scores import NEAR, SCORES, SINK_ROWS, Score
from attnscope.measure.texts import Text
from attnscope.recording import Site

Heads = Float[Tensor, " h"]
"""A number of each head, in float64; NaN where it is undefined."""

OTHER_TEXT = "rows and keys are of two texts"
NO_CELLS = "q and k are not at hand, so single weights cannot be computed"
NO_TOKENS = "which tokens the text has is not known"
NO_COPY = "no token comes twice"
NO_ROWS = "the text is too short"
NOT_SEEN = "no query sees such a key"
UNDEFINED = "0 divided by 0: no weight lies past the first token"
NO_SINK = "the model has no learned sink"
REFUSED = "the certificate of this head was refused"


def scores_of_text(
    site: Site, text: Text, *, batch: int = 0, uniform: Uniform | None = None
) -> tuple[dict[str, Heads], dict[str, Heads], dict[str, str]]:
    """Each score that this kind of text is for: its value of every head, that of the uniform head, and why
    there is none where there is none.

    Retrieval is no score of a text alone: see measure.needle. Raises NotKept where the rows of one text of a
    padded batch need q and k, and these were not kept.
    """
    own = attention_of(site, batch=batch)
    flat = (uniform or Uniform()).of(site, batch=batch)
    reasons = _impossible(site, text, own)
    asked = [score for score in SCORES if score.text == text.kind and score.name not in reasons]
    marked = marks_of(asked, text, own)
    values = {score.name: value_of(score, own, text, marked) for score in asked if score.name != "retrieval"}
    level = {name: value_of(score, flat, text, marked) for score in asked if (name := score.name) in values}
    for score in asked:
        reasons |= _undefined(score, own, marked, values, level)
    for name in reasons:
        values.pop(name, None), level.pop(name, None)
    return values, level, reasons


def marks_of(asked: list[Score], text: Text, own: Attention) -> dict[str, Marked]:
    """The cells of each score that adds up cells; scores of the same cells share them."""
    rows, offset, n = own.rows, own.offset, text.period or 0
    marked = {}
    for score in asked:
        if score.name == "previous_token":
            marked[score.name] = stripe(rows, offset, back=1, first=1)
        elif score.name == "induction_stripe":
            marked[score.name] = stripe(rows, offset, back=n - 1, first=n)
        elif score.name == "duplicate_token":
            marked[score.name] = stripe(rows, offset, back=n, first=n)
        elif score.name in ("induction_mass", "induction_mul", "induction_mul_rest", "prefix_matching"):
            known = next((one for name, one in marked.items() if score_of_copies(name)), None)
            marked[score.name] = known or after_copies(torch.tensor(text.ids), rows, offset)
    return marked


def score_of_copies(name: str) -> bool:
    """Whether a score adds up the cells after earlier copies."""
    return name in ("induction_mass", "induction_mul", "induction_mul_rest", "prefix_matching")


def value_of(score: Score, own: Attention, text: Text, marked: dict[str, Marked]) -> Heads:
    """One score of every head of a call, (h) float64."""
    name, summary, at = score.name, own.summary, own.batch
    if name == "previous_token" and own.bound is None:  # of rows that look back, this is all at distance 1
        return _by_distance(own)[:, 1] / (own.columns - 1)
    if name in marked:
        cells = marked[name]
        if own.bound is None:
            raise NotKept(NO_CELLS)
        mass = cells.mass(own.bound, own.normaliser)[at]
        if name.startswith("induction_mul"):
            rest = summary.first.double().sum(dim=-1)[0] if name == "induction_mul_rest" else 0.0
            return mass / (_on_keys(own) - rest)
        return mass / (cells.pairs if name == "prefix_matching" else cells.queries)
    if name == "sink":
        rows = SINK_ROWS if text.kind == "plain" else own.columns
        return summary.first[0, :, :rows].double().mean(dim=-1)
    if name == "learned_sink":
        return summary.sink[0].double().mean(dim=-1)
    if name == "entropy":
        return summary.entropy[0].double().mean(dim=-1)
    if name == "distance":
        share = 1 - summary.sink[0].double()  # of a row, on keys; 0 where it sees none
        far = summary.distance[0].double()
        share = share.masked_fill(far.isnan(), 0.0)
        return (far.nan_to_num() * share).sum(dim=-1) / share.sum(dim=-1)
    near = _by_distance(own)
    bins = limits(near.shape[-1])[:, 1] <= (NEAR if name == "local" else 0)
    return near[:, bins].sum(dim=-1) / own.columns


def _on_keys(own: Attention) -> Heads:
    """All weight on keys, summed over rows."""
    return own.summary.received[0].double().sum(dim=-1)


def _by_distance(own: Attention) -> Tensor:
    found = own.summary.mass_by_distance
    if found is None:
        raise NotKept("This recording was made before sums by distance were kept")
    return found[0].double()


def _impossible(site: Site, text: Text, own: Attention) -> dict[str, str]:
    """The scores that this site cannot have on this text, and why."""
    reasons = {}
    apart = site.kind == "cross" or site.offset is None
    for score in SCORES:
        if score.text != text.kind:
            continue
        if score.places and apart:
            reasons[score.name] = OTHER_TEXT
        elif score.name == "learned_sink" and site.scoring.sinks is None:
            reasons[score.name] = NO_SINK
        elif score.cells and own.bound is None and not _from_sums(score, own):
            reasons[score.name] = NO_CELLS
        elif score.tokens and text.ids is None:
            reasons[score.name] = NO_TOKENS
        elif own.columns < 1 or (score.name == "previous_token" and own.columns < 2):
            reasons[score.name] = NO_ROWS
        elif score.name in ("self_token", "local") and own.summary.mass_by_distance is None:
            reasons[score.name] = "the recording was made before sums by distance were kept"
    return reasons


def _from_sums(score: Score, own: Attention) -> bool:
    """Whether a score of single cells is a sum by distance here."""
    return score.name == "previous_token" and own.looks_back and own.summary.mass_by_distance is not None


def _undefined(
    score: Score,
    own: Attention,
    marked: dict[str, Marked],
    values: dict[str, Heads],
    level: dict[str, Heads],
) -> dict[str, str]:
    """Why a score that was computed means nothing, as {name: reason}; empty where it means something."""
    name = score.name
    if name not in values:
        return {}
    if name in marked and not marked[name].pairs:
        return {name: NO_COPY if score.tokens else NO_ROWS}
    if name in marked and bool((level[name] == 0).all()):
        return {name: NOT_SEEN}
    if bool(values[name].isnan().all()):
        return {name: UNDEFINED if name == "induction_mul_rest" else "no row sees a key"}
    return {}
