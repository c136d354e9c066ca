"""torch's own multi-head attention as one fused step: the fast path of nn.MultiheadAttention and of a whole
nn.TransformerEncoderLayer, on plain and on nested tensors.

The step keeps its queries, keys and weights to itself. So after it has run, its kernel is run once more on
the side, with a mode of ours that sees the operations it is made of; the model's own run is not touched.
What the second run gives has to be what the model got, bit for bit: then its queries, keys, weights and the
mixed values before the output projection are the model's, and the certificate is against those mixed values.
Where it is not, no head is certifiable. For the length of the second run memory is that of the step itself,
which builds its grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode

from attnscope.listen.call import Call, CannotShowError
from attnscope.listen.ears import taps
from attnscope.listen.frames import Frame, here
from attnscope.listen.projecting import Projection
from attnscope.listen.routes.multihead import place_of

aten = torch.ops.aten
LAYER = aten._transformer_encoder_layer_fwd.default
ATTENTION = aten._native_multi_head_attention.default
PROJECTED = aten._transform_bias_rescale_qkv.default
SOFTMAX: tuple[OpOverload, ...] = (
    aten._softmax.out, aten._masked_softmax.default, aten._nested_tensor_softmax_with_shape.default,
)  # fmt: skip
MIXED: tuple[OpOverload, ...] = (aten.bmm.out, aten.bmm.default)

DOUBT = "its fused step, run once more, did not give the same bits, so what it mixed is not known"


@dataclass(frozen=True, eq=False)
class _Operation:
    """One operation inside the step: its arguments, and a copy of its result, whose memory may be reused."""

    func: OpOverload
    args: tuple[Any, ...]
    out: Any


class _Spy(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Opens the fused steps into the operations of their kernels, and keeps those of attention."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen: list[_Operation] = []

    def __torch_dispatch__(
        self, func: OpOverload, types: Iterable[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in (LAYER, ATTENTION):
            with self:
                return func._op_dk(_backend(args[0]), *args, **kwargs)
        out = func(*args, **kwargs)
        if func is PROJECTED or func in SOFTMAX or (func in MIXED and len(self.seen) == 2):
            self.seen.append(_Operation(func, args, _copied(out)))
        return out


def _backend(tensor: Tensor) -> Any:
    """The dispatch key under which the kernel of this tensor's kind is kept."""
    kind = "NestedTensor" if tensor.is_nested else ""
    return torch._C._parse_dispatch_key(kind + tensor.device.type.upper())


def _copied(out: Any) -> Any:
    return tuple(x.clone() for x in out) if isinstance(out, tuple) else out.clone()


@taps(torch._native_multi_head_attention, torch._transformer_encoder_layer_fwd)
def tap(inner: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls the fused step, and gives the attention inside it to the session."""
    result = inner(*args, **kwargs)
    frame = here.top
    if frame is not None:
        func = ATTENTION if inner is torch._native_multi_head_attention else LAYER
        frame.session.take(frame, lambda: _call(frame, func, args, kwargs, result))
    return result


def _call(frame: Frame, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Call:
    again, seen = _once_more(func, args, kwargs)
    kinds = ((PROJECTED,), SOFTMAX, MIXED)
    if len(seen) != 3 or any(one.func not in kind for one, kind in zip(seen, kinds, strict=True)):
        raise CannotShowError(f"its fused step on {args[0].device.type} is made of other operations")
    projected, softmax, mixed = seen
    scaled_q, k, v = projected.out
    names = [argument.name for argument in func._schema.arguments]
    given = dict(zip(names, args, strict=False)) | kwargs
    q, scale = _unscaled(projected.args, scaled_q)
    module = _owner(frame.module, given["qkv_weight"])
    same = func is LAYER or given["query"] is given["key"]
    name = frame.session.parts.name_of(module, frame.name)
    return Call(
        module, "multihead/fused", q, k, v, mixed.out.view_as(q), scale,
        mask=_may_attend(softmax, tuple(q.shape)), grid=softmax.out, place=place_of(module, same=same),
        doubt=None if _same_bits(again, result) else DOUBT,
        projection=Projection(f"{name}.out_proj".lstrip("."), given["proj_weight"].detach()),
    )  # fmt: skip


def _once_more(
    func: OpOverload, args: tuple[Any, ...], given: dict[str, Any]
) -> tuple[Any, list[_Operation]]:
    """What a second run of the step gives, and the operations seen inside."""
    if args[0].numel() == 0:
        raise CannotShowError("it was given no tokens")
    spy = _Spy()
    try:
        with spy:
            return func(*args, **given), spy.seen
    except RuntimeError as error:  # no such kernel on this device, or no memory left for a second run
        reason = str(error).splitlines()[0]
        raise CannotShowError(f"its fused step could not be run a second time ({reason})") from error


def _unscaled(given: tuple[Any, ...], scaled_q: Tensor) -> tuple[Tensor, float]:
    """The queries before the scale, and the scale, where the two give the scaled ones bit for bit; else those
    and 1: in 16 bits the kernel rounds once, after the scale.
    """
    qkv, bias, heads = given
    b, h, t, d = scaled_q.shape
    if qkv.is_nested:
        qkv = qkv.to_padded_tensor(0.0, (b, t, qkv.size(-1)))
    q = (qkv + bias)[..., : h * d].unflatten(-1, (heads, d)).transpose(1, 2).contiguous()
    for scale in (d**-0.5, float(1 / q.new_tensor(float(d)).sqrt())):
        if torch.equal(q * scale, scaled_q):
            return q, scale
    return scaled_q, 1.0


def _may_attend(softmax: _Operation, shape: tuple[int, ...]) -> Tensor | None:
    """True = may attend, broadcasting to (b h tq tk), from what the softmax got: there True = may not."""
    if softmax.func is SOFTMAX[0]:
        return None
    if softmax.func is SOFTMAX[2]:
        lengths = softmax.args[1]._nested_tensor_size()[:, 0]
        real = torch.arange(shape[2]) < lengths[:, None]  # (b t): rows and keys beyond are padding
        both: Tensor = real[:, None, :, None] & real[:, None, None, :]
        return both.to(softmax.out.device)
    mask: Tensor = softmax.args[1]
    if mask.dim() == 2:  # (t t) for all, or (b t): padded keys; mask_type says which, sizes may agree
        mask = mask[None, None] if softmax.args[3] == 0 else mask[:, None, None, :]
    return mask.logical_not()


def _owner(running: nn.Module, weight: Tensor) -> nn.Module:
    """The module within the running one whose weight it is: self_attn, where a whole layer is one step."""
    for module in running.modules():
        if any(parameter is weight for parameter in module.parameters(recurse=False)):
            return module
    return running


def _same_bits(again: Any, result: Any) -> bool:
    """Whether both runs gave the same; NaN is NaN."""
    if isinstance(again, tuple):
        return all(_same_bits(a, b) for a, b in zip(again, result, strict=True))
    if again is None or again.numel() == 0:
        return result is None or bool(result.numel() == 0)
    if again.is_nested:
        again, result = again.values(), result.values()
    return torch.equal(again.nan_to_num(nan=math.pi), result.nan_to_num(nan=math.pi))
