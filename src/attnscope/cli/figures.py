"""Writes the lesson's figures into a folder: each as PNG and SVG, whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from attnscope.errors import LessonError
from attnscope.files import home_made, make_folder, write_whole
from attnscope.looks.drawing import png, svg

if TYPE_CHECKING:
    from pathlib import Path

    from attnscope.cli.progress import Progress
    from attnscope.lesson.contents import Section

_FORMS = {"png": png, "svg": svg}


def write_figures(
    sections: Sequence[Section], folder: str, *, progress: Progress | None = None
) -> Iterator[Path]:
    """Write the figures of `sections` and yield each file: 03-spread.png, 03-spread.svg and so on.

    A folder that is there is used; a figure of that name is replaced, other files stay. Raises LessonError
    where something that is no file stands in a figure's place.
    """
    where = home_made(folder, LessonError)
    _check(sections, where)
    make_folder(where, LessonError, "Choose another folder")
    total = sum(len(one.homes) for one in sections)
    done = 0
    for one in sections:
        for name, experiment in one.run():
            if progress is not None:
                progress(f"section {one.number}, {name}", done, total)
            done += 1
            made = experiment.plot()
            for form, drawn in _FORMS.items():
                path = where / file_name(one, name, form)
                write_whole(path, drawn(made), LessonError)
                yield path
    if progress is not None:
        progress("", total, total)


def file_name(one: Section, experiment: str, form: str) -> str:
    """Return a figure's file name: the section in two digits, the experiment, png or svg."""
    return f"{one.number:02}-{experiment.replace('_', '-')}.{form}"


def _check(sections: Sequence[Section], where: Path) -> None:
    """Refuse what stands in the way before anything is computed."""
    if where.exists() and not where.is_dir():
        raise LessonError(f"{where} is a file", wanted="A folder for the figures is wanted")
    for one in sections:
        for name in one.names:
            for form in _FORMS:
                path = where / file_name(one, name, form)
                if path.exists() and not path.is_file():
                    raise LessonError(
                        f"{path} is no file, and a figure is to have that name",
                        wanted="A folder in which that name is free is wanted",
                    )
