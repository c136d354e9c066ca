"""The examples in the docstrings of the mechanism do what they say."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["attention", "dense", "designed", "given", "places", "positions"])
def test_the_examples_of_a_module_run(name: str) -> None:
    tried = doctest.testmod(importlib.import_module(f"attnscope.core.{name}"))
    assert tried.attempted > 0 and tried.failed == 0
