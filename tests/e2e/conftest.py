"""The real server on a free port, and a real browser that may speak to nothing else."""

from __future__ import annotations

import contextlib
import functools
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from attnscope.cli.main import run as run_command
from tests.e2e.pages import Explore, Map, Walk, chromium, desk_of, served, watched


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="session")
def spelled_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Hugging Face model, byte-level as GPT-2's: it knows one Hebrew word whole and no emoji."""
    from tests.models.tiny import byte_level, llama_folder

    folder = tmp_path_factory.mktemp("spelled") / "tiny"
    return llama_folder(folder, byte_level(["שלום world"] * 4, 290), context=512)


@pytest.fixture(scope="session")
def server(spelled_folder: Path) -> Iterator[str]:
    """The address of `attnscope app`, started as a user starts it."""
    with served("--model", spelled_folder) as base:
        yield base


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests."""
    with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def desk(browser: Browser) -> Iterator[Page]:
    """One page that the tests use in turn: a browser that has read the files once is faster."""
    with desk_of(browser) as page:
        yield page


@pytest.fixture
def explore(server: str, desk: Page) -> Iterator[Explore]:
    """Explore on an empty page of 1440 x 900."""
    one = Explore(desk, server)
    with watched(desk, one):
        yield one


@pytest.fixture
def walk(server: str, desk: Page) -> Iterator[Walk]:
    """Walk on an empty page of 1440 x 900."""
    one = Walk(desk, server)
    with watched(desk, one):
        yield one


@pytest.fixture
def sheet(server: str, desk: Page) -> Iterator[Map]:
    """Map on an empty page of 1440 x 900."""
    one = Map(desk, server)
    with watched(desk, one):
        yield one


@pytest.fixture(scope="session")
def look() -> Callable[..., dict[str, Any]]:
    """What `attnscope look --json` prints."""

    @functools.cache
    def run(model: str, text: str, *, layer: int, head: int, query: int) -> dict[str, Any]:
        place = ["--layer", str(layer), "--head", str(head), "--query", str(query), "--json"]
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            assert run_command(["look", model, "--text", text, *place]) == 0
        answer: dict[str, Any] = json.loads(printed.getvalue())
        return answer

    return run
