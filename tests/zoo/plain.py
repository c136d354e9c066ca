"""Models in PyTorch alone, as much code in the world has them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

WIDTH, HEADS = 48, 6


class Fused(nn.Module):
    """Packed q, k, v, and F.scaled_dot_product_attention."""

    def __init__(self) -> None:
        super().__init__()
        self.c_attn = nn.Linear(WIDTH, 3 * WIDTH)
        self.c_proj = nn.Linear(WIDTH, WIDTH)

    def heads(self, x: Tensor) -> list[Tensor]:
        """q, k, v as (b h t d)."""
        return [part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in self.c_attn(x).chunk(3, dim=-1)]

    def mixed(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """What attention gives, (b h t d)."""
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    def forward(self, x: Tensor) -> Tensor:
        """x (b t width) with what attention adds to it."""
        return x + self.c_proj(self.mixed(*self.heads(x)).transpose(1, 2).flatten(2))


class Manual(Fused):
    """Packed q, k, v, and a softmax written out."""

    def mixed(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """What attention gives, (b h t d)."""
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        return torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1) @ v


class Stack(nn.Module):
    """Two blocks, one after the other."""

    def __init__(self, block: Callable[[], nn.Module]) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(block() for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        """x (b t width) through both."""
        for block in self.blocks:
            x = block(x)
        return x


def encoder() -> nn.Module:
    """nn.TransformerEncoder of two layers, which runs as one fused operation a layer."""
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 64, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


def decoder() -> nn.Module:
    """nn.TransformerDecoder of two layers, each with attention to itself and to a memory."""
    layer = nn.TransformerDecoderLayer(WIDTH, HEADS, 64, dropout=0.0, batch_first=True)
    return nn.TransformerDecoder(layer, 2)


PLAIN: dict[str, Callable[[], nn.Module]] = {
    "F.scaled_dot_product_attention": lambda: Stack(Fused),
    "softmax written out": lambda: Stack(Manual),
    "nn.TransformerEncoder": encoder,
    "nn.TransformerDecoder": decoder,
}
