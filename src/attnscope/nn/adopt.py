"""The weights of a torch.nn.MultiheadAttention, under the names that MultiHeadAttention uses."""

from __future__ import annotations

from typing import TypedDict

import torch
from torch import Tensor, nn

from attnscope.errors import ShapeError


class Sizes(TypedDict):
    """What MultiHeadAttention must be built with to hold the weights."""

    d_key: int
    d_value: int
    bias: bool


def adopted(module: nn.MultiheadAttention) -> tuple[Sizes, dict[str, Tensor]]:
    """The sizes and the state dict of our module that computes what `module` computes in eval mode.

    Raises ShapeError for add_bias_kv and add_zero_attn.
    """
    if module.bias_k is not None or module.add_zero_attn:
        raise ShapeError(
            "An nn.MultiheadAttention with add_bias_kv or add_zero_attn",
            wanted="One without: they add a key that belongs to no token",
        )
    d = module.embed_dim
    if module.in_proj_weight is not None:
        parts = torch.split(module.in_proj_weight.detach(), d)
    else:
        parts = tuple(
            weight.detach()
            for weight in (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)
            if isinstance(weight, Tensor)
        )
    names = ("q_proj", "k_proj", "v_proj")
    weights = {f"{name}.weight": part.clone() for name, part in zip(names, parts, strict=True)}
    weights["out_proj.weight"] = module.out_proj.weight.detach().clone()
    with_bias = module.in_proj_bias is not None
    if with_bias:
        biases = torch.split(module.in_proj_bias.detach(), d)
        weights |= {f"{name}.bias": part.clone() for name, part in zip(names, biases, strict=True)}
        out_bias = module.out_proj.bias
        weights["out_proj.bias"] = torch.zeros(d) if out_bias is None else out_bias.detach().clone()
    return Sizes(d_key=module.kdim, d_value=module.vdim, bias=with_bias), weights
