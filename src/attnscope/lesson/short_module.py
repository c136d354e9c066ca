"""Causal self-attention in plain PyTorch: what the lesson prints, and runs against attnscope's own."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class ShortAttention(nn.Module):
    """x (b t d_model) -> (b t d_model); its numbers are called as those of CausalSelfAttention."""

    # printed from here
    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.qkv = nn.Linear(d_model, 3 * d_model)  # 64 × 192 + 192
        self.out = nn.Linear(d_model, d_model)  # 64 × 64 + 64

    def forward(self, x: Tensor) -> Tensor:  # x (2, 12, 64)
        b, t, d_model = x.shape
        d_head = d_model // self.n_heads
        qkv = self.qkv(x)  # (2, 12, 192)
        split = qkv.view(b, t, 3, self.n_heads, d_head)  # (2, 12, 3, 4, 16)
        q, k, v = split.permute(2, 0, 3, 1, 4)  # (2, 4, 12, 16)
        scores = q @ k.mT / d_head**0.5  # (2, 4, 12, 12)
        later = torch.ones(t, t, dtype=torch.bool).triu(1)  # (12, 12)
        scores = scores.masked_fill(later, -torch.inf)  # (2, 4, 12, 12)
        weights = scores.softmax(dim=-1)  # (2, 4, 12, 12)
        heads = weights @ v  # (2, 4, 12, 16)
        joined = heads.transpose(1, 2).flatten(2)  # (2, 12, 64)
        out: Tensor = self.out(joined)  # (2, 12, 64)
        return out
