"""The native engine against the torch engine, and its out against the grid, in float64, on calls made up at
random, for so many minutes.

    python -m benchmarks.fuzz MINUTES [SEED]

Shapes, layouts, spans, padding, biases, caps, sinks, dtypes, threads and numbers that are none. It prints how
many calls were compared, and ends with the seed of the first that differs. Under the sanitizers it is run as
`make sanitize` runs the tests.
"""

from __future__ import annotations

import random
import sys
import time
from dataclasses import fields

import torch
from torch import Tensor

from attnscope.core import masks
from attnscope.core.attention import attention, path
from attnscope.core.bias import Bias, KeyBias, RelativeBias, TensorBias
from attnscope.core.dense import steps
from attnscope.core.engine import Native, engine_of, using
from attnscope.core.fold import Summary, summarize
from attnscope.core.mask import Mask
from attnscope.core.native.library import Library, library
from attnscope.core.scoring import Scoring

CLOSE = 1e-5


def tensor(own: random.Random, *shape: int) -> Tensor:
    """Random numbers, in one of several layouts."""
    x = torch.randn(shape, generator=torch.Generator().manual_seed(own.randrange(2**31)))
    way = own.randrange(4)
    if way == 1:
        return x.transpose(1, 2).contiguous().transpose(1, 2)
    if way == 2:
        return torch.cat([x, x], -1)[..., : shape[-1]]
    return x.transpose(2, 3).contiguous().transpose(2, 3) if way == 3 else x


def mask(own: random.Random, b: int, h: int, tq: int, tk: int) -> Mask:
    """A mask of any kind that is spans."""
    draw = torch.Generator().manual_seed(own.randrange(2**31))
    lo = torch.randint(
        0, tk + 1, (own.choice([1, b]), own.choice([1, h]), tq, own.randint(1, 6)), generator=draw
    )
    kinds = [
        masks.full(),
        masks.causal(),
        masks.window(own.randint(0, 50), own.randint(0, 9)),
        masks.prefix(own.randint(0, 9)),
        masks.chunks(own.randint(1, 40)),
        masks.spans(lo, lo + torch.randint(0, 80, lo.shape, generator=draw)),
    ]
    chosen = own.choice(kinds)
    if own.random() < 0.4:
        chosen = chosen & masks.padding(torch.rand(b, tk, generator=draw) < own.random())
    return chosen


def bias(own: random.Random, h: int, tq: int, tk: int, offset: int) -> Bias | None:
    """A bias of any form, or none."""
    kind = own.randrange(6)
    draw = torch.Generator().manual_seed(own.randrange(2**31))
    if kind == 1:
        return RelativeBias(
            torch.randn(own.choice([1, h]), 2 * (tq + offset) + tk + 300, generator=draw), -tq - offset - 150
        )
    if kind == 2:
        return KeyBias(torch.randn(1, own.choice([1, h]), tk, generator=draw))
    if kind == 3:
        return TensorBias(torch.randn(own.choice([1, h]), own.choice([1, tq]), tk, generator=draw))
    return None


def sinks(own: random.Random, h: int) -> Tensor | None:
    """Logits of learned sinks, or none."""
    if own.random() < 0.7:
        return None
    return torch.randn(h, generator=torch.Generator().manual_seed(own.randrange(2**31)))


def call(seed: int) -> tuple[Tensor, Tensor, Scoring, int, int]:
    """q, k, scoring, block and threads of one seed."""
    own = random.Random(seed)
    b, hk, group, d = (
        own.randint(1, 2),
        own.randint(1, 3),
        own.randint(1, 3),
        own.choice([0, 1, 5, 16, 64, 72]),
    )
    tq, tk, h = own.randint(0, 150), own.randint(0, 300), hk * group
    offset = own.choice([0, own.randint(-100, 100), tk - tq])
    q, k = tensor(own, b, h, tq, d), tensor(own, b, hk, tk, d)
    if own.random() < 0.3 and d and tk:
        k[own.randrange(b), own.randrange(hk), own.randrange(tk), 0] = own.choice(
            [torch.nan, torch.inf, -torch.inf]
        )
    dtype = own.choice([torch.float32, torch.float32, torch.bfloat16, torch.float16])
    scoring = Scoring(
        mask(own, b, h, tq, tk),
        scale=own.choice([None, 0.0, 3.0, -0.7]),
        bias=bias(own, h, tq, tk, abs(offset)),
        softcap=own.choice([None, None, 3.0]),
        bias_inside_cap=own.random() < 0.5,
        offset=offset,
        sinks=sinks(own, h),
    )
    return q.to(dtype), k.to(dtype), scoring, own.choice([1, 7, 16, 64, 200]), own.choice([1, 1, 2, 3])


def values(own: random.Random, k: Tensor) -> Tensor:
    """v for the keys of a call, some of it no finite numbers at times."""
    v = tensor(own, *k.shape[:3], own.choice([0, 1, 7, 16, 40, 64, 130]))
    if own.random() < 0.3 and v.numel():
        for _ in range(own.randint(1, 5)):
            place = tuple(own.randrange(size) for size in v.shape)
            v[place] = own.choice([torch.nan, torch.inf, -torch.inf])
    return v.to(k.dtype)


def out_differs(q: Tensor, k: Tensor, v: Tensor, scoring: Scoring) -> str:
    """What differs between the native out and the grid's beyond rounding, or nothing. Rounding goes by how
    large the terms of a score are.
    """
    if path(scoring.bind(q, k), v) != "native":
        return ""
    found = attention(q, k, v, scoring).double()
    wanted = steps(q.double(), k.double(), v.double(), scoring).out
    own = {torch.float32: 0.0, torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11}[v.dtype]
    longest = [max([0.0, *x.double().nan_to_num(0, 0, 0).norm(dim=-1).flatten().tolist()]) for x in (q, k)]
    reach = abs(scoring.bind(q, k).scale) * longest[0] * longest[1] + 8
    room = 4 * 2.0**-24 * reach + own
    same = torch.allclose(found, wanted, rtol=room, atol=room, equal_nan=True)
    return "" if same else f"out ({tuple(q.shape)}, {tuple(v.shape)})"


def differs(found: Summary, wanted: Summary) -> str:
    """What differs beyond rounding, or nothing. Keys may change places where scores are equal but for it."""
    for field in fields(Summary):
        one, two = getattr(found, field.name), getattr(wanted, field.name)
        if not isinstance(two, Tensor) or field.name in ("top_keys", "largest_key"):
            continue
        if two.is_floating_point():
            room = (
                CLOSE * max(found.received.shape[-1], 1) * 4
                if field.name.startswith("distance")
                else CLOSE * 4
            )
            if field.name in ("distance", "distance_spread"):  # beside a mass of nothing they mean nothing
                some = wanted.largest > 1e-30
                one, two = one[some], two[some]
            if not torch.allclose(one.double(), two.double(), rtol=CLOSE * 4, atol=room, equal_nan=True):
                return field.name
        elif not torch.equal(one, two):
            return field.name
    return ""


def main() -> None:
    """Compares until the time is over."""
    minutes, seed = float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    if not isinstance(library(), Library):
        raise SystemExit(f"the native engine: {library()}")
    until, done = time.monotonic() + 60 * minutes, 0
    while time.monotonic() < until:
        q, k, scoring, block, threads = call(seed)
        torch.set_num_threads(threads)
        with using("native"):
            assert isinstance(engine_of(scoring.bind(q, k)), Native)
            found = summarize(q, k, scoring, block=block)
            v = values(random.Random(seed + 1), k)
            what = out_differs(q, k, v, scoring)
        torch.set_num_threads(1)
        wild = not bool(q.isfinite().all() and k.isfinite().all())
        with using("torch"):
            wanted = summarize(q if wild else q.double(), k if wild else k.double(), scoring, block=block)
        what = what or ("" if wild else differs(found, wanted))
        if wild and not torch.equal(found.largest.isnan(), wanted.largest.isnan()):
            what = "which rows are no numbers"
        if what:
            raise SystemExit(f"seed {seed}: {what} differs")
        seed, done = seed + 1, done + 1
    print(f"{done:,} calls compared, up to seed {seed - 1:,}: none differs")


if __name__ == "__main__":
    main()
