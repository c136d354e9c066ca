"""Scores on their way from a product to a softmax, and probabilities from there to the product that mixes
values: through views, casts, masks and dropout, known by the memory in which they lie.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from attnscope.listen.ears import follows
from attnscope.listen.folds import tensors_in
from attnscope.listen.frames import Frame, here
from attnscope.listen.layout import Layout
from attnscope.listen.memories import Memories, strided
from attnscope.listen.products import of_positions


@dataclass(eq=False)
class Grid:
    """Probabilities on their way to a product. name: the module that called softmax.   frame: which looks for
    the product now.

    scores: what softmax was given.   version: of its content.   sinks: (h) logits of a last column that is
    nobody's key.   softmax: the dtype of the probabilities.   cached: a cache held some of the keys.
    sources: the memory in which the probabilities lie, or copies of them.   dropout: the probability with
    which some were dropped.
    """

    name: str
    frame: Frame
    layout: Layout
    scores: Tensor = field(repr=False)
    version: int | None
    sinks: Tensor | None = field(repr=False)
    softmax: torch.dtype
    cached: bool
    dropout: float = 0.0
    handed_up: int = 0
    sources: Memories[bool] = field(default_factory=Memories, repr=False)

    def holds(self, tensor: Tensor) -> bool:
        """Whether a tensor lies in memory that holds these probabilities."""
        return self.sources.of(tensor) is not None

    def fits(self, tensor: Tensor) -> bool:
        """Whether a tensor has as many numbers as the probabilities, with the sink's column or without."""
        b, h, tq, tk = self.layout.sizes
        columns = (tk,) if self.sinks is None else (tk, tk + 1)
        return strided(tensor) and tensor.numel() in [b * h * tq * count for count in columns]

    def follow(self, tensor: Tensor) -> None:
        """These probabilities now lie in this tensor as well."""
        self.sources.keep(tensor, True)


def multiplied(of: Sequence[Tensor], result: Tensor) -> None:
    """A product was made: softmax of it, or of what is computed from it cell by cell, may be attention."""
    if of_positions(of) and result.dim() > 2 and strided(result):
        here.products.keep(result, tuple(result.shape[-2:]))


@follows
def passing(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
    """Anything else that is done to probabilities: what has as many numbers is followed, whatever it does to
    them; the certificate tells whether it left them alone.
    """
    if not isinstance(result, Tensor) or not result.is_floating_point():
        return
    given = list(tensors_in((*args, *kwargs.values())))
    for grid in here.grids:
        if grid.fits(result) and any(map(grid.holds, given)):
            grid.follow(result)
            grid.dropout = max(grid.dropout, _dropout(function, args, kwargs))


@follows
def still_scores(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
) -> None:
    """What is computed from a product and has its queries and keys, a sink beside them or not, is scores."""
    if not here.products or function is F.linear or not isinstance(result, Tensor) or result.dim() < 3:
        return
    for given in tensors_in((*args, *kwargs.values())):
        cells = here.products.of(given)
        if cells is not None and strided(result) and here.products.of(result) is None:
            tq, tk = cells
            if result.shape[-2] == tq and result.shape[-1] in (tk, tk + 1):
                here.products.keep(result, cells)


def _dropout(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> float:
    """The probability with which a call drops weights; 0 for every other function."""
    if function not in (F.dropout, torch.dropout):
        return 0.0
    names = ("input", "p", "training" if function is F.dropout else "train")
    given = {"p": 0.5, "training": True} | dict(zip(names, args, strict=False)) | kwargs
    return float(given["p"]) if given.get("train", given["training"]) else 0.0
