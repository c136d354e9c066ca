"""Layers of plain PyTorch, attention from flat to sharp, by the routes that torch's own code is heard on."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.attention.flex_attention import flex_attention

from attnscope.core.attention import attention
from attnscope.core.masks import causal, window
from attnscope.listen import record
from attnscope.recording.site import Site

WIDTH, HEADS = 96, 6
LENGTHS = (7, 97)
SHARP = (1.0, 3.0, 7.0)
PADDED = 3

Mixed = Callable[[Tensor, Tensor, Tensor], Tensor]
Options = Callable[[Tensor], dict[str, Tensor]]


class Packed(nn.Module):
    """Packed q, k, v of HEADS heads, and `mix`, which takes them as (b h t d)."""

    def __init__(self, mix: Mixed) -> None:
        super().__init__()
        self.in_proj, self.proj, self.mix = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH), mix

    def forward(self, x: Tensor) -> Tensor:
        """x (b t width) mixed."""
        q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in self.in_proj(x).chunk(3, -1))
        mixed: Tensor = self.proj(self.mix(q, k, v).transpose(1, 2).flatten(2))
        return mixed


class Cross(nn.Module):
    """nn.MultiheadAttention from one sequence to another, which is no fused step."""

    def __init__(self, *, weights: bool) -> None:
        super().__init__()
        self.inner, self.weights = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True), weights

    def forward(self, x: Tensor) -> Tensor:
        """x (b t width) mixed of its other half."""
        mixed: Tensor = self.inner(x, x.flip(0), x.flip(0), need_weights=self.weights)[0]
        return mixed


def _written_out(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = q @ k.mT * q.shape[-1] ** -0.5
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1) @ v


def _fused(masks: str) -> Options:
    """The masks of a call of nn.TransformerEncoder, by the names of `masks`."""

    def options(x: Tensor) -> dict[str, Tensor]:
        length = x.shape[1]
        padded = torch.arange(length) >= torch.tensor([[length], [length - PADDED]])
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        all_of_them = {"src_key_padding_mask": padded, "mask": later}
        return {name: mask for name, mask in all_of_them.items() if name in masks.split()}

    return options


def _encoder() -> nn.Module:
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 64, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


LAYERS: dict[str, tuple[Callable[[], nn.Module], Options]] = {
    "fused": (_encoder, _fused("")),
    "fused, padding": (_encoder, _fused("src_key_padding_mask")),
    "fused, causal": (_encoder, _fused("mask")),
    "fused, causal and padding": (_encoder, _fused("mask src_key_padding_mask")),
    "its own grid": (lambda: Cross(weights=True), _fused("")),
    "its sdpa": (lambda: Cross(weights=False), _fused("")),
    "softmax written out": (lambda: Packed(_written_out), _fused("")),
    "attention(), causal": (lambda: Packed(partial(attention, scoring=causal())), _fused("")),
    "attention(), window": (lambda: Packed(partial(attention, scoring=window(20))), _fused("")),
    "flex": (lambda: Packed(flex_attention), _fused("")),
}
"""By name: what builds the model, and what a call of it is given beside x."""


def layer_sites(seed: int, dtype: torch.dtype) -> Iterator[Site]:
    """The sites of every layer, by length and sharpness."""
    with torch.compiler.set_stance("force_eager"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # flex says that it is slow uncompiled, the encoder that masks differ
        for build, options in LAYERS.values():
            for length in LENGTHS:
                for factor in SHARP:
                    yield from _sites(_sharp(build, factor, seed).to(dtype), options, length, seed, dtype)


def _sharp(build: Callable[[], nn.Module], factor: float, seed: int) -> nn.Module:
    torch.manual_seed(seed)
    model = build().eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "in_proj" in name and weight.dim() == 2:
                weight[: 2 * WIDTH].mul_(factor)
    return model


def _sites(model: nn.Module, options: Options, length: int, seed: int, dtype: torch.dtype) -> list[Site]:
    own = torch.Generator().manual_seed(seed)
    x = torch.randn(2, length, WIDTH, generator=own).to(dtype)
    with torch.no_grad(), record(model, keep="summary") as recording:
        model(x, **options(x))
    return recording.sites
