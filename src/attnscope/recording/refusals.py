"""What a site cannot give, and what to ask for instead: the errors, each in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnscope.errors import NotKept, Uncertified

if TYPE_CHECKING:
    from attnscope.recording.site import Site

KEEPS = {"q": 'keep="qk" or more', "k": 'keep="qk" or more', "v": 'keep="qkv" or "all"'}
"""What keeps each tensor; keep="all" keeps every other."""


def not_kept(site: Site, name: str) -> NotKept:
    """A tensor, q, k, v or out, that the site does not hold."""
    if site.heard_scores_alone:
        return NotKept(
            f"{site.name} has no {name} and no single weights: the model's own code made the grid of "
            "them, and only its summary is kept",
            wanted="summary(), normaliser, visible() or certificate",
            hint="Single weights can be shown of models that go through transformers' attention registry "
            "or call F.scaled_dot_product_attention",
        )
    return NotKept(
        f"{name} of {site.name} was not kept: the recording was made with keep={site.keep!r}",
        wanted=KEEPS.get(name, 'keep="all"'),
    )


def head_not_kept(site: Site, head: int) -> NotKept:
    """A head of the model that was left out."""
    return NotKept(
        f"Head {head} of {site.name} was not kept",
        wanted=f"One of the heads {', '.join(map(str, site.kept or ()))}",
        hint="record(..., heads=None) keeps all",
    )


def uncertified(site: Site, head: int) -> Uncertified:
    """A head whose certificate was refused."""
    return Uncertified(
        f"Head {head} of {site.name} failed its certificate: what we compute from q and k does not give "
        "what the model's own kernel returned",
        wanted="A head whose certificate passed",
        hint="allow_uncertified=True hands the numbers out all the same; they are not the model's",
    )


def not_measured(site: Site) -> NotKept:
    """Lengths of values that are not known."""
    return NotKept(
        f"{site.name} has no lengths of values: {site.lengths.why}",
        wanted="A site whose `lengths` has values",
        hint="Where v was kept, site.mixes(head, projection=W) takes the weight of the layer after the heads",
    )
