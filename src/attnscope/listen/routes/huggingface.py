"""Listens where Hugging Face models fetch their attention function, so that eager calls are seen as well as
fused ones.

`eager` is no entry of their registry: it is the module's own function, handed to `get_interface` as the
default. So for as long as a recording is open, `get_interface` on the class returns a listener around
whatever it would have returned.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from attnscope.listen.call import Call, CannotShowError
from attnscope.listen.ears import Ears
from attnscope.listen.frames import Frame, here
from attnscope.listen.quiet import as_autocast, autocast_dtype
from attnscope.listen.routes import flash, flex, ours
from attnscope.listen.routes.handed import Handed
from attnscope.listen.routes.sdpa import Heard
from attnscope.listen.shared import Shared

Attention = Callable[..., Any]

MARK = "_attnscope_listens"
NAMES = ("module", "query", "key", "value", "attention_mask")
"""The order in which attention functions take what is not given by name."""


def _patch(undo: ExitStack) -> bool:
    """transformers is only looked at where it is in use already. An older one has no such class: its models
    call F.scaled_dot_product_attention themselves.
    """
    interface: Any = getattr(sys.modules.get("transformers.modeling_utils"), "AttentionInterface", None)
    if interface is None:
        return False
    get_interface = interface.__dict__.get("get_interface")
    if get_interface is not None:

        @functools.wraps(get_interface)
        def listening_get(self: Any, attn_implementation: Any, default: Any) -> Any:
            return _listener(get_interface(self, attn_implementation, default), str(attn_implementation))

        undo.callback(setattr, interface, "get_interface", get_interface)
        interface.get_interface = listening_get
    _patch_items(interface, undo)
    return True


def _patch_items(interface: Any, undo: ExitStack) -> None:
    """Nine families look functions up by [...] instead."""
    get_item = interface.__getitem__

    @functools.wraps(get_item)
    def listening_item(self: Any, key: Any) -> Any:
        return _listener(get_item(self, key), str(key))

    if "__getitem__" in interface.__dict__:
        undo.callback(setattr, interface, "__getitem__", get_item)
    else:
        undo.callback(delattr, interface, "__getitem__")
    interface.__getitem__ = listening_item


registry = Shared(_patch)


def _listener(inner: Attention, implementation: str) -> Attention:
    """The same function, which lets us listen. It changes nothing, and without a frame of ours it does
    nothing.
    """
    if getattr(inner, MARK, False) or not callable(inner):
        return inner

    @functools.wraps(inner)
    def listening(*args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling() or (frame := here.top) is None:
            return inner(*args, **kwargs)
        with _ears_open(implementation != flex.NAME) as heard:
            result = frame.session.handed_on(frame, inner(*args, **kwargs))
        given = _named(inner, args, kwargs)
        module = given.get("module", frame.module)
        handed = Handed(implementation, module, given, result, heard, _cast_of(args, kwargs))
        frame.session.take(frame, lambda: _call(frame, handed))
        return result

    setattr(listening, MARK, True)
    return listening


@contextmanager
def _ears_open(wanted: bool) -> Iterator[list[Heard | ours.Asked]]:
    """What the fused kernel is called with meanwhile. Compiled kernels are left alone: inside, nothing is
    heard.
    """
    outer, here.inside = here.inside, []
    change = wanted != (here.mode is not None)
    try:
        if change:
            here.push_mode(Ears()) if wanted else here.drop_mode()
        yield here.inside
    finally:
        here.inside = outer
        if change:
            here.drop_mode() if wanted else here.push_mode(Ears())


def _call(frame: Frame, handed: Handed) -> Call:
    implementation, heard = handed.implementation, handed.heard
    if len(heard) == 1:
        one = heard[0]
        return _scored(handed, one, frame) if isinstance(one, ours.Asked) else _fused(handed, one)
    if heard:
        raise CannotShowError(f"it takes {len(heard)} steps of attention in one call")
    if implementation == flex.NAME:
        return flex.call(handed, frame)
    if flash.is_flash(implementation):
        return flash.call(handed)
    if implementation == "eager" or handed.grid is not None:
        return _eager(handed)
    raise CannotShowError(
        f'its "{implementation}" attention is not one that can be read yet; '
        'try attn_implementation="sdpa" or "eager" when loading the model'
    )


def _scored(handed: Handed, asked: ours.Asked, frame: Frame) -> Call:
    """A call through attention(), as that was handed it."""
    out = handed.out(asked.q, asked.v)
    return replace(
        ours.call_of(frame, replace(asked, out=out), f"huggingface/{ours.NAME}"), module=handed.module
    )


def _fused(handed: Handed, heard: Heard) -> Call:
    """A call through F.scaled_dot_product_attention: mask, scale and causality as the kernel got them."""
    q, k, v = (as_autocast(x, heard.autocast) for x in handed.tensors)
    b, h, tq, _ = q.shape
    tk = heard.arguments["key"].shape[2]  # a static cache is cut to what there is
    mask, kernel_q = heard.mask, heard.arguments["query"]
    if kernel_q.shape[1:3] != (h, tq):
        mask = _unpacked(mask, kernel_q, h, tq)
    if mask is not None and mask.is_floating_point():
        mask = as_autocast(mask, heard.autocast)
    b = max(b, k.shape[0])
    q, k, v = (x.expand(b, -1, -1, -1) for x in (q, k[:, :, :tk], v[:, :, :tk]))
    return Call(
        handed.module, "huggingface/sdpa", q, k, v, handed.out(q, v), heard.scale,
        mask=mask, causal=heard.causal, dropout=heard.dropout, autocast=heard.autocast,
    )  # fmt: skip


def _unpacked(mask: Tensor | None, kernel_q: Tensor, heads: int, tq: int) -> Tensor | None:
    """The mask of a single decoded row, whose heads were packed into the query axis: (b, hk, group, tk) to
    (b, h, 1, tk).
    """
    if tq != 1 or kernel_q.shape[1] * kernel_q.shape[2] != heads:
        raise CannotShowError(
            f"its kernel got queries {tuple(kernel_q.shape)} for {heads} heads and {tq} rows"
        )
    if mask is None or mask.dim() < 4 or mask.shape[1:3] == (1, 1):
        return mask
    group = kernel_q.shape[2]
    return mask.expand(-1, kernel_q.shape[1], group, -1).reshape(mask.shape[0], heads, 1, mask.shape[3])


def _eager(handed: Handed) -> Call:
    """A call in which the model went through its own grid, step by step."""
    q, k, v = (as_autocast(x, handed.cast) for x in handed.tensors)
    grid, given = handed.grid, handed.given
    if grid is not None and grid.shape != (*q.shape[:3], k.shape[2]):
        raise CannotShowError(
            f"its weights are {tuple(grid.shape)} for queries {tuple(q.shape)} and keys {tuple(k.shape)}"
        )
    return Call(
        handed.module, "huggingface/eager", q, k, v, handed.out(q, v), handed.scale,
        mask=_as_used(handed.mask, grid), added=given.get("position_bias"),
        softcap=given.get("softcap"), sinks=handed.sinks, dropout=handed.dropout, grid=grid,
        autocast=handed.cast,
    )  # fmt: skip


def _as_used(mask: Tensor | None, grid: Tensor | None) -> Tensor | None:
    """A mask of booleans as the eager function used it: most families add it, as 1 and 0, which hides
    nothing.
    """
    if mask is None or grid is None or mask.dtype != torch.bool:
        return mask
    hidden = ~mask[..., : grid.shape[-1]] & mask.any(dim=-1, keepdim=True)
    return mask.to(grid.dtype) if bool((grid.masked_fill(~hidden, 0) != 0).any()) else mask


def _cast_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.dtype | None:
    first = next((x for x in (*args, *kwargs.values()) if isinstance(x, Tensor)), None)
    return None if first is None else autocast_dtype(first.device)


def _named(inner: Attention, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments by name, those gathered by *args and **kwargs among them."""
    try:
        signature = inspect.signature(inner)
        bound = signature.bind_partial(*args, **kwargs).arguments
        kinds = {name: one.kind for name, one in signature.parameters.items()}
    except (TypeError, ValueError):
        bound, kinds = dict(kwargs), {}
    if any(kinds.get(name) == inspect.Parameter.VAR_POSITIONAL for name in bound) or not kinds:
        bound = dict(zip(NAMES, args, strict=False)) | kwargs
    named: dict[str, Any] = dict(zip(NAMES, args, strict=False))  # a function may call them otherwise
    for name, value in bound.items():
        named |= value if kinds.get(name) == inspect.Parameter.VAR_KEYWORD else {name: value}
    return named
