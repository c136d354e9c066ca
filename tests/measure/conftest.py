"""A small model of ours in a folder, whose attention is not flat."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from attnscope.gpt import GPT, CharacterTokenizer, GPTConfig
from attnscope.gpt.store import save_model

CHARACTERS = " !,.abcdefghijklmnopqrstuvwxyz"
TEXTS = (
    "to be, or not to be, that is it.",
    "the cat sat on the mat, the end!",
    "so it goes, and so it goes.",
)


@pytest.fixture(scope="session")
def model() -> GPT:
    made = GPT(GPTConfig(len(CHARACTERS), 40, 2, 3, 24), CharacterTokenizer(CHARACTERS), seed=4)
    with torch.no_grad():
        for name, weight in made.named_parameters():
            if weight.dim() == 2:
                weight.normal_(std=0.4, generator=torch.Generator().manual_seed(len(name)))
    return made.eval()


@pytest.fixture(scope="session")
def folder(model: GPT, tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("measure") / "small"
    save_model(model, where)
    return where
