"""Attention without its masks: a mode that leaves them out of the calls that take them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from attnscope.core.attention import attention
from attnscope.core.places import Full
from attnscope.core.scoring import as_scoring

_HIDES = -1e4  # a fill at or below this is a mask


class Lifted(TorchFunctionMode):
    """While it is entered, attention masks are left out; `calls` counts how many were."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def __torch_function__(
        self, func: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Call `func` without its mask."""
        kwargs = dict(kwargs or {})
        if func is F.scaled_dot_product_attention:
            args, kwargs = self._plain_attention(args, kwargs)
        elif func is attention:
            args, kwargs = self._plain_scoring(args, kwargs)
        elif func is F.multi_head_attention_forward:
            masked = [name for name in ("attn_mask", "key_padding_mask") if kwargs.get(name) is not None]
            self.calls += bool(masked or kwargs.get("is_causal"))
            kwargs |= dict.fromkeys(masked) | {"is_causal": False}
        elif func in (Tensor.masked_fill, Tensor.masked_fill_, torch.masked_fill) and _hides(args, kwargs):
            self.calls += 1
            return args[0]
        return func(*args, **kwargs)

    def _plain_attention(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
        named = dict(zip(names, args, strict=False)) | kwargs
        self.calls += named.get("attn_mask") is not None or bool(named.get("is_causal"))
        return (), named | {"attn_mask": None, "is_causal": False}

    def _plain_scoring(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        named = dict(zip(("q", "k", "v", "scoring"), args, strict=False)) | kwargs
        scoring = as_scoring(named.get("scoring"))
        self.calls += scoring.mask is not None and not isinstance(scoring.mask, Full)
        return (), named | {"scoring": replace(scoring, mask=None)}


def _hides(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    value = kwargs.get("value", args[2] if len(args) > 2 else 0.0)
    return float(value) <= _HIDES
