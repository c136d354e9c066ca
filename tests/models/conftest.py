"""Tiny models with real tokenisers, each written once."""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

_TINY = Path(__file__).with_name("tiny.py")


@pytest.fixture(scope="session")
def tiny() -> SimpleNamespace:
    """Return what tiny.py defines."""
    return SimpleNamespace(**runpy.run_path(str(_TINY)))


@pytest.fixture(scope="session")
def llama(tiny: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a tiny causal model with a byte-level vocabulary."""
    folder: Path = tiny.llama_folder(tmp_path_factory.mktemp("hf") / "tiny-llama")
    return folder


@pytest.fixture(scope="session")
def bert(tiny: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a tiny bidirectional model with WordPiece."""
    folder: Path = tiny.bert_folder(tmp_path_factory.mktemp("hf") / "tiny-bert")
    return folder


@pytest.fixture(scope="session")
def t5(tiny: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a tiny encoder and decoder."""
    folder: Path = tiny.t5_folder(tmp_path_factory.mktemp("hf") / "tiny-t5")
    return folder
