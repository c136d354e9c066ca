"""Two small models of ours with one vocabulary, their looks at short texts, and the dense definition."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from attnscope.comparison.alignment import Alignment
from attnscope.gpt import GPT, CharacterTokenizer, GPTConfig
from attnscope.gpt.store import save_model
from attnscope.models import open_model
from attnscope.recording import Recording

CHARACTERS = "\n !,.:abcdefghijklmnopqrstuvwxyz"


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders: "one" and "two" have two layers of three heads, "other" has one of two."""
    where = tmp_path_factory.mktemp("compared")
    for seed, (name, layers, heads) in enumerate([("one", 2, 3), ("two", 2, 3), ("other", 1, 2)]):
        model = GPT(GPTConfig(len(CHARACTERS), 48, layers, heads, 24), CharacterTokenizer(CHARACTERS), seed=4)
        own = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for _, weight in model.named_parameters():
                if weight.dim() == 2:
                    weight.normal_(std=0.4, generator=own)
        save_model(model, where / name)
    return {name: where / name for name in ("one", "two", "other")}


@pytest.fixture(scope="session")
def look(models: dict[str, Path]) -> Callable[..., Recording]:
    """look(model, text, dtype): the recording of a text."""

    def made(model: str, text: str, dtype: str | None = None) -> Recording:
        return open_model(str(models[model]), dtype=dtype).run(text).recording

    return made


def spread(grid: Tensor, of_rows: Tensor, of_cols: Tensor, rows: int, cols: int) -> Tensor:
    """A grid over slots, cell by cell in float64: the sum over keys, the mean over queries."""
    whole = torch.zeros(rows, cols, dtype=torch.float64)
    counts = torch.zeros(rows, dtype=torch.float64)
    for slot, row in zip(of_rows.tolist(), grid.double(), strict=True):
        counts[slot] += 1
        for key, weight in zip(of_cols.tolist(), row, strict=True):
            whole[slot, key] += weight
    return whole / counts[:, None]


def dense(a: Tensor, b: Tensor, rows: Alignment, cols: Alignment) -> Tensor:
    """The total variation of every matched row, from two whole grids without learned sinks."""
    sides = [
        spread(grid, getattr(rows, name).of, getattr(cols, name).of, rows.count, cols.count)
        for grid, name in ((a, "a"), (b, "b"))
    ]
    found = [
        sum(abs(float(x) - float(y)) for x, y in zip(one, other, strict=True)) / 2
        for one, other, both in zip(*sides, rows.matched.tolist(), strict=True)
        if both
    ]
    return torch.tensor(found, dtype=torch.float64)
