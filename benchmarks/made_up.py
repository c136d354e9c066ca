"""Clean calls made up at random, from flat rows to rows of one key; values of a head have much in common."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attnscope.core.arithmetic import Arithmetic
from attnscope.core.attention import attention
from attnscope.core.certificate import Certificate, certify
from attnscope.core.masks import window
from attnscope.core.scoring import Scoring

SIZES = ((29, 16), (131, 64), (400, 128))  # tokens, head width
PEAKED = (0.3, 1.0, 4.0, 16.0)
WINDOW = 24


def clean_calls(seed: int, dtype: torch.dtype, route: str) -> Iterator[Certificate]:
    """The certificates of calls by PyTorch's fused kernel, by attention(), or by the steps that model files
    write.
    """
    for q, k, v in _calls(seed, dtype):
        yield certify(q, k, v, _out(route, q, k, v), _right(route, dtype), seed=seed, route=route)


def _calls(seed: int, dtype: torch.dtype) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    own = torch.Generator().manual_seed(seed)
    for tokens, width in SIZES:
        for peaked in PEAKED:
            q, k, v = (torch.randn(1, heads, tokens, width, generator=own) for heads in (6, 3, 3))
            v = v + 2 * torch.randn(1, 3, 1, width, generator=own)
            yield (q * peaked).to(dtype), k.to(dtype), v.to(dtype)


def _right(route: str, dtype: torch.dtype) -> Scoring:
    """The scoring that is true of a call: a window, with the roundings of the eager route."""
    half = dtype in (torch.bfloat16, torch.float16)
    arithmetic = Arithmetic(dtype, dtype, torch.float32, dtype) if half and route == "eager" else None
    return Scoring(window(WINDOW - 1), arithmetic=arithmetic)


def _out(route: str, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """What is made of the call: by attention(), by PyTorch's fused kernel, or by the steps as model files
    write them.
    """
    if route == "attnscope":
        return attention(q, k, v, window(WINDOW - 1))
    place = torch.arange(q.shape[2])
    behind = place[:, None] - place
    seen = (behind >= 0) & (behind < WINDOW)
    if route == "sdpa":
        return scaled_dot_product_attention(q, k, v, attn_mask=seen, enable_gqa=True)
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
    scores = ((q @ k.mT) * q.shape[-1] ** -0.5).masked_fill(~seen, torch.finfo(q.dtype).min)
    return torch.softmax(scores, dim=-1, dtype=torch.promote_types(q.dtype, torch.float32)).to(q.dtype) @ v
