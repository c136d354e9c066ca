"""Cells reduced to pixels: sums and maxima."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad


def sums(x: Tensor, cells: int) -> Float[Tensor, "r c"]:
    """The sum of each square of cells x cells of x; squares at the end may be cut short."""
    return _along(_down(x, cells).sum(dim=1), cells).sum(dim=-1) if cells > 1 else x


def maxima(x: Tensor, cells: int) -> Float[Tensor, "r c"]:
    """The largest of each square of x, which holds no negative numbers."""
    return _along(_down(x, cells).amax(dim=1), cells).amax(dim=-1) if cells > 1 else x


def _down(x: Tensor, cells: int) -> Tensor:
    """(squares, cells, columns), filled up with zeros to whole squares."""
    short = -x.shape[0] % cells
    return (pad(x, (0, 0, 0, short)) if short else x).reshape(-1, cells, x.shape[1])


def _along(x: Tensor, cells: int) -> Tensor:
    """(rows, squares, cells), filled up with zeros to whole squares."""
    short = -x.shape[1] % cells
    return (pad(x, (0, short)) if short else x).reshape(x.shape[0], -1, cells)
