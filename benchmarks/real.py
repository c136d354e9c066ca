"""Real models, where their packages are installed: every site of one text, certified as it was recorded."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import torch

from attnscope.listen import record
from attnscope.recording.site import Site

LENGTHS = (61, 512)
"""Tokens; a model takes no more than it has positions for."""


def real_sites() -> Iterator[Site]:
    """Of each real model at hand, in both attentions, float32 and bfloat16; nothing where there is none."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    try:
        from real.loaders import PACKAGES, installed, open_model  # type: ignore[import-not-found]
        from real.runs import TEXTS  # type: ignore[import-not-found]
    finally:
        sys.path.pop(0)
    for name in PACKAGES:
        if not installed(name):
            continue
        model, inputs = open_model(name)
        most = model.config.max_position_embeddings
        for dtype in (torch.float32, torch.bfloat16):
            for attention in ("sdpa", "eager"):
                model = model.to(dtype)
                model.set_attn_implementation(attention)
                given = inputs([TEXTS[name]])["input_ids"]
                for length in LENGTHS:
                    ids = given.repeat(1, length // given.shape[1] + 1)[:, : min(length, most)]
                    with torch.no_grad(), record(model, keep="summary") as recording:
                        model(input_ids=ids)
                    yield from recording.sites
