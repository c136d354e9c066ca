"""A tile of a map: for each pixel the sum of its weights, their mean over visible cells, and the largest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnscope.errors import RecordingError
from attnscope.models.reading import HIDDEN

Reduction = Literal["sum", "mean", "max"]
REDUCTIONS: tuple[Reduction, ...] = ("sum", "mean", "max")

Form = Literal["float32", "bfloat16"]
FORMS: dict[str, torch.dtype] = {"float32": torch.float32, "bfloat16": torch.bfloat16}


class Address(NamedTuple):
    """Where a tile is: the site's place in its run, the model's number of the head, a place in a level."""

    site: int
    head: int
    level: int
    row: int
    col: int
    reduction: Reduction = "max"


@dataclass(frozen=True, eq=False)
class Tile:
    """rows, cols: the cells it covers.   cells: along a side of a pixel; 1 at the deepest level.

    sums, maxima: (r c) float32, 0 where nothing is visible.   seen: how many cells of a pixel are visible.
    Tiles at the edge of the grid have fewer than 256 rows or columns.
    """

    level: int
    row: int
    col: int
    rows: slice
    cols: slice
    cells: int
    sums: Float[Tensor, "r c"] = field(repr=False)
    maxima: Float[Tensor, "r c"] = field(repr=False)
    seen: Int[Tensor, "r c"] = field(repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of pixels."""
        return int(self.seen.shape[0]), int(self.seen.shape[1])

    def values(self, reduction: Reduction = "max") -> Float[Tensor, "r c"]:
        """The pixels, HIDDEN (-1) where no cell is visible: "sum", "mean" over the visible cells, "max".

        Raises RecordingError for another reduction.
        """
        check_reduction(reduction)
        if reduction == "mean":
            found = self.sums / self.seen
        else:
            found = self.sums if reduction == "sum" else self.maxima
        return found.masked_fill(self.seen == 0, HIDDEN)

    def encode(self, *reductions: Reduction, form: Form = "float32") -> bytes:
        """The pixels as raw little-endian numbers, row by row; several reductions one after the other, all
        three where none is named.

        "float32" is exact. "bfloat16", the upper two bytes of a float32, is half as long and errs by 2^-8 of
        a number at most (of one below 1e-38 by 1e-40); -1 and 0 stay as they are. Raises RecordingError.
        """
        if form not in FORMS:
            raise RecordingError(f"form={form!r:.40}", wanted=" or ".join(FORMS))
        planes = torch.stack([self.values(one) for one in reductions or REDUCTIONS]).to(FORMS[form])
        if form == "bfloat16":
            return planes.view(torch.int16).cpu().numpy().astype("<i2").tobytes()
        return planes.cpu().numpy().astype("<f4").tobytes()


def check_reduction(reduction: str) -> None:
    """Raises RecordingError unless it is one of REDUCTIONS."""
    if reduction not in REDUCTIONS:
        raise RecordingError(f"reduction={reduction!r:.40}", wanted=", ".join(REDUCTIONS))
