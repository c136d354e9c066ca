"""Whole grids in the shapes that other tools take, for short texts: T x T for every head."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from attnscope.errors import RecordingError, ShapeError
from attnscope.exports.table import names
from attnscope.exports.wanted import LARGEST, Place, Wanted, check_size, site_of, wanted
from attnscope.recording import Recording, Site


def dense_for_bertviz(
    recording: Recording, *, run: int = -1, batch: int = 0, most: int = LARGEST
) -> dict[str, Any]:
    """Return the arguments of bertviz' head_view() and model_view(): head_view(**dense_for_bertviz(r)).

    attention: a tuple with a grid (1 h tq tk) float32 for each layer, tokens: their texts. Of a model with an
    encoder and a decoder: encoder_attention, decoder_attention, cross_attention and the tokens of both, as
    bertviz names them. Heads that were not kept are left out. Raises TooLarge past `most` cells, ShapeError
    where queries and keys of a layer are not the same text, Uncertified for a refused head.
    """
    asked = wanted(recording, run=run, batch=batch)
    check_size(asked, largest=most)
    groups: dict[str, list[Site]] = {}
    for site in dict.fromkeys(site for site, _ in asked.heads):
        groups.setdefault("cross" if site.kind == "cross" else site.stack, []).append(site)
    for name, sites in groups.items():
        if name != "cross" and any(site.tq != site.tk for site in sites):
            site = next(site for site in sites if site.tq != site.tk)
            raise ShapeError(
                f"{site.name} has {site.tq:,} queries and {site.tk:,} keys",
                wanted="As many, which is what bertviz draws",
                hint="Record the whole text in one forward, or one generate()",
            )
    told: dict[str, Any] = {}
    for name, sites in groups.items():
        alone = len(groups) == 1 and name != "cross"
        queries, keys = names(asked, sites[0])
        told["attention" if alone else f"{name}_attention"] = tuple(
            _grids(asked, site)[None] for site in sites
        )
        if name == "cross":
            told.setdefault("decoder_tokens", queries)
            told.setdefault("encoder_tokens", keys)
        else:
            told["tokens" if alone else f"{name}_tokens"] = keys
    return told


def dense_for_circuitsvis(
    recording: Recording, site: Place = None, *, run: int = -1, batch: int = 0, most: int = LARGEST
) -> dict[str, Any]:
    """Return the arguments of circuitsvis' attention_patterns(): tokens, and attention (h t t) float32 of one
    call, by default the first of the run.

    Raises as dense_for_bertviz() does, and RecordingError for cross attention.
    """
    if not recording.runs or not recording.runs[run].sites:
        raise RecordingError("The recording holds no call of attention")
    one = site_of(recording.runs[run].sites, 0 if site is None else site)
    asked = wanted(recording, one, run=run, batch=batch)
    check_size(asked, largest=most)
    if one.kind == "cross" or one.tq != one.tk:
        raise RecordingError(
            f"{one.name} looks from {one.tq:,} queries at {one.tk:,} keys of another kind",
            wanted="Attention of a text to itself, which is what circuitsvis draws",
        )
    return {"tokens": names(asked, one)[1], "attention": _grids(asked, one)}


def _grids(asked: Wanted, site: Site) -> Tensor:
    """Return the grids of a site (h tq tk)."""
    heads = [head for one, head in asked.heads if one is site]
    return torch.stack([site.weights(head, batch=asked.batch).cpu().float() for head in heads])
