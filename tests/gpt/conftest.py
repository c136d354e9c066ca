"""A text and a finished model that the tests share."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.gpt.tiny import LINE, finished, tiny

# Models this small gain nothing from more, and threads that wait for each other cost a busy machine minutes.
torch.set_num_threads(1)


@pytest.fixture
def text() -> str:
    return LINE * 30


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished tiny model, never changed by a test."""
    folder = tmp_path_factory.mktemp("model") / "tiny"
    finished(LINE * 30, tiny("laptop"), folder)
    return folder
