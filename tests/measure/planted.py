"""Heads whose every weight is known: each query rests on one key, or on all alike; recorded as any model
is.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot, scaled_dot_product_attention

from attnscope import record
from attnscope.recording import Site

HARD = 200.0  # a score at which every other weight of a row is 0 in float32


class Planted(nn.Module):
    """One call of attention with given q and k, (1 h t d) each, under a causal mask."""

    def __init__(self, q: Tensor, k: Tensor) -> None:
        super().__init__()
        self.q, self.k = nn.Parameter(q), nn.Parameter(k)

    def forward(self) -> Tensor:
        return scaled_dot_product_attention(self.q, self.k, self.k, is_causal=True)


def site_of(targets: Sequence[Sequence[int] | None]) -> Site:
    """A recorded site with a head for each list of targets: head h's query i rests on key targets[h][i]; None
    is a uniform head.
    """
    t = max(len(one) for one in targets if one is not None)
    keys = torch.eye(t)
    flat = torch.zeros(t, t)
    queries = [flat if one is None else one_hot(torch.tensor(one), t) * (HARD * t**0.5) for one in targets]
    model = Planted(torch.stack(queries)[None], keys.expand(1, len(targets), t, t).clone())
    with torch.no_grad(), record(model) as recording:
        model()
    return recording.sites[0]


def last_copies(ids: Sequence[int]) -> list[int | None]:
    """The last earlier place of each token, None where there is none."""
    seen: dict[int, int] = {}
    found: list[int | None] = []
    for place, one in enumerate(ids):
        found.append(seen.get(one))
        seen[one] = place
    return found
