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
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from attnscope.listen.call import Call, CannotShowError
from attnscope.listen.ears import Ears
from attnscope.listen.frames import Frame, here
from attnscope.listen.quiet import as_autocast, autocast_dtype
from attnscope.listen.routes.sdpa import Heard, plain_tensor

Attention = Callable[..., Any]

_lock = threading.Lock()
_users = 0
_restore: list[Callable[[], None]] = []
MARK = "_attnscope_listens"


def acquire(model: nn.Module) -> None:
    """One more recording is open. transformers is only looked at where it is in use already."""
    global _users
    with _lock:
        _users += 1
        if not _restore and "transformers" in sys.modules:
            _patch()


def release() -> None:
    """One recording fewer; with the last, everything is as it was."""
    global _users
    with _lock:
        _users -= 1
        if _users == 0:
            while _restore:
                _restore.pop()()


def _patch() -> None:
    try:
        from transformers.modeling_utils import AttentionInterface
    except ImportError:  # an older transformers, whose models call F.scaled_dot_product_attention themselves
        return
    get_interface = AttentionInterface.__dict__.get("get_interface")
    if get_interface is not None:

        @functools.wraps(get_interface)
        def listening_get(self: Any, attn_implementation: Any, default: Any) -> Any:
            return _listener(get_interface(self, attn_implementation, default), str(attn_implementation))

        AttentionInterface.get_interface = listening_get
        _restore.append(lambda: setattr(AttentionInterface, "get_interface", get_interface))
    _patch_items(AttentionInterface)


def _patch_items(interface: Any) -> None:
    """Nine families look functions up by [...] instead."""
    own = "__getitem__" in interface.__dict__
    get_item = interface.__getitem__

    @functools.wraps(get_item)
    def listening_item(self: Any, key: Any) -> Any:
        return _listener(get_item(self, key), str(key))

    def undo() -> None:
        if own:
            interface.__getitem__ = get_item
        else:
            del interface.__getitem__

    interface.__getitem__ = listening_item
    _restore.append(undo)


def _listener(inner: Attention, implementation: str) -> Attention:
    """The same function, which lets us listen. It changes nothing, and without a frame of ours it does
    nothing.
    """
    if getattr(inner, MARK, False) or not callable(inner):
        return inner

    @functools.wraps(inner)
    def listening(*args: Any, **kwargs: Any) -> Any:
        frame = here.top
        if frame is None or torch.compiler.is_compiling():
            return inner(*args, **kwargs)
        outer, here.inside = here.inside, []
        mode = None if here.mode is not None else Ears()
        try:
            if mode is not None:
                here.push_mode(mode)
            result = inner(*args, **kwargs)
            heard = here.inside
        finally:
            here.inside = outer
            if mode is not None:
                here.drop_mode()
        made = _Made(implementation, _named(inner, args, kwargs), result, heard or [], _cast_of(args, kwargs))
        frame.session.take(frame, lambda: _call(frame, made))
        return result

    setattr(listening, MARK, True)
    return listening


@dataclass(frozen=True, eq=False)
class _Made:
    """One call of an attention function: its name, its arguments by name, its result, what was heard
    inside, autocast's dtype.
    """

    implementation: str
    given: dict[str, Any]
    result: Any
    heard: list[Heard]
    cast: torch.dtype | None


def _call(frame: Frame, made: _Made) -> Call:
    given, heard, implementation = made.given, made.heard, made.implementation
    module = given.get("module", frame.module)
    tensors = [given.get(name) for name in ("query", "key", "value")]
    if any(not isinstance(x, Tensor) or x.dim() != 4 for x in tensors):
        raise CannotShowError(
            f'its "{implementation}" attention hands over no (batch, heads, positions, width)'
        )
    for name in ("query", "key", "value"):
        plain_tensor(name, given[name])
    several = isinstance(made.result, tuple)
    out = made.result[0] if several else made.result
    grid = made.result[1] if several and len(made.result) > 1 and isinstance(made.result[1], Tensor) else None
    if len(heard) == 1:
        return _fused(module, given, out, heard[0])
    if not heard and (implementation == "eager" or grid is not None):
        return _eager(module, given, out, grid, made.cast)
    if heard:
        raise CannotShowError(f"it takes {len(heard)} steps of attention in one call")
    raise CannotShowError(
        f'its "{implementation}" attention is not one that can be read yet; '
        'try attn_implementation="sdpa" or "eager" when loading the model'
    )


def _fused(module: nn.Module, given: dict[str, Any], out: Tensor, heard: Heard) -> Call:
    """A call through F.scaled_dot_product_attention: mask, scale and causality as the kernel got them."""
    q, k, v = (as_autocast(given[name], heard.autocast) for name in ("query", "key", "value"))
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
        module, "huggingface/sdpa", q, k, v, _turned(out, q, v), heard.scale,
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


def _eager(
    module: nn.Module, given: dict[str, Any], out: Tensor, grid: Tensor | None, cast: torch.dtype | None
) -> Call:
    """A call in which the model went through its own grid, step by step."""
    q, k, v = given["query"], given["key"], given["value"]
    q, k, v = (as_autocast(x, cast) for x in (q, k, v))
    scale = given.get("scaling")
    dropout = float(given.get("dropout") or 0.0) if module.training else 0.0
    if grid is not None and grid.shape != (*q.shape[:3], k.shape[2]):
        raise CannotShowError(
            f"its weights are {tuple(grid.shape)} for queries {tuple(q.shape)} and keys {tuple(k.shape)}"
        )
    sinks = given.get("s_aux")
    return Call(
        module, "huggingface/eager", q, k, v, _turned(out, q, v),
        float(q.shape[-1] ** -0.5 if scale is None else scale),
        mask=given.get("attention_mask"), added=given.get("position_bias"), softcap=given.get("softcap"),
        sinks=None if sinks is None else sinks.reshape(-1), dropout=dropout, grid=grid, autocast=cast,
    )  # fmt: skip


def _cast_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.dtype | None:
    first = next((x for x in (*args, *kwargs.values()) if isinstance(x, Tensor)), None)
    return None if first is None else autocast_dtype(first.device)


def _turned(out: Any, q: Tensor, v: Tensor) -> Tensor:
    """The function's (b, tq, h, dv) as (b, h, tq, dv)."""
    b, h, tq, _ = q.shape
    if not isinstance(out, Tensor) or out.shape != (b, tq, h, v.shape[-1]):
        came = tuple(out.shape) if isinstance(out, Tensor) else type(out).__name__
        raise CannotShowError(f"its output is {came}, and ({b}, {tq}, {h}, {v.shape[-1]}) was looked for")
    return out.transpose(1, 2)


def _named(inner: Attention, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments by name, those gathered by **kwargs among them."""
    try:
        bound = inspect.signature(inner).bind_partial(*args, **kwargs).arguments
    except (TypeError, ValueError):
        bound = dict(zip(("module", "query", "key", "value", "attention_mask"), args, strict=False)) | kwargs
    more = bound.pop("kwargs", {})
    return bound | (more if isinstance(more, dict) else {})
