"""Which linear layer takes the output of an attention call: W_O, which makes of each head's values what the
head adds to the model's stream.

A layer counts where it is handed the heads side by side, number by number what the call gave. Where another
number came between (a norm, a gate, dropout), where two layers take the same heads (an adapter beside W_O),
or where it cannot be told which axis is heads and which is width, there is a reason and no guess.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from attnscope.listen.ears import looking, taps, tell
from attnscope.listen.frames import Frame, here
from attnscope.listen.quiet import as_autocast, autocast_dtype, quiet
from attnscope.recording.mixes import Lengths, lengths_of

NONE = "no linear layer took the heads as the attention gave them, so what its values become is not known"
SEVERAL = "more than one linear layer took the heads, and which of them is W_O cannot be told"
FORM = "the layer that takes the heads holds its weight in a form of its own (quantised, sparse)"
UNKEPT = 'the values of a generation were not kept: keep="qkv" keeps them'
CHANGED = "the heads were overwritten before a linear layer took them"


@dataclass(frozen=True, eq=False)
class Projection:
    """W_O as it was used: the layer's name, and its weight (n, h * dv)."""

    name: str
    weight: Tensor = field(repr=False)


Found = Projection | None | str
"""W_O; None where the model has none; a sentence where neither is certain."""


def lengths_along(found: Found, v: Tensor | None, numbers: Sequence[int]) -> Lengths:
    """The lengths of values v (b hk tk dv) of heads `numbers` through W_O, or why there are none."""
    if isinstance(found, str):
        return Lengths(why=found)
    if v is None:
        return Lengths(why=UNKEPT)
    try:
        with quiet(v.device):
            values = lengths_of(v, None if found is None else found.weight, numbers).float()
    except RuntimeError as error:  # no memory, or no such kernel on this device
        return Lengths(why=f"they could not be computed ({str(error).splitlines()[0]})")
    return Lengths(values, None if found is None else found.name)


@dataclass(eq=False)
class Output:
    """The output (b h tq dv) of a call on its way, None where the way is known. ready(): what is to happen
    when it is.   until: the frame at whose end it is; None while no layer took it.   returned: the model gave
    it away as it is.
    """

    out: Tensor | None
    ready: Callable[[], None] = lambda: None
    until: Frame | None = None
    returned: bool = False
    _version: int | None = field(init=False)
    _taken: Tensor | None = None
    _layers: list[Projection | str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._version = None if self.out is None else _version(self.out)

    @classmethod
    def known(cls, projection: Projection) -> Output:
        """The way of an output of which the route itself knows it."""
        made = cls(None)
        made._layers.append(projection)
        return made

    @property
    def found(self) -> Found:
        """What takes it, as far as it is known by now."""
        if len(self._layers) > 1:
            return SEVERAL
        return self._layers[0] if self._layers else None if self.returned else NONE

    def hear(self, x: Any, weight: Any, name: str, until: Frame, *, turned: bool) -> None:
        """A linear layer was called with x. turned: its weight is (h * dv, n)."""
        if not isinstance(x, Tensor) or x.is_nested or not self._holds(x):
            return
        plain = type(weight) in (Tensor, torch.nn.Parameter) and weight.layout is torch.strided
        fits = (
            plain
            and weight.is_floating_point()
            and weight.dim() == 2
            and weight.shape[0 if turned else 1] == x.shape[-1]
        )
        if self._taken is None and self.out is not None and _version(self.out) != self._version:
            self._layers.append(CHANGED)
        elif not fits:
            self._layers.append(FORM)
        else:
            used = as_autocast(weight.detach(), autocast_dtype(x.device))
            self._layers.append(Projection(name, used.T if turned else used))
        self._taken, self.until = x, self.until or until
        self.out = None

    def hear_returned(self, result: Any) -> None:
        """The model's forward is over, and gave this."""
        first = result[0] if isinstance(result, tuple | list) and result else result
        if self._layers or self.out is None or not isinstance(first, Tensor) or first.is_nested:
            return
        same = first.shape == self.out.shape and torch.equal(first, self.out)
        self.returned = same or self._holds(first)

    def _holds(self, x: Tensor) -> bool:
        """Whether x is the heads side by side, of each position in turn."""
        if self._taken is not None:
            return x.data_ptr() == self._taken.data_ptr() and x.numel() == self._taken.numel()
        out = self.out
        if out is None or x.numel() != out.numel() or not x.numel():
            return False
        b, h, tq, dv = out.shape
        if x.shape[-1] != h * dv or x.device != out.device:
            return False
        out = out.detach().to(x.dtype)
        by_text = _same(x.reshape(b, tq, h, dv), out.transpose(1, 2))
        if not by_text and not (b > 1 and _same(x.reshape(tq, b, h, dv), out.permute(2, 0, 1, 3))):
            return False
        mixed_up = x.reshape(b, tq, dv, h), out.permute(0, 2, 3, 1)
        return 1 in (h, dv) or not _same(*mixed_up)


@taps(F.linear)
def linear(inner: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls the function; where it takes the heads of the last call, it is W_O."""
    result = inner(*args, **kwargs)
    tell(inner, args, kwargs, result)
    if here.output is not None and here.inside is None:
        given = dict(zip(("input", "weight"), args, strict=False)) | kwargs
        _heard(given.get("input"), given.get("weight"), turned=False)
    return result


@taps(torch.addmm, Tensor.addmm)
def added(inner: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The same of a layer that keeps its weight transposed (Conv1D of GPT-2)."""
    result = inner(*args, **kwargs)
    tell(inner, args, kwargs, result)
    if here.output is not None and here.inside is None:
        given = dict(zip(("input", "mat1", "mat2"), args, strict=False)) | kwargs
        _heard(given.get("mat1"), given.get("mat2"), turned=True)
    return result


def _heard(x: Any, weight: Any, *, turned: bool) -> None:
    top, output = here.top, here.output
    if top is None or output is None:
        return
    with looking(), quiet():
        leaf = next(top.module.children(), None) is None and len(here.frames) > 1
        until = here.frames[-2] if leaf else top  # an adapter takes the heads before its own module ends
        output.hear(x, weight, top.name, until, turned=turned)


def _same(x: Tensor, out: Tensor) -> bool:
    """Number by number; NaN is NaN."""
    if torch.equal(x, out):
        return True
    nan = x.isnan()
    return bool(nan.any()) and torch.equal(nan, out.isnan()) and torch.equal(x[~nan], out[~nan])


def _version(tensor: Tensor) -> int | None:
    return None if tensor.is_inference() else tensor._version
