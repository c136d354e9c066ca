"""What every experiment of the lesson gives: its numbers, the same as tables and as data, and its figure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from attnscope.plain import plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Table:
    """A table as a person reads it: every cell is written already. `note` is one sentence under it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


class Experiment(ABC):
    """The base of the results: frozen dataclasses whose fields are numbers, words and tensors."""

    @abstractmethod
    def tables(self) -> list[Table]:
        """Return the numbers as tables, for a terminal and a notebook."""

    @abstractmethod
    def draw(self) -> Figure:
        """Return the figure; `plot` calls it within the common look."""

    def plot(self) -> Figure:
        """Return the figure, ready for `savefig`; matplotlib's settings are afterwards as they were."""
        from attnscope.looks.drawing import look

        with look():
            return self.draw()

    def to_dict(self) -> dict[str, Any]:
        """Return every field as JSON values; infinities are words."""
        return {field.name: plain(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]

    def _repr_png_(self) -> bytes:
        """Return the figure as a notebook shows it."""
        from attnscope.looks.drawing import png

        return png(self.plot())
