"""Two products that let nothing through where they should not: q @ k^T, and weights @ v.

A NaN or inf in a key or value shows in the rows that see it and reaches no other, nor any gradient of others.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from attnscope.core.arithmetic import compute_dtype
from attnscope.shapes import Block, Seen


def dot(q: Tensor, k: Tensor) -> Block:
    """q (b h r d) @ k^T (b hk c d) -> (b h r c); query head i uses key head i // (h // hk), uncopied."""
    product = grouped(q, k.transpose(-2, -1))
    if not (torch.is_grad_enabled() and (q.requires_grad or k.requires_grad)):
        return product
    if all_finite(q) and all_finite(k):
        return product
    good_q, good_k = q.isfinite(), k.isfinite()
    # 0 * NaN in the backward product would carry a hidden key into the gradient of every row.
    clean = grouped(q.where(good_q, 0.0), k.where(good_k, 0.0).transpose(-2, -1))
    key = good_k.all(dim=-1).repeat_interleave(q.shape[1] // k.shape[1], dim=1)  # (b h c)
    return clean.where(good_q.all(dim=-1)[..., None] & key[..., None, :], product.detach())


def mix(weights: Block, v: Tensor, visible: Seen) -> Tensor:
    """weights (b h r c) @ v (b hk c dv) -> (b h r dv); NaN or inf of v reaches only rows that see it."""
    if all_finite(v):
        return grouped(weights, v)
    shown = non_finite(v, visible.expand(weights.shape))
    return grouped(weights, v.where(v.isfinite(), 0.0)) + shown


def non_finite(v: Tensor, visible: Tensor) -> Tensor:
    """0 where a row sees only finite values, else the inf or NaN that it sees: (b h r dv)."""
    seen = visible.to(v.dtype)
    nan, up, down = (
        grouped(seen, kind.to(v.dtype)) > 0 for kind in (v.isnan(), v == torch.inf, v == -torch.inf)
    )
    shown = torch.zeros(up.shape, dtype=v.dtype, device=v.device)
    shown = shown.masked_fill(up, torch.inf).masked_fill(down, -torch.inf)
    return shown.masked_fill(nan | (up & down), torch.nan)


def all_finite(x: Tensor) -> bool:
    """Whether x holds no NaN and no inf; a sum in float32 or wider settles nearly every case in one pass."""
    total = x.detach().sum(dtype=compute_dtype(x.dtype))
    return bool(total.isfinite()) or bool(x.isfinite().all())


def grouped(left: Tensor, right: Tensor) -> Tensor:
    """left (b h r m) @ right (b hk m n) -> (b h r n), in their own dtype whatever autocast says."""
    b, h, r, m = left.shape
    hk, n = right.shape[1], right.shape[-1]
    with as_given(left):
        if h == hk:
            return left @ right
        return (left.reshape(b, hk, h // hk * r, m) @ right).view(b, h, r, n)


def as_given(x: Tensor) -> AbstractContextManager[object]:
    """A block in which autocast leaves the dtypes of x's device alone."""
    if torch.amp.is_autocast_available(x.device.type) and torch.is_autocast_enabled(x.device.type):
        return torch.autocast(x.device.type, enabled=False)
    return nullcontext()
