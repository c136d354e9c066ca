"""The shape of a model, and what is refused as one."""

from __future__ import annotations

from typing import Any

import pytest

from attnscope.errors import BrokenModel
from attnscope.gpt.config import GPTConfig

SHAPE: dict[str, Any] = {"vocabulary": 65, "context": 64, "n_layers": 4, "n_heads": 4, "d_model": 64}


def test_a_config_read_back_is_the_same() -> None:
    config = GPTConfig(**SHAPE, style="lesson", positions="none")
    assert GPTConfig.from_dict(config.to_dict()) == config


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"model_type": "llama"}, r"is of a llama model\. One that `attnscope train` wrote"),
        ({"hidden_size": 64}, "is of something else"),
        ([1, 2], "is of something else"),
        ({"format": "attnscope-gpt", "version": 2, **SHAPE}, r"version 2\. Version 1\. A newer attnscope"),
        (
            {"format": "attnscope-gpt", "version": 1, "context": 64},
            "lacks d_model, n_heads, n_layers, positions",
        ),
    ],
)
def test_another_kind_of_config_is_named(given: object, message: str) -> None:
    with pytest.raises(BrokenModel, match=message):
        GPTConfig.from_dict(given)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_layers": 0}, "n_layers is 0"),
        ({"context": "64"}, "context is '64'"),
        ({"n_heads": True}, "n_heads is True"),
        ({"n_heads": 5}, "d_model=64 and n_heads=5"),
        ({"positions": "learned"}, "style='modern' with positions='learned'"),
    ],
)
def test_a_shape_that_cannot_be_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(BrokenModel, match=message):
        GPTConfig(**(SHAPE | change))
