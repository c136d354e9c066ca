"""The heads of a survey as a picture: each a point between two scores, the uniform head as dotted lines."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from attnscope.errors import AttnscopeError
from attnscope.looks.drawing import ACCENT, INK_2, INK_3, figure, png, svg
from attnscope.measure import HeadRow, HeadTable
from attnscope.measure.scores import NAMES, SCORE
from attnscope.plain import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_scatter(table: HeadTable, x: str, y: str, form: str, *, chosen: str = "") -> bytes:
    """The picture as "png" or "svg"; `chosen` is a head as "SITE.HEAD", with its intervals and its name.

    Raises AttnscopeError for a score that does not exist.
    """
    made, axes = figure(size=(5.2, 5.2))
    plot_scatter(table, x, y, chosen=chosen, ax=axes)
    about = {"model": dict(table.model), "seed": table.seed, "x": x, "y": y, "texts": len(table.texts)}
    return (png if form == "png" else svg)(made, about=json.dumps(plain(about)))


def plot_scatter(table: HeadTable, x: str, y: str, *, chosen: str = "", ax: Axes) -> Axes:
    """Draw every head that has both scores, and return the Axes. A share of weight goes from 0 to 1."""
    for name in (x, y):
        if name not in SCORE:
            raise AttnscopeError(f"There is no score {name!r:.60}", wanted=f"One of {', '.join(NAMES)}")
    rows = [row for row in table.rows if not math.isnan(row.scores[x].value + row.scores[y].value)]
    level = {name: _uniform(table, name) for name in (x, y)}
    ax.axvline(level[x], color=INK_3, linewidth=0.8, linestyle=":")
    ax.axhline(level[y], color=INK_3, linewidth=0.8, linestyle=":")
    ax.scatter(
        [row.scores[x].value for row in rows], [row.scores[y].value for row in rows],
        s=22, color=INK_3, alpha=0.6, linewidths=0,
    )  # fmt: skip
    for row in rows:
        if f"{row.site}.{row.head}" == chosen:
            _choose(ax, row, x, y)
    for name, limits, label in ((x, ax.set_xlim, ax.set_xlabel), (y, ax.set_ylim, ax.set_ylabel)):
        score = SCORE[name]
        top = 1.0 if score.unit == "weight" else max([1.0, *(row.scores[name].value for row in rows)])
        limits(-0.02 * top, 1.02 * top)
        label(score.title if score.unit == "weight" else f"{score.title}, {score.unit}")
    ax.set_title(str(table.model.get("label") or table.model.get("class") or "heads"), parse_math=False)
    ax.text(1, 1.02, f"{len(rows)} heads", transform=ax.transAxes, ha="right", color=INK_2, fontsize=9)
    return ax


def _choose(ax: Axes, row: HeadRow, x: str, y: str) -> None:
    """Mark a head: its intervals over texts, and its name."""
    across, up = row.scores[x], row.scores[y]
    if not math.isnan(across.low):
        ax.plot([across.low, across.high], [up.value] * 2, color=ACCENT, linewidth=1)
    if not math.isnan(up.low):
        ax.plot([across.value] * 2, [up.low, up.high], color=ACCENT, linewidth=1)
    ax.scatter([across.value], [up.value], s=40, color=ACCENT, zorder=3)
    at: Any = (across.value, up.value)
    ax.annotate(f"L{row.layer} H{row.head}", at, xytext=(6, 6), textcoords="offset points", color=ACCENT)


def _uniform(table: HeadTable, name: str) -> float:
    """The uniform head's score: that of the first head that has one."""
    return next((u for row in table.rows if not math.isnan(u := row.scores[name].uniform)), math.nan)
