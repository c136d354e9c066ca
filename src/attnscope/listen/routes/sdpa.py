"""Hears every call of F.scaled_dot_product_attention, whoever makes it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from attnscope.listen.call import NAMED, Call, CannotShowError, Place
from attnscope.listen.ears import taps
from attnscope.listen.frames import Frame, here
from attnscope.listen.quiet import as_autocast, autocast_dtype
from attnscope.listen.routes.opening import opened

NAMES = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa")


@dataclass(frozen=True, eq=False)
class Heard:
    """One call of F.scaled_dot_product_attention: its arguments by name, what it returned, and autocast's
    dtype.
    """

    arguments: dict[str, Any] = field(repr=False)
    out: Tensor = field(repr=False)
    autocast: torch.dtype | None

    def tensor(self, name: str) -> Tensor:
        """query, key or value as the kernel got it. Raises CannotShowError for what is no plain tensor."""
        return as_autocast(plain_tensor(name, self.arguments[name]), self.autocast)

    @property
    def mask(self) -> Tensor | None:
        """attn_mask as handed over."""
        mask: Tensor | None = self.arguments.get("attn_mask")
        return mask

    @property
    def causal(self) -> bool:
        """is_causal: top-left, row i sees keys 0 .. i."""
        return bool(self.arguments.get("is_causal", False))

    @property
    def dropout(self) -> float:
        """dropout_p, which the function applies in training and evaluation alike."""
        return float(self.arguments.get("dropout_p", 0.0))

    @property
    def scale(self) -> float:
        """The scale, 1 / sqrt(d) where none was given."""
        scale = self.arguments.get("scale")
        width = max(int(self.arguments["query"].shape[-1]), 1)
        return float(width**-0.5 if scale is None else scale)


@taps(F.scaled_dot_product_attention)
def tap(inner: Callable[..., Tensor], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Calls the function, and gives the call to whoever listens: a route that is inside one of its own calls
    already, else this one.
    """
    out = inner(*args, **kwargs)
    frame = here.top
    if frame is None:
        return out
    arguments = dict(zip(NAMES, args, strict=False)) | kwargs
    cast = autocast_dtype(arguments["query"].device)
    if here.inside is not None:
        here.inside.append(Heard(arguments, out, cast))
        return out
    handed_on: Tensor = frame.session.handed_on(frame, out)
    heard = Heard(arguments, handed_on, cast)
    frame.session.take(frame, lambda: call_of(frame, heard))
    return handed_on


def plain_tensor(name: str, tensor: Tensor) -> Tensor:
    """The tensor itself. Raises CannotShowError for nested ones and for other classes than torch's own."""
    if type(tensor) not in (Tensor, torch.nn.Parameter) or tensor.is_nested:
        kind = "nested tensor" if type(tensor) is Tensor else type(tensor).__name__
        raise CannotShowError(f"its {name} is a {kind}, not a plain tensor")
    return tensor


def call_of(frame: Frame, heard: Heard, route: str = "sdpa", place: Place = NAMED) -> Call:
    """The call that a running module made. Raises CannotShowError where its tensors do not fit each other,
    or where it cannot be told which of their axes are texts and which heads.
    """
    q, k, v = (heard.tensor(name) for name in NAMES[:3])
    mask, out = heard.mask, heard.out
    if mask is not None and mask.is_floating_point():
        mask = as_autocast(mask, heard.autocast)
    (q, k, v), out, mask = opened(frame, (q, k, v), out, mask)
    q, k, v = spread(q, k, v)
    if tuple(out.shape) != (*q.shape[:3], v.shape[-1]):
        raise CannotShowError(f"its output {tuple(out.shape)} does not fit its queries {tuple(q.shape)}")
    return Call(
        frame.module, route, q, k, v, out, heard.scale, mask=mask, causal=heard.causal,
        dropout=heard.dropout, autocast=heard.autocast, place=place,
    )  # fmt: skip


def spread(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """q, k, v with batches and heads broadcast as the kernel does it; one key head for all stays one.

    Where keys and values have other numbers of heads, each is repeated as enable_gqa does it. Raises
    CannotShowError where they do not fit.
    """
    batch = max(x.shape[0] for x in (q, k, v))
    key_heads = math.lcm(k.shape[1], v.shape[1])
    heads = max(q.shape[1], key_heads)
    if not all(x.shape[0] in (1, batch) for x in (q, k, v)) or heads % max(key_heads, 1) != 0:
        raise CannotShowError(
            f"its tensors {tuple(q.shape)}, {tuple(k.shape)}, {tuple(v.shape)} do not fit each other"
        )
    q = q.expand(batch, heads if q.shape[1] == 1 else -1, -1, -1)
    return q, _repeated(k, batch, key_heads), _repeated(v, batch, key_heads)


def _repeated(x: Tensor, batch: int, heads: int) -> Tensor:
    """Keys or values with as many heads, each beside its own; one for all is not copied."""
    if 1 < x.shape[1] < heads:
        x = x.repeat_interleave(heads // x.shape[1], dim=1)
    return x.expand(batch, heads, -1, -1)
