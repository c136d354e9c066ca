"""Sites made by hand, without a model: q, k, v of any sizes under any scoring, fused or eager."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from attnscope.core.arithmetic import Arithmetic
from attnscope.core.bias import RelativeBias
from attnscope.core.certificate import certify
from attnscope.core.dense import steps
from attnscope.core.engine import normaliser
from attnscope.core.fold import summarize
from attnscope.core.masks import causal, documents, padding, rule, window
from attnscope.core.replay import Reach
from attnscope.core.scoring import Scoring
from attnscope.recording import Recording, Run, Site
from attnscope.recording.shelf import InMemory

B, H, HK, T, D, DV = 2, 6, 3, 37, 13, 11

STEPS = torch.linspace(-3, 0, T)[None] * torch.arange(1, H + 1)[:, None]
PACKED = torch.tensor([0, 1, 0, 1] * 9 + [2])[None].expand(B, -1)

SCORINGS: dict[str, Scoring] = {
    "full": Scoring(offset=0),
    "causal": Scoring(causal(), offset=0),
    "window": Scoring(window(5), offset=0),
    "padded": Scoring(causal() & padding(torch.arange(T)[None] >= torch.tensor([[0], [7]])), offset=0),
    "softcap": Scoring(causal(), softcap=2.5, offset=0),
    "sinks": Scoring(causal(), sinks=torch.linspace(-2, 3, H), offset=0),
    "bias": Scoring(causal(), bias=RelativeBias(STEPS, first=1 - T), offset=0),
    "rule": Scoring(causal() & rule(lambda b, h, i, j: (i * j + h + b) % 3 != 1), offset=0),
    "documents": Scoring(documents(PACKED) & causal(), offset=0),
    "scale": Scoring(causal(), scale=-0.2, offset=0),
}  # fmt: skip
"""One of each kind of step between q.k and softmax."""


def draw(dtype: torch.dtype = torch.float32, *, turned: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """q, k, v; `turned` lie in memory as (b t h d), as a model leaves them."""
    own = torch.Generator().manual_seed(17)
    shapes = ((B, H, T, D), (B, HK, T, D), (B, HK, T, DV))
    drawn = [
        torch.randn(shape, generator=own).mul(2 if at < 2 else 1).to(dtype) for at, shape in enumerate(shapes)
    ]
    if turned:
        drawn = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in drawn]
    return drawn[0], drawn[1], drawn[2]


@pytest.fixture
def make_site() -> Callable[..., Site]:
    """make_site(name="causal", dtype=float32, keep="all", eager=False, out=None): as a route does."""

    def make(
        name: str = "causal", *, dtype: torch.dtype = torch.float32, keep: str = "all", eager: bool = False,
        out: Tensor | None = None, index: int = 0,
    ) -> Site:  # fmt: skip
        scoring, (q, k, v) = SCORINGS[name], draw(dtype, turned=True)
        reach: Reach | None = "head" if eager else None
        if eager:
            how = Arithmetic(products=dtype, scores=dtype, softmax=torch.float32, weights=dtype)
            scoring = replace(scoring, arithmetic=how)
        out = steps(q, k, v, scoring).out if out is None else out
        rows = normaliser(q, k, scoring)
        certificate = certify(q, k, v, out, scoring, rows)
        tensors: dict[str, Tensor] = {"q": q, "k": k, "v": v, "out": out}
        kept = {"summary": "", "qk": "q k", "qkv": "q k v", "all": "q k v out"}[keep].split()
        summary = summarize(q, k, scoring, normaliser=rows) if keep == "summary" else None
        shelf = InMemory({one: tensors[one] for one in kept}, scoring, rows, certificate, summary)
        return Site(
            index=index, name=f"layers.{index}.attn", order=0, layer=index, kind="self", stack="decoder",
            route="huggingface/eager" if eager else "sdpa", dtype=dtype, batch=B, heads=H, key_heads=HK,
            tq=T, tk=T, d=D, dv=DV, offset=0, kept=None, keep=keep, bit_exact=True if eager else None,
            reach=reach, shelf=shelf,
        )  # fmt: skip

    return make


@pytest.fixture
def recording_of() -> Callable[..., Recording]:
    """recording_of(*sites, **fields): a recording of one run."""

    def make(*sites: Site, **fields: Any) -> Recording:
        keep = sites[0].keep if sites else "qkv"
        return Recording(runs=[Run(0, "", list(sites))], model={"class": "None"}, keep=keep, **fields)

    return make


@pytest.fixture(params=sorted(SCORINGS))
def scoring_name(request: pytest.FixtureRequest) -> str:
    """Every kind of scoring in turn."""
    return str(request.param)


@pytest.fixture
def saved(make_site: Callable[..., Site], recording_of: Callable[..., Recording], tmp_path: Path) -> Path:
    """A recording of two sites on disk."""
    return recording_of(make_site("padded"), make_site("bias", index=1), tokens=["a"] * 37).save(
        tmp_path / "look"
    )
