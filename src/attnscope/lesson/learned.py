"""A learned table of positions: the one of the shipped lesson model, compared row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity

from attnscope.errors import LessonError
from attnscope.gpt.shipped import load_shipped
from attnscope.lesson.experiment import Experiment, Table
from attnscope.lesson.given import checked
from attnscope.looks.numbers import count, number

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class LearnedPositions(Experiment):
    """The table (t d) that training made, and the similarity (t t) of its rows as their cosine."""

    model: str
    position: int
    others: tuple[int, ...]
    table: Tensor
    similarity: Tensor
    parameters: int

    def tables(self) -> list[Table]:
        """Return the size of the table, and how alike one position is with others."""
        t, d = self.table.shape
        alike = tuple(
            (str(other), number(float(self.similarity[self.position, other]), 3)) for other in self.others
        )
        return [
            Table(
                f"Learned positions of the model “{self.model}”",
                ("positions", "width", "parameters"),
                ((count(t), count(d), count(self.parameters)),),
                f"There is no row {t}: a longer text cannot be read.",
            ),
            Table(f"Cosine similarity of learned position {self.position}", ("with", "similarity"), alike),
        ]  # fmt: skip

    def draw(self) -> Figure:
        """Return the similarity of every two positions, and the curve of one."""
        from attnscope.lesson.signed import signed
        from attnscope.looks.drawing import ACCENT, INK, figure

        made, (left, right) = figure(1, 2, size=(9, 3.8))
        signed(left, self.similarity, most=1, across="position", down="position")
        right.plot(self.similarity[self.position].tolist(), color=INK)
        right.axvline(self.position, color=ACCENT, linewidth=1)
        right.set_xlabel("position")
        right.set_ylabel(f"cosine similarity with position {self.position}")
        return made

    def to_dict(self) -> dict[str, object]:
        """Return every field but the table itself, which nothing on the page draws."""
        return {name: value for name, value in super().to_dict().items() if name != "table"}


@checked
@torch.no_grad()
def learned_positions(
    *, model: str = "lesson", position: int = 10, others: Sequence[int] = (10, 11, 15, 30, 60)
) -> LearnedPositions:
    """Compare the rows of a shipped model's position table.

    Raises LessonError where the model has no such table or no such position, MissingModel for another name.
    """
    loaded = load_shipped(model).position
    if loaded is None:
        raise LessonError(f"The model {model!r} has no table of positions", wanted='model="lesson" is wanted')
    table = loaded.weight.detach()
    for one in (position, *others):
        if not 0 <= one < len(table):
            raise LessonError(
                f"Position {one} of {len(table)}", wanted=f"A position from 0 to {len(table) - 1} is wanted"
            )
    return LearnedPositions(
        model=model,
        position=position,
        others=tuple(others),
        table=table,
        similarity=cosine_similarity(table[:, None], table[None], dim=-1),
        parameters=table.numel(),
    )
