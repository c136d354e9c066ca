"""Which real models are run, what they are given to read, and the table of what was measured."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .loaders import installed
from .runs import Recorded, record_once

MEASURED = pytest.StashKey[dict[str, dict[str, str]]]()
LARGE = "a large real model: `make test-real` runs it"


def pytest_configure(config: pytest.Config) -> None:
    config.stash[MEASURED] = {}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("real"):
            item.add_marker(pytest.mark.timeout(1200))
            if not config.getoption("--real"):
                item.add_marker(pytest.mark.skip(reason=LARGE))


@pytest.fixture
def measure(request: pytest.FixtureRequest) -> Callable[[str, str, str], None]:
    """Call measure(run, what, figure) to put a figure into the table printed at the end."""
    table = request.config.stash[MEASURED]
    return lambda run, what, figure: table.setdefault(run, {}).__setitem__(what, figure)


@pytest.fixture
def recorded(request: pytest.FixtureRequest) -> Callable[[str, str, str], Recorded]:
    """Call recorded(model, attention, dtype) for that model's run; a run is made once a session."""

    def made(name: str, attention: str, dtype: str) -> Recorded:
        if not installed(name) and not request.config.getoption("--real"):
            pytest.skip(f"the package with {name} is not installed")
        return record_once(name, attention, dtype)

    return made


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    table = config.stash.get(MEASURED, {})
    if table:
        terminalreporter.section("measured")
    for run in sorted(table):
        terminalreporter.write_line(f"{run}: " + ", ".join(f"{k} {v}" for k, v in table[run].items()))
