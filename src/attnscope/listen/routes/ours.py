"""Hears every call of attention(), whoever makes it and whichever way it goes.

The function answers torch's function modes, and what it calls itself is out of hearing then: a call is heard
here alone, with the whole scoring that it was handed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from attnscope.core.attention import attention
from attnscope.core.bias import Bias, KeyBias, RelativeBias, TensorBias
from attnscope.core.mask import Mask
from attnscope.core.scoring import Bound, Scoring, as_scoring
from attnscope.listen.call import Call
from attnscope.listen.ears import taps
from attnscope.listen.frames import Frame, here
from attnscope.listen.reading import Reading, read_rule
from attnscope.listen.routes.sdpa import plain_tensor

NAME = "attnscope"
NAMES = ("q", "k", "v", "scoring")


@dataclass(frozen=True, eq=False)
class Asked:
    """One call of attention(): what it was handed, and what it gave."""

    q: Tensor = field(repr=False)
    k: Tensor = field(repr=False)
    v: Tensor = field(repr=False)
    scoring: Scoring | Mask | None
    out: Tensor = field(repr=False)


@taps(attention)
def tap(inner: Callable[..., Tensor], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Calls the function, and gives the call to whoever listens: a route that is inside one of its own calls
    already, else this one.
    """
    out = inner(*args, **kwargs)
    frame = here.top
    if frame is None:
        return out
    given = {"scoring": None} | dict(zip(NAMES, args, strict=False)) | kwargs
    if here.inside is not None:
        here.inside.append(Asked(**given, out=out))
        return out
    handed_on: Tensor = frame.session.handed_on(frame, out)
    asked = Asked(**given, out=handed_on)
    frame.session.take(frame, lambda: call_of(frame, asked))
    return handed_on


def call_of(frame: Frame, asked: Asked, route: str = NAME) -> Call:
    """The call that a running module made. Raises CannotShowError for tensors that are no plain ones."""
    q, k, v = (plain_tensor(name, getattr(asked, name)) for name in NAMES[:3])
    bound = as_scoring(asked.scoring).bind(q, k)
    own = bound.scoring
    how = own.arithmetic
    scoring = replace(
        own,
        mask=None,
        scale=bound.scale,
        bias=None if own.bias is None else _own(own.bias),
        arithmetic=None if how is None else replace(how, dropout=0.0),  # attention() drops nothing
    )
    readings = (_reading(bound, frame),)
    return Call(frame.module, route, q, k, v, asked.out, bound.scale, readings=readings, scoring=scoring)


def _reading(bound: Bound, frame: Frame) -> Reading:
    """What each row sees, in tensors of our own; a rule is asked at every position, once for all layers."""
    seen, mask, bias = bound.visible, bound.scoring.mask, bound.scoring.bias
    b, h, _, tq, tk, _ = bound.shape
    if seen.rule is None:
        valid = None if seen.valid is None else seen.valid.clone()
        return Reading(seen.lo.clone(), seen.hi.clone(), valid)

    def rows(cut: slice) -> Tensor:
        return seen.tile(cut, slice(0, tk))

    def read() -> Reading:
        return read_rule(rows, b * h, tq, tk)

    if mask is None or (bias is not None and bias.hidden() is not None):
        return read()
    return frame.log.reader.once(mask, (b, h, tq, tk, bound.offset), read)


def _own(bias: Bias) -> Bias:
    """A copy with axes for batch and head. What it hides is in the reading, and 0 here."""
    if isinstance(bias, RelativeBias):
        return replace(bias, table=_finite(bias.table))
    values = _finite(bias.values)
    if isinstance(bias, KeyBias):
        return KeyBias(values if values.dim() == 3 else values[:, None])
    return TensorBias(values.reshape((1,) * (4 - values.dim()) + tuple(values.shape)))


def _finite(values: Tensor) -> Tensor:
    return values.detach().masked_fill(values == -torch.inf, 0.0)
