"""What every test shares: shape checks on attnscope's own signatures, one seed, one thread of torch."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attnscope.lesson import Experiment

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import hypothesis
import pytest
from jaxtyping import config as shape_checks
from jaxtyping import install_import_hook

_OWNERS = ["core", "nn"]
_CHECKED = [f"attnscope.{name}" for name in _OWNERS]
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


@pytest.fixture(autouse=True, scope="module")
def _shapes_are_checked_where_they_are_tested(request: pytest.FixtureRequest) -> Iterator[None]:
    """Leave the checks of shapes to the tests of core and nn: elsewhere core is called thousands of times,
    in shapes that these test, and the checks take most of the time.
    """
    owned = any(Path(__file__).parent / name in request.path.parents for name in _OWNERS)
    shape_checks.update("jaxtyping_disable", not owned)
    yield
    shape_checks.update("jaxtyping_disable", False)


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(20_231)
