"""Heads that nobody trained: q and k chosen by hand, so that every weight can be told before it is computed.

A key that matches is worth a stated score after scaling, every other key 0. With m matches among n visible
keys, a match then gets exp(worth) / (m * exp(worth) + n - m), and any other key 1 / (m * exp(worth) + n - m).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from attnscope.errors import ScoringError, ShapeError
from attnscope.shapes import Ids, Key, Query


def previous_position(t: int, *, worth: float = 5.0, dtype: torch.dtype = torch.float32) -> tuple[Query, Key]:
    """q and k, (1 1 t t) each, of a head that matches the position before; position 0 matches none.

    Key j points along axis j, and query i along axis i - 1. Raises ShapeError or ScoringError.

    >>> q, k = previous_position(4, worth=1.0)
    >>> (q @ k.mT / 4**0.5)[0, 0]
    tensor([[0., 0., 0., 0.],
            [1., 0., 0., 0.],
            [0., 1., 0., 0.],
            [0., 0., 1., 0.]])
    """
    if t < 1:
        raise ShapeError(f"previous_position({t})", wanted="A length of 1 or more")
    own = torch.eye(t, dtype=dtype)
    return _sized(own.roll(1, dims=0).index_fill(0, torch.tensor([0]), 0.0), own, worth)


def same_token(ids: Ids, *, worth: float = 5.0, dtype: torch.dtype = torch.float32) -> tuple[Query, Key]:
    """q and k, (b 1 t t) each, of a head that matches every copy of the same token, its own place included.

    Under a causal mask that is the earlier copies and itself. Query and key both point along the token's
    axis, one for each distinct token of the row of ids (b t). Raises ShapeError or ScoringError.
    """
    if ids.dim() != 2 or not ids.shape[1]:
        raise ShapeError(f"ids is {tuple(ids.shape)}", wanted="(batch, tokens), with one token or more")
    axes = [torch.unique(row, return_inverse=True)[1] for row in ids]
    own = one_hot(torch.stack(axes), ids.shape[1]).to(dtype)
    return _sized(own, own, worth)


def _sized(q: Tensor, k: Tensor, worth: float) -> tuple[Query, Key]:
    """q and k of length 0 or 1, (b t d) or (t d), as one head whose matches score `worth` once scaled."""
    if not math.isfinite(worth):
        raise ScoringError(f"worth={worth}", wanted="A finite score for a key that matches, as 5.0")
    d = q.shape[-1]
    return (q * (worth * math.sqrt(d))).reshape(-1, 1, d, d), k.reshape(-1, 1, d, d)
