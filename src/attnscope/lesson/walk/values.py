"""Every number of a sheet, from the plain steps of `core` in float64."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from attnscope.core.dense import steps
from attnscope.core.masks import causal
from attnscope.core.mix import grouped
from attnscope.core.scoring import Scoring
from attnscope.lesson.walk.sheet import PROJECTED, Rows, Sheet

ORDINALS = ("", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
FAR = 30.0  # e to the power 30 is 1e13; a row whose largest score is further from 0 is first moved by it


@dataclass(frozen=True, eq=False)
class Values:
    """The grids of a sheet by name, float64, and `seen` (n n), bool.

    x (distinct width), wq, wk, wv (width d), q, k, v, out (n d), products, scaled, scores, gaps, exps,
    weights (n n), peaks, shifts, sums, wholes (n), parts (n n d).
    """

    sheet: Sheet
    grids: dict[str, Tensor]
    seen: Tensor

    def at(self, grid: str, *at: int) -> float:
        """Return one number."""
        found = self._lists[grid]
        for place in at:
            found = found[place]
        return found  # type: ignore[no-any-return]

    def visible(self, i: int, j: int) -> bool:
        """Return whether position i may look at position j."""
        return self._seen[i][j]

    @cached_property
    def _lists(self) -> dict[str, Any]:
        """The grids as nested lists, of which one number is had sooner than of a tensor."""
        return {name: grid.tolist() for name, grid in self.grids.items()}

    @cached_property
    def _seen(self) -> list[list[bool]]:
        return self.seen.tolist()

    @cached_property
    def sizes(self) -> dict[str, int]:
        """How far each index goes."""
        sheet = self.sheet
        return {"w": len(sheet.distinct), "a": sheet.width, "c": sheet.d, "i": sheet.n, "j": sheet.n}

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The words, those that stand more than once told apart: "the first cat"."""
        words = self.sheet.words
        made = tuple(_label(words, i) for i in range(len(words)))
        return (
            made if len(set(made)) == len(made) else tuple(f"{w} (word {i + 1})" for i, w in enumerate(words))
        )


def evaluate(sheet: Sheet) -> Values:
    """Return every number of the sheet.

    One query at a time: so small a product is summed in the order in which it is read, and the page, which
    does the same, finds the same bits.
    """
    grids = {name: _tensor(getattr(sheet, name)) for name in ("x", "wq", "wk", "wv")}
    for name in PROJECTED:
        grids[name] = _projected(sheet, name, grids["x"], grids["w" + name])
    q, k, v = (grids[name][None, None] for name in PROJECTED)
    how = {"mask": causal() if sheet.causal else None, "scale": None if sheet.scale else 1.0}
    rows = [steps(q[:, :, i : i + 1], k, v, Scoring(**how, offset=i)) for i in range(sheet.n)]  # type: ignore[arg-type]
    for name in ("products", "scaled", "scores", "weights", "out"):
        grids[name] = torch.cat([getattr(row, name)[0, 0] for row in rows])
    peaks = torch.cat([row.normaliser.peak[0, 0] for row in rows])
    shifts = peaks.where(peaks.abs() > FAR, 0.0)
    gaps = grids["scores"] - shifts[:, None]
    exps = gaps.exp()  # by hand the shares come from these; core takes every weight from peak and logsum
    grids |= {"peaks": peaks, "shifts": shifts, "gaps": gaps, "exps": exps, "sums": exps.sum(dim=-1)}
    grids["wholes"] = grids["weights"].sum(dim=-1)
    grids["parts"] = grids["weights"][..., None] * grids["v"]  # (n n d)
    return Values(sheet, grids, torch.cat([row.visible[0, 0] for row in rows]))


def _label(words: tuple[str, ...], i: int) -> str:
    if words.count(words[i]) == 1:
        return words[i]
    return f"the {ORDINALS[words[: i + 1].count(words[i])]} {words[i]}"


def _projected(sheet: Sheet, name: str, x: Tensor, matrix: Tensor) -> Tensor:
    """x of each word times its matrix (n d), with the detached cells' own numbers."""
    rows = [grouped(x[None, None, sheet.row(i), None], matrix[None, None])[0, 0] for i in range(sheet.n)]
    made = torch.cat(rows)
    for (grid, i, c), value in sheet.detached.items():
        if grid == name:
            made[i, c] = value
    return made + 0.0  # no −0


def _tensor(rows: Rows) -> Tensor:
    return torch.tensor(rows, dtype=torch.float64)
