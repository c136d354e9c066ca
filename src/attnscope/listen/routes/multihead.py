"""torch's own multi-head attention, step by step: F.multi_head_attention_forward, which nn.MultiheadAttention
and the transformer layers made of it call in training, and wherever their fused step does not apply.

What the function calls is out of hearing while a function mode hears the function itself. So its own code is
run once more out of sight of modes: a twin of the function, alike but for the question whether anybody
overrides torch's functions, and beside it a mode of ours that keeps the steps of attention.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn, overrides
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from attnscope.listen.call import Call, CannotShowError, Place
from attnscope.listen.ears import taps
from attnscope.listen.frames import Frame, here
from attnscope.listen.projecting import Projection
from attnscope.listen.quiet import as_autocast, autocast_dtype
from attnscope.listen.routes import sdpa

Function = Callable[..., Any]

ASKS = "has_torch_function"
_STEPS: tuple[Function, ...] = (
    torch.Tensor.mul, torch.bmm, torch.baddbmm, F.softmax, F.scaled_dot_product_attention,
)  # fmt: skip


_PRODUCTS: tuple[Function, ...] = (torch.bmm, torch.baddbmm)


@dataclass(frozen=True, eq=False)
class Step:
    """One step inside: the function, its arguments and what it returned."""

    func: Function
    args: tuple[Any, ...] = field(repr=False)
    kwargs: dict[str, Any] = field(repr=False)
    out: Tensor = field(repr=False)


class _Inside(TorchFunctionMode):
    """Keeps the steps of attention, and changes none but what its session hands on of the mixed values, the
    last of them: heard() is called there.
    """

    def __init__(self, frame: Frame, heard: Callable[[list[Step]], None]) -> None:
        super().__init__()
        self.steps: list[Step] = []
        self.over = False
        self._frame, self._heard = frame, heard

    def __torch_function__(
        self, func: Function, types: Iterable[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        if func not in _STEPS or self.over:
            return out
        self.over = func is F.scaled_dot_product_attention or (func in _PRODUCTS and self._has_product)
        if self.over:
            out = self._frame.session.handed_on(self._frame, out)
        self.steps.append(Step(func, args, kwargs, out))
        if self.over:
            self._heard(self.steps)
        return out

    @property
    def _has_product(self) -> bool:
        return any(step.func in _PRODUCTS for step in self.steps)


@taps(F.multi_head_attention_forward)
def tap(inner: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls the function, and gives the attention inside it to the session."""
    frame = here.top
    if frame is None:
        return inner(*args, **kwargs)
    twin = _twin(inner)
    given = inspect.signature(inner).bind(*args, **kwargs).arguments
    if twin is None or overrides.has_torch_function([x for x in given.values() if isinstance(x, Tensor)]):
        result = inner(*args, **kwargs)
        frame.session.not_shown(
            frame, "its multi-head attention is not torch's own, or gets no plain tensors"
        )
        return result
    cast = autocast_dtype(given["query"].device)

    def heard(steps: list[Step]) -> None:
        frame.session.take(frame, lambda: _call(frame, given, steps, cast))

    inside = _Inside(frame, heard)
    with inside:
        result = twin(*args, **kwargs)
    if not inside.over:
        heard(inside.steps)  # it says what it lacks
    return result


def _twin(inner: Function) -> Function | None:
    """The same code with one answer changed; None for what is no such function."""
    if not isinstance(inner, types.FunctionType) or ASKS not in inner.__code__.co_names:
        return None
    names = {**inner.__globals__, ASKS: lambda _: False}
    twin = types.FunctionType(inner.__code__, names, inner.__name__, inner.__defaults__, inner.__closure__)
    twin.__kwdefaults__ = inner.__kwdefaults__
    return twin


def _call(frame: Frame, given: dict[str, Any], steps: Sequence[Step], cast: torch.dtype | None) -> Call:
    place = place_of(frame.module, same=_same(given["query"], given["key"]))
    taken = Projection(
        f"{frame.name}.out_proj".lstrip("."), as_autocast(given["out_proj_weight"].detach(), cast)
    )
    fused = [step for step in steps if step.func is F.scaled_dot_product_attention]
    if not fused:
        return replace(_by_grid(frame, given, steps, cast, place), projection=taken)
    (step,) = fused
    names = dict(zip(sdpa.NAMES, step.args, strict=False)) | step.kwargs
    call = sdpa.call_of(frame, sdpa.Heard(names, step.out, cast), "multihead/sdpa", place)
    return replace(call, projection=taken)


def _by_grid(
    frame: Frame, given: dict[str, Any], steps: Sequence[Step], cast: torch.dtype | None, place: Place
) -> Call:
    """need_weights=True: the function goes through the grid that it returns.

    The steps are q * scale, its product with k (and a mask added), softmax, dropout, and the product with v,
    over (b * h) at once.
    """
    heads = int(given["num_heads"])
    products = [step for step in steps if step.func in _PRODUCTS]
    softmax = [step for step in steps if step.func is F.softmax]
    if len(products) != 2 or len(softmax) != 1:
        raise CannotShowError(
            f"its multi-head attention takes {len(products)} products, and 2 were looked for"
        )
    scores, mix = products
    scaled_q, k = scores.args[-2], scores.args[-1].transpose(-2, -1)
    q, scale = next(
        ((step.args[0], float(step.args[1])) for step in steps if step.out is scaled_q), (scaled_q, 1.0)
    )
    q, k, v = (as_autocast(_by_head(x, heads), cast) for x in (q, k, mix.args[1]))
    mask = as_autocast(scores.args[0], cast) if len(scores.args) == 3 else None
    return Call(
        frame.module, "multihead/eager", q, k, v, _by_head(mix.out, heads), scale,
        mask=None if mask is None else mask[None] if mask.shape[0] == 1 else _by_head(mask, heads),
        dropout=float(given["dropout_p"]) if given.get("training", True) else 0.0,
        grid=_by_head(softmax[0].out, heads), autocast=cast, place=place,
    )  # fmt: skip


def _by_head(x: Tensor, heads: int) -> Tensor:
    """(b * h, ..) as (b, h, ..), in the same memory."""
    return x.view(-1, heads, *x.shape[1:])


def _same(query: Tensor, key: Tensor) -> bool:
    """Whether queries and keys come from one sequence."""
    return query is key or (query.shape == key.shape and torch.equal(query, key))


def place_of(module: nn.Module, *, same: bool) -> Place:
    """Where a call of torch's own attention stands: self where queries and keys are the `same`, save over a
    decoder's memory; in torch's own stacks also the stack and the number that the running layer has there.
    """
    running = [frame.module for frame in here.frames]
    of_memory = any(getattr(one, "multihead_attn", None) is module for one in running)
    kind = "self" if same and not of_memory else "cross"
    for outer, inner in zip(reversed(running[:-1]), reversed(running[1:]), strict=True):
        if isinstance(outer, nn.TransformerEncoder | nn.TransformerDecoder):
            layers = list(outer.layers)
            number = layers.index(inner) if inner in layers else None
            stack = "encoder" if isinstance(outer, nn.TransformerEncoder) else "decoder"
            return Place(kind, stack, number)
    for one in reversed(running):
        if isinstance(one, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
            return Place(kind, "encoder" if isinstance(one, nn.TransformerEncoderLayer) else "decoder")
    return Place(kind)
