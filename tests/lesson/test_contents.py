"""The table of contents: eleven sections, and every experiment they list."""

from __future__ import annotations

import json
from importlib import import_module

import pytest
from matplotlib.figure import Figure

from attnscope import lesson
from attnscope.errors import LessonError
from attnscope.lesson.contents import SECTIONS, Section, section
from attnscope.lesson.experiment import Experiment

_BY_NUMBER = pytest.mark.parametrize("one", SECTIONS, ids=lambda one: f"section_{one.number}")


def test_there_are_eleven_sections_in_order() -> None:
    assert [one.number for one in SECTIONS] == list(range(1, 12))
    assert [section(one.number) for one in SECTIONS] == list(SECTIONS)


@pytest.mark.parametrize("number", [0, 12, -1])
def test_a_section_that_is_not_there_is_refused_with_those_that_are(number: int) -> None:
    with pytest.raises(LessonError, match=rf"no section {number}\. 1 to 11 is wanted"):
        section(number)


@_BY_NUMBER
def test_every_experiment_has_tables_a_figure_and_data(one: Section) -> None:
    for name, experiment in one.run():
        assert isinstance(experiment, Experiment), name
        tables = experiment.tables()
        assert tables, name
        for table in tables:
            assert {len(row) for row in table.rows} <= {len(table.columns)}, (name, table.title)
            assert all(isinstance(cell, str) for row in table.rows for cell in row), (name, table.title)
        assert isinstance(experiment.plot(), Figure), name
        json.dumps(experiment.to_dict(), allow_nan=False)


@_BY_NUMBER
def test_a_chapter_is_small_enough_to_send_at_once(one: Section) -> None:
    assert len(json.dumps(one.to_dict(), allow_nan=False, separators=(",", ":"))) < 700_000


def test_every_public_name_of_the_lesson_is_there() -> None:
    for name in lesson.__all__:
        assert getattr(lesson, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = lesson.nothing


def test_every_experiment_is_a_public_name() -> None:
    assert {name for one in SECTIONS for name in one.names} <= set(lesson.__all__)


def test_an_experiment_keeps_its_name_also_after_its_module_of_the_same_name_was_imported() -> None:
    for one in SECTIONS:
        for home in one.homes:
            module, _, name = home.partition(":")
            found = import_module(f"attnscope.lesson.{module}")
            assert getattr(lesson, name) is getattr(found, name)
