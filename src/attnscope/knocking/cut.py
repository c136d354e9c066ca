"""What is taken out of a head, and in which way; checked against the sizes of the call it is taken from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import torch

from attnscope.core.mask import Mask
from attnscope.core.masks import spans
from attnscope.errors import AttnscopeError
from attnscope.listen.call import Call
from attnscope.recording import Site
from attnscope.recording.asked import Where, cut_of, index_of

How = Literal["zero", "renormalise", "mean"]
"""What stands in the place of what was taken out. zero: weights of 0, all others as they were.   renormalise:
as if the mask hid the cells, so the row's other weights share their part.   mean: the head's mean output.
"""

HOWS: tuple[str, ...] = get_args(How)


@dataclass(frozen=True)
class Cut:
    """What is taken out of one head of one call of attention.

    site: a module's dotted name, the number of the call in a forward, or a recorded site.   head: the query
    head.   rows, cols: an index, a slice, or None for all; with cols None the output of the rows as a whole.
    how: what stands in its place.   batch: the text, None for all.   order: of a module that is called
    several times in a forward, which of its calls.
    """

    site: Site | str | int
    head: int
    rows: Where = None
    cols: Where = None
    how: How = "renormalise"
    batch: int | None = None
    order: int = 0

    def __post_init__(self) -> None:
        if self.how not in HOWS:
            raise AttnscopeError(f"how={self.how!r:.40}", wanted=f"One of {', '.join(map(repr, HOWS))}")
        if self.how == "mean" and self.cols is not None:
            raise AttnscopeError(
                'how="mean" with cols: a mean stands in the place of the whole output of a row',
                wanted="No cols, for whole rows",
                hint='Single cells are taken out with how="zero" or how="renormalise"',
            )

    @property
    def whole(self) -> bool:
        """Whether the output of the rows is taken out as a whole, and not some of their cells."""
        return self.cols is None

    def within(self, call: Call) -> Cut:
        """The same with numbers and slices that the call has. Raises ShapeError."""
        b, h, tq, _ = call.q.shape
        return replace(
            self,
            head=index_of(self.head, h, "head"),
            rows=None if self.rows is None else cut_of(self.rows, tq, "row"),
            cols=None if self.cols is None else cut_of(self.cols, call.k.shape[2], "column"),
            batch=None if self.batch is None else index_of(self.batch, b, "text of the batch"),
        )

    def texts(self, size: int) -> slice:
        """The texts of a batch of that size that it speaks of."""
        return slice(0, size) if self.batch is None else slice(self.batch, self.batch + 1)

    def kept(self, sizes: tuple[int, int, int], device: torch.device) -> Mask:
        """The cells that stay in a call of sizes (b, tq, tk): everything but rows x cols, as spans."""
        b, tq, tk = sizes
        texts = b if self.batch is not None else 1
        lo = torch.tensor([0, tk], device=device).repeat(texts, 1, tq, 1)
        hi = torch.full_like(lo, tk)
        rows, cols = cut_of(self.rows, tq, "row"), cut_of(self.cols, tk, "column")
        if cols.stop > cols.start:
            lo[self.texts(texts), :, rows, 1] = cols.stop
            hi[self.texts(texts), :, rows, 0] = cols.start
        return spans(lo, hi)
