"""How far a long walk has come, and how it is told to stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

from attnscope.core.scoring import Bound
from attnscope.errors import Cancelled

Progress = Callable[[float], bool | None]
"""Called with the share of the work that is done, 0 to 1; False stops the walk, and nothing else does."""


def shares(bound: Bound, blocks: Sequence[slice]) -> list[float]:
    """What share of all their cells has been walked over once each of these blocks of rows is done."""
    cells = []
    for rows in blocks:
        width = sum(hi - lo for lo, hi in bound.visible.ranges(rows))
        cells.append((rows.stop - rows.start) * max(width, 1))
    total = sum(cells)
    return [done / total for done in accumulate(cells)]


def report(progress: Progress | None, share: float) -> None:
    """Tells how far the walk is. Raises Cancelled where that is answered with False."""
    if progress is not None and progress(share) is False:
        raise Cancelled(
            f"The walk was stopped after {share:.0%}",
            wanted="Every block of rows",
            hint="progress returned False; nothing was changed, and the call can be made again",
        )
