"""Position vectors of waves: a column a position, fast waves on top, and how alike two positions are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor
from torch.nn.functional import cosine_similarity

from attnscope.core.positions import sinusoidal
from attnscope.errors import LessonError
from attnscope.lesson.experiment import Experiment, Table
from attnscope.lesson.given import checked
from attnscope.looks.numbers import number, typed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BASE = 10000.0
MOST = 128


@dataclass(frozen=True, eq=False)
class Sinusoids(Experiment):
    """Sinusoids of some positions: table (t d), and similarity (t t) as the cosine between two positions.

    position and others are those that the table of figures compares. periods holds the wavelength of each
    pair of rows, in tokens.
    """

    position: int
    others: tuple[int, ...]
    table: Tensor
    similarity: Tensor
    periods: tuple[float, ...]

    def tables(self) -> list[Table]:
        """Return the similarity of one position with others, and the wavelengths."""
        alike = tuple(
            (str(other), number(float(self.similarity[self.position, other]), 3)) for other in self.others
        )
        first, *_, last = self.periods
        waves = (
            ("0 and 1, the fastest", typed(first)),
            (f"{2 * len(self.periods) - 2} and {2 * len(self.periods) - 1}, the slowest", typed(last, 0)),
        )
        return [
            Table(f"Cosine similarity of position {self.position}", ("with position", "similarity"), alike),
            Table("One turn of a wave takes", ("numbers of the vector", "tokens"), waves),
        ]  # fmt: skip

    def draw(self) -> Figure:
        """Return the waves as a picture, fast ones on top, and the similarity curve of one position."""
        from attnscope.lesson.signed import signed
        from attnscope.looks.drawing import ACCENT, INK, figure

        made, (left, right) = figure(1, 2, size=(10, 3.8))
        signed(left, self.table.T, most=1, across="position", down="number of the vector")
        left.axvline(self.position, color=ACCENT, linewidth=1)
        right.plot(self.similarity[self.position].tolist(), color=INK)
        right.axvline(self.position, color=ACCENT, linewidth=1)
        right.set_xlabel("position")
        right.set_ylabel(f"cosine similarity with position {self.position}")
        return made


@checked
def sinusoids(
    *, t: int = 64, d: int = 64, position: int = 10, others: Sequence[int] = (10, 11, 15, 30, 60)
) -> Sinusoids:
    """Make the position vectors of t positions, d wide, and compare every two of them.

    Raises LessonError for a size that cannot be shown or a position that is not there.
    """
    if not 2 <= t <= MOST or not 2 <= d <= MOST or d % 2:
        raise LessonError(
            f"t={t} and d={d}", wanted=f"2 to {MOST} positions, and an even width up to {MOST} are wanted"
        )
    for one in (position, *others):
        if not 0 <= one < t:
            raise LessonError(f"Position {one} of {t}", wanted=f"A position from 0 to {t - 1} is wanted")
    table = sinusoidal(t, d, base=BASE)
    return Sinusoids(
        position=position,
        others=tuple(others),
        table=table,
        similarity=cosine_similarity(table[:, None], table[None], dim=-1),
        periods=tuple(2 * math.pi * BASE ** (2 * i / d) for i in range(d // 2)),
    )
