"""The seam behind which tiles are walked: what an engine is asked for, and what it gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from torch import Tensor

from attnscope.core.keystats import KeyStats
from attnscope.core.probe import Probe, ProbeSums
from attnscope.core.rowstats import RowStats
from attnscope.core.scoring import Bound
from attnscope.core.signs import RowSums
from attnscope.core.tile import Normaliser
from attnscope.shapes import Block


@dataclass(frozen=True, eq=False)
class Wanted:
    """What a fold is to make of each block of rows.

    top: how many of the largest scores of a row.   first: for each batch the first key, (b).   block: of
    block sums and maxima, or None.   start: the row that blocks are counted from.   probe: what a
    certificate is measured with, or None.   brief: of rows entropy is enough, and of keys what they and
    blocks receive: with top 0, all else may stay 0.   keys: the statistics of these rows and others that
    are to be added to; None makes new ones, of each block of rows alone.
    """

    top: int
    first: Tensor
    block: int | None
    start: int
    probe: Probe | None
    brief: bool = False
    keys: KeyStats | None = None


class States(NamedTuple):
    """What a fold made of a block of rows: of each row, of each key, and for the certificate."""

    rows: RowStats
    keys: KeyStats
    probed: ProbeSums | None


class Pixels(NamedTuple):
    """Sums and maxima of weights over squares of cells, (b h m n) float64 each."""

    sums: Tensor
    maxima: Tensor


@runtime_checkable
class Engine(Protocol):
    """What walks the tiles of a call. Every method takes a slice of absolute rows and visits no tile in
    which nothing is visible; normalisers are of those rows, (b h r) each in the compute dtype."""

    def blocks(self, bound: Bound, rows: slice | None = None) -> list[slice]:
        """The blocks in which rows are best given to it, in order: between two of them a walk can stop."""

    def normaliser(self, bound: Bound, rows: slice) -> Normaliser:
        """Pass 1: the normaliser of these rows, their learned sinks included."""

    def probe(self, bound: Bound, probe: Probe, rows: slice, given: Normaliser) -> ProbeSums:
        """What a certificate of these rows is made of."""

    def fold(self, bound: Bound, wanted: Wanted, rows: slice, given: Normaliser) -> States:
        """Pass 2: everything else."""

    def both(self, bound: Bound, wanted: Wanted, rows: slice) -> tuple[Normaliser, States]:
        """Both passes, where the normaliser is not known."""

    def weights(self, bound: Bound, rows: slice, cols: slice, given: Normaliser) -> Block:
        """The weights of a block, (b h r c) in the compute dtype, 0 where not visible: a cell has the same
        bits in any block. given: the normaliser of every row of the call."""

    def row_sums(
        self, x: Tensor, signs: Tensor | None = None, *, squares: bool = False, places: bool = False
    ) -> RowSums:
        """Sums over the rows of any tensor (b h t d): see signs.RowSums."""

    def pixels(self, bound: Bound, rows: slice, cols: slice, given: Normaliser, cells: int) -> Pixels:
        """Sums and maxima of the weights of a block over the squares of cells x cells that it touches,
        counted from row 0 and key 0; cells outside of it are left out."""
