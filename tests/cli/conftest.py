"""A small model in a folder, and the command line as a user types it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from attnscope.cli.main import run
from attnscope.gpt import GPT, CharacterTokenizer, GPTConfig
from attnscope.gpt.store import save_model

CHARACTERS = "\n !,.:abcdefghijklmnopqrstuvwxyzBEMOR"


class Said(NamedTuple):
    """What one command line gave."""

    code: int
    out: str
    err: str


Say = Callable[..., Said]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small model of ours whose attention is not flat."""
    model = GPT(GPTConfig(len(CHARACTERS), 40, 2, 3, 24), CharacterTokenizer(CHARACTERS), seed=4)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() == 2:
                weight.normal_(std=0.4, generator=torch.Generator().manual_seed(len(name)))
    where = tmp_path_factory.mktemp("cli") / "small"
    save_model(model, where)
    return where


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    """Return what runs one command line in this process."""

    def one(*words: object) -> Said:
        capsys.readouterr()
        code = run([str(word) for word in words])
        out, err = capsys.readouterr()
        return Said(code, out, err)

    return one
