"""A tiny preset, a tiny text and tiny models, so that a whole run takes a second."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch

from attnscope.gpt import GPT, CharacterTokenizer
from attnscope.gpt.presets import PRESETS, Preset
from attnscope.gpt.train import Training

WORDS = CharacterTokenizer("abcdefg")
LINE = "the cat sat down, and the dog sat up; "


def tiny(like: str, *, steps: int = 12) -> Preset:
    """A preset of that style with 2 layers, width 12 and context 11."""
    base = PRESETS[like]
    recipe = replace(base.recipe, steps=steps, batch=3, warmup=2, measure_every=5, save_every=4)
    return replace(base, name=like, n_layers=2, n_heads=3, d_model=12, context=11, recipe=recipe)


def finished(text: str, preset: Preset, folder: Path, *, seed: int = 1) -> tuple[Training, float]:
    """A run to its end in one go."""
    run = Training(text, preset, folder, seed=seed, threads=1)
    while not run.done:
        run.advance()
    return run, run.finish()


def small(like: str) -> GPT:
    """A model of that style, 2 layers of 3 heads, context 11, with no matrix at zero, in float64."""
    model = GPT(tiny(like).config(7), WORDS, seed=5).double()
    generator = torch.Generator().manual_seed(6)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.2 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    return model.eval()
