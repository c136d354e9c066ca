"""Calls made up for the proof: one for each thing that a scoring can be, small enough for the whole grid.

Sizes are odd, so that every tile, vector and block of rows is left unfinished somewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from attnscope.core import masks
from attnscope.core.bias import KeyBias, RelativeBias, TensorBias
from attnscope.core.scoring import Scoring
from attnscope.shapes import Key, Query, Value

TOKENS = 211


@dataclass(frozen=True, eq=False)
class Call:
    """One attention call, and what it is there for."""

    name: str
    q: Query
    k: Key
    v: Value
    scoring: Scoring


def calls(*, seed: int = 0) -> Iterator[Call]:
    """Every call of the proof, from random numbers of their own: a different seed draws others."""
    draw = torch.Generator().manual_seed(seed)
    yield from _seen(draw)
    yield from _biased(draw)
    yield from _shaped(draw)
    yield from _narrow(draw)


def _seen(draw: torch.Generator) -> Iterator[Call]:
    """What rows see."""
    plain, t = _call(draw), TOKENS
    lo = torch.randint(0, t, (1, 4, t, 2), generator=draw).sort(dim=-1).values
    padded = torch.ones(2, t, dtype=torch.bool)
    padded[0, :37], padded[1, -11:] = False, False
    few = (torch.arange(t) >= 150)[None]
    yield replace(plain, name="every key", scoring=Scoring(masks.full()))
    yield replace(plain, name="causal", scoring=Scoring(masks.causal()))
    yield replace(plain, name="a window of 31", scoring=Scoring(masks.window(31)))
    yield replace(
        plain, name="two spans a row, of each head", scoring=Scoring(masks.spans(lo, (lo + 23).clamp(max=t)))
    )
    yield _call(draw, "padding left and right", b=2, scoring=Scoring(masks.causal() & masks.padding(padded)))
    yield replace(
        plain, name="150 rows that see nothing", scoring=Scoring(masks.causal() & masks.padding(few))
    )
    scattered = masks.rule(lambda b, h, i, j: (i + 3 * j) % 5 != 0)
    yield replace(plain, name="a rule that is no span", scoring=Scoring(scattered & masks.causal()))
    hidden = replace(plain, name="NaN where no row looks", k=plain.k.clone())
    hidden.k[:, :, -1] = torch.nan
    yield replace(hidden, scoring=Scoring(masks.causal() & masks.padding((torch.arange(t) < t - 1)[None])))


def _biased(draw: torch.Generator) -> Iterator[Call]:
    """What is added to scores, and what else stands between them and the softmax."""
    plain, t = _call(draw), TOKENS

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=draw)

    relative = RelativeBias(normal(4, 2 * t), first=-t)
    yield replace(plain, name="a bias by distance", scoring=Scoring(masks.causal(), bias=relative))
    yield replace(plain, name="a bias by key", scoring=Scoring(masks.causal(), bias=KeyBias(normal(1, 4, t))))
    yield replace(
        plain,
        name="a bias of every cell",
        scoring=Scoring(masks.causal(), bias=TensorBias(normal(1, 4, t, t))),
    )
    yield replace(plain, name="a cap", scoring=Scoring(masks.causal(), scale=0.5, softcap=5.0))
    yield replace(plain, name="learned sinks", scoring=Scoring(masks.causal(), sinks=2 * normal(4)))
    every = Scoring(masks.window(50), bias=relative, softcap=20.0, sinks=normal(4), bias_inside_cap=True)
    yield replace(plain, name="a window, bias inside the cap, sinks", scoring=every)
    yield replace(plain, name="scores of some 500", scoring=Scoring(masks.causal(), scale=15.0))


def _shaped(draw: torch.Generator) -> Iterator[Call]:
    """Sizes and strides."""
    causal = Scoring(masks.causal())
    yield _call(draw, "six heads on two key heads", h=6, hk=2, scoring=causal)
    yield _call(draw, "heads of 5 numbers, values of 3", d=5, dv=3, scoring=causal)
    yield _call(draw, "heads of 80 numbers", h=2, d=80, dv=80, scoring=causal)
    yield _call(draw, "heads of 256 numbers", h=1, d=256, dv=256, scoring=causal)
    decoding = Scoring(masks.causal(), offset=1021 - 9)
    yield _call(draw, "9 queries, 1,021 keys", hk=2, tq=9, tk=1021, scoring=decoding)
    yield _call(draw, "613 tokens", h=2, tq=613, scoring=causal)
    turned = _call(draw, "heads that lie between the tokens", scoring=causal)
    q, k, v = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in (turned.q, turned.k, turned.v))
    yield replace(turned, q=q, k=k, v=v)


def _narrow(draw: torch.Generator) -> Iterator[Call]:
    """Inputs of 16 bits, computed with in float32."""
    for dtype in (torch.bfloat16, torch.float16):
        name = str(dtype).removeprefix("torch.")
        plain = _call(draw, f"{name}, causal", hk=2, scoring=Scoring(masks.causal()))
        narrow = replace(plain, q=plain.q.to(dtype), k=plain.k.to(dtype), v=plain.v.to(dtype))
        yield narrow
        sinks = Scoring(masks.window(40), softcap=30.0, sinks=torch.randn(4, generator=draw))
        yield replace(narrow, name=f"{name}, a window, a cap and sinks", scoring=sinks)


def _call(
    draw: torch.Generator, name: str = "", *, b: int = 1, h: int = 4, hk: int | None = None, tq: int = TOKENS,
    tk: int | None = None, d: int = 64, dv: int = 64, scoring: Scoring | None = None,
) -> Call:  # fmt: skip
    """A call of normal numbers in float32: q (b h tq d), k (b hk tk d), v (b hk tk dv)."""
    hk, tk = hk or h, tk or tq
    q = torch.randn(b, h, tq, d, generator=draw)
    k, v = (torch.randn(b, hk, tk, n, generator=draw) for n in (d, dv))
    return Call(name, q, k, v, scoring or Scoring())
