"""The pages about the commands and routes name every one of them."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import click
import pytest
from fastapi.routing import APIRoute

from attnscope import lesson
from attnscope.cli.lazy import COMMANDS, LazyGroup
from attnscope.web.app import PAGES
from attnscope.web.catalogue import Catalogue
from attnscope.web.comparing import Comparing, compare_routes
from attnscope.web.heads import heads_routes
from attnscope.web.knocking import KnockRoom, knock_routes
from attnscope.web.lesson import lesson_routes
from attnscope.web.maps import MapRoom, map_routes
from attnscope.web.measuring import Measuring, measure_routes
from attnscope.web.routes import api_routes
from attnscope.web.saving import saving_routes
from attnscope.web.surveys import Surveys
from attnscope.web.worker import Worker

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_is_in_the_docs(name: str) -> None:
    assert f"| `{name}` |" in (DOCS / "cli.md").read_text("utf-8")


@pytest.mark.parametrize(
    "name",
    [
        "app",
        "look",
        "record",
        "info",
        "verify",
        "map",
        "export",
        "cells",
        "compare",
        "heads",
        "check",
        "lesson",
    ],
)
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
    worker = Worker(catalogue)
    routers = [
        api_routes(catalogue, worker),
        saving_routes(worker),
        compare_routes(Comparing(worker, catalogue)),
        map_routes(worker, MapRoom(worker)),
        knock_routes(worker, KnockRoom(worker, catalogue)),
        heads_routes(Surveys(catalogue)),
        lesson_routes(),
        measure_routes(Measuring()),
    ]
    for route in (route for router in routers for route in router.routes):
        assert isinstance(route, APIRoute)
        for method in route.methods:
            assert f"| `{method} {route.path}` |" in text, (method, route.path)
    for name in PAGES:
        assert f"| `GET /{name}` |" in text, name


def test_every_public_name_of_the_lesson_is_in_the_docs() -> None:
    text = (DOCS / "lesson.md").read_text("utf-8")
    for name in lesson.__all__:
        assert f"`{name}`" in text or f"`{name}(" in text, name
    for one in lesson.SECTIONS:
        assert f"| {one.number} | {one.title} |" in text
        for name in one.names:
            assert f"| {one.number} | `{name}(" in text, name


@pytest.mark.parametrize("name", [name for one in lesson.SECTIONS for name in one.names] + ["measure_cost"])
def test_every_parameter_of_an_experiment_is_in_the_docs(name: str) -> None:
    (listed,) = re.findall(rf"^\| \d+ \| `{name}\((.*?)\)` \|", (DOCS / "lesson.md").read_text("utf-8"), re.M)
    parameters = inspect.signature(getattr(lesson, name)).parameters
    assert [word.strip(" =") for word in listed.split(",")] == list(parameters)
