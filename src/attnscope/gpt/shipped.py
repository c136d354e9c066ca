"""The models that come with attnscope: trained by its own presets, kept inside the package."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from attnscope.errors import MissingModel
from attnscope.files import home_made, reading

if TYPE_CHECKING:
    from attnscope.gpt.model import GPT

SHIPPED = ("embedded", "lesson", "lesson-no-positions")


def shipped_folder(name: str) -> Path:
    """Where a shipped model's files lie. Raises MissingModel with the names there are."""
    if name not in SHIPPED:
        raise MissingModel(f"No model {name!r} ships with attnscope", wanted=f"One of {', '.join(SHIPPED)}")
    return Path(str(files("attnscope").joinpath("data", "models", name)))


def load_shipped(name: str) -> GPT:
    """A shipped model, in float32 and eval mode. Raises MissingModel for another name."""
    from attnscope.gpt.store import load

    return load(shipped_folder(name))


def open_gpt(name: str) -> GPT:
    """A shipped model by its name, or the model in a folder. Raises MissingModel or BrokenModel."""
    from attnscope.gpt.store import load

    if name in SHIPPED:
        return load_shipped(name)
    folder = home_made(name, MissingModel)
    with reading(folder, MissingModel):
        there = folder.is_dir()
    if not there:
        raise MissingModel(
            f"There is no folder {name}",
            wanted=f"A folder that `attnscope train` wrote, or one of {', '.join(SHIPPED)}",
        )
    return load(folder)
