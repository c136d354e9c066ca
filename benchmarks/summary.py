"""A summary and a certificate of one call against the SDPA call itself, at the size of a layer of SmolLM2."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attnscope.core.certificate import Certificate, certify
from attnscope.core.engine import normaliser
from attnscope.core.fold import Summary, summarize
from attnscope.core.masks import causal
from benchmarks.pairs import head, in_pairs, peak, row

LENGTH, HEADS, KEY_HEADS, WIDTH = 2_048, 9, 3, 64


def prepare() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """q, k, v and an out, which is random: what is measured does not depend on the verdict."""
    own = torch.Generator().manual_seed(0)
    heads = (HEADS, KEY_HEADS, KEY_HEADS, HEADS)
    q, k, v, out = (torch.randn(1, h, LENGTH, WIDTH, generator=own) for h in heads)
    return q, k, v, out


def theirs(q: Tensor, k: Tensor, v: Tensor, out: Tensor | None = None) -> Tensor:
    """The call that is looked at."""
    return scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


def summary(q: Tensor, k: Tensor, v: Tensor, out: Tensor) -> Summary:
    """summarize(), the normaliser unknown."""
    return summarize(q, k, causal())


def certificate(q: Tensor, k: Tensor, v: Tensor, out: Tensor) -> Certificate:
    """certify(), the normaliser unknown."""
    return certify(q, k, v, out, causal())


def run(rounds: int) -> None:
    """Times each against SDPA and prints the rows."""
    inputs = prepare()
    known = normaliser(*inputs[:2], causal())
    ways = {
        "summarize": lambda: summary(*inputs),
        "summarize, normaliser known": lambda: summarize(*inputs[:2], causal(), normaliser=known),
        "certify": lambda: certificate(*inputs),
        "certify, normaliser known": lambda: certify(*inputs, causal(), known),
    }
    peaks = {"summarize": peak("summary", "summary"), "certify": peak("summary", "certificate")}
    of_call = peak("summary", "theirs")
    head("ours", "SDPA")
    for name, way in ways.items():
        timed = in_pairs(way, lambda: theirs(*inputs), rounds=rounds)
        row(name, timed, peaks.get(name), of_call if name in peaks else None)
