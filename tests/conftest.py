"""What every test shares: shape checks on attnscope's own signatures, one seed, one thread of torch."""

from __future__ import annotations

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import hypothesis
import pytest
from jaxtyping import install_import_hook

_CHECKED = ["attnscope.core", "attnscope.nn"]
install_import_hook(_CHECKED, "beartype.beartype")

import torch  # noqa: E402

torch.set_num_threads(1)

hypothesis.settings.register_profile(
    "attnscope", deadline=None, max_examples=40, derandomize=True, print_blob=True
)
hypothesis.settings.load_profile("attnscope")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--real", action="store_true", help="run the tests of large trained models too")


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(20_231)
