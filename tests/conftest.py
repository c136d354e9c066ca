"""What every test shares: shape checks on attnscope's own signatures, one seed, one thread of torch."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attnscope.lesson import Experiment

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import hypothesis
import pytest
from jaxtyping import config as shape_checks
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
    parser.addoption("--write", action="store_true", help="write docs/zoo.md anew from what the zoo gives")


@pytest.fixture(autouse=True, scope="session")
def _each_section_runs_once() -> Iterator[None]:
    """Keep the results of the lesson's sections: many tests read the same ones."""
    from attnscope.lesson.contents import Section

    run = Section.run
    kept: dict[int, list[tuple[str, Experiment]]] = {}

    def once(self: Section) -> Iterator[tuple[str, Experiment]]:
        if self.number not in kept:
            kept[self.number] = list(run(self))
        return iter(kept[self.number])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Section, "run", once)
        yield


@pytest.fixture(scope="module")
def unchecked() -> Iterator[None]:
    """Leave the checks of shapes out of a module that calls core thousands of times, in shapes that core's
    own tests check: they take most of its time.
    """
    shape_checks.update("jaxtyping_disable", True)
    yield
    shape_checks.update("jaxtyping_disable", False)


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(20_231)
