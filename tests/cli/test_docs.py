"""The pages about the commands and routes name every one of them."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from fastapi.routing import APIRoute

from attnscope.cli.lazy import COMMANDS, LazyGroup
from attnscope.web.catalogue import Catalogue
from attnscope.web.routes import api_routes
from attnscope.web.worker import Worker

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_is_in_the_docs(name: str) -> None:
    assert f"| `{name}` |" in (DOCS / "cli.md").read_text("utf-8")


@pytest.mark.parametrize("name", ["app", "look", "info"])
def test_every_option_is_in_the_docs(name: str) -> None:
    text = (DOCS / "cli.md").read_text("utf-8") + (DOCS / "app.md").read_text("utf-8")
    command = LazyGroup().get_command(click.Context(LazyGroup()), name)
    assert command is not None
    for option in command.params:
        if isinstance(option, click.Option):
            assert any(f"`{word}" in text for word in option.opts), f"{name} {option.opts}"


def test_every_route_is_in_the_docs() -> None:
    text = (DOCS / "app.md").read_text("utf-8")
    catalogue = Catalogue({})
    for route in api_routes(catalogue, Worker(catalogue)).routes:
        assert isinstance(route, APIRoute)
        for method in route.methods:
            assert f"| `{method} {route.path}` |" in text, (method, route.path)
