"""How far an answer moved: the distributions after each position held against each other, and states too.

Softmax, logarithms and sums are in float64, over blocks of positions: nothing positions x vocabulary is made
beside the two answers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

ROWS = 2**22
"""Logits that are looked at together: 32 MB in float64."""

KEPT = 50
"""The likeliest tokens of which both probabilities are kept."""


@dataclass(frozen=True, eq=False)
class Likeliest:
    """The likeliest tokens, likeliest first, with their probability before and after: (b t k) each."""

    ids: Tensor = field(repr=False)
    before: Tensor = field(repr=False)
    after: Tensor = field(repr=False)


@dataclass(frozen=True, eq=False)
class Moved:
    """How far the distribution after each position moved, (b t) each, in float64.

    kl: of the one before from the one after, sum p log(p / q), in nats.   variation: total variation, half
    the sum of all differences, from 0 to 1.   realised: change of the log-probability of the token that
    stands next in the text, in nats, NaN where none does; None where the answer is about no next token.
    before, after: the likeliest tokens of each.
    """

    kl: Tensor = field(repr=False)
    variation: Tensor = field(repr=False)
    realised: Tensor | None = field(repr=False)
    before: Likeliest = field(repr=False)
    after: Likeliest = field(repr=False)


def moved_by(before: Tensor, after: Tensor, following: Tensor | None = None) -> Moved:
    """How far logits (b t n) moved. following: the id that stands next, (b t), -1 where none does."""
    b, t, n = before.shape
    step = max(1, ROWS // max(1, b * n))
    parts = [
        _block(before[:, i : i + step], after[:, i : i + step],
               None if following is None else following[:, i : i + step])
        for i in range(0, max(t, 1), step)
    ]  # fmt: skip

    def joined(*path: str) -> Tensor:
        found = []
        for part in parts:
            value = part
            for name in path:
                value = getattr(value, name)
            found.append(value)
        return torch.cat(found, dim=1)  # type: ignore[arg-type]

    tops = [
        Likeliest(*(joined(side, name) for name in ("ids", "before", "after")))
        for side in ("before", "after")
    ]
    realised = None if following is None else joined("realised")
    return Moved(joined("kl"), joined("variation"), realised, *tops)


def _block(before: Tensor, after: Tensor, following: Tensor | None) -> Moved:
    logs = [x.double().log_softmax(dim=-1) for x in (before, after)]
    p, q = (x.exp() for x in logs)
    apart = torch.where(p > 0, p * (logs[0] - logs[1]), 0.0)
    realised = None
    if following is not None:
        at = following.clamp(min=0)[..., None]
        change = (logs[1].gather(-1, at) - logs[0].gather(-1, at))[..., 0]
        realised = change.masked_fill(following < 0, torch.nan).cpu()
    kept = min(KEPT, p.shape[-1])
    tops = [_likeliest(of.topk(kept, dim=-1).indices, p, q) for of in (p, q)]
    kl = apart.sum(dim=-1).clamp(min=0.0)  # what is below 0 is rounding
    return Moved(kl.cpu(), ((p - q).abs().sum(dim=-1) / 2).cpu(), realised, *tops)


def _likeliest(ids: Tensor, p: Tensor, q: Tensor) -> Likeliest:
    return Likeliest(ids.cpu(), p.gather(-1, ids).cpu(), q.gather(-1, ids).cpu())


@dataclass(frozen=True, eq=False)
class Shifted:
    """How far hidden states moved, (b t) in float64.   length: of the difference.   share: of the length of
    the state before, NaN where that is 0.
    """

    length: Tensor = field(repr=False)
    share: Tensor = field(repr=False)


def shifted_by(before: Tensor, after: Tensor) -> Shifted:
    """How far states (b t n) moved."""
    wide = before.double()
    length = (after.double() - wide).norm(dim=-1)
    return Shifted(length.cpu(), (length / wide.norm(dim=-1)).cpu())
