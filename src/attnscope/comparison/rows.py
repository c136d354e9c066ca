"""The rows of a head over the slots of an alignment, asked for in order; two bands are at hand."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attnscope.maps.head import Head
from attnscope.maps.source import bands
from attnscope.models.groups import Groups

KEPT = 2
"""Bands of whole rows that are kept: 64 MB each at most."""


@dataclass(eq=False)
class Rows:
    """The rows of one head.   rows, cols: the slots of its queries and of its keys."""

    head: Head
    rows: Groups
    cols: Groups
    _bands: OrderedDict[int, Tensor] = field(default_factory=OrderedDict, init=False, repr=False)
    _queries: list[list[int]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._queries = self.rows.places()

    def of_slots(self, slots: range) -> tuple[Float[Tensor, "r slots"], Float[Tensor, " r"]]:
        """The weights from some slots to every slot, NaN of a slot without a query, and what of each row goes
        to no key: its learned sink, and all of a row that sees nothing.
        """
        queries = [query for slot in slots for query in self._queries[slot]]
        strip = self._strip(queries)
        nothing = (strip == 0).all(dim=1).to(strip.dtype)
        rest = nothing if self.head.sink is None else self.head.sink[queries].to(strip.dtype)
        owners = torch.tensor(
            [at for at, slot in enumerate(slots) for _ in self._queries[slot]], dtype=torch.int64
        )
        own = Groups(owners, len(slots))
        return own.of_queries(self.cols.of_keys(strip)), own.of_queries(rest[:, None])[:, 0]

    def seen(self, slots: range) -> Bool[Tensor, "r slots"]:
        """Which slots some query of each of these slots sees."""
        owners = [at for at, slot in enumerate(slots) for _ in self._queries[slot]]
        queries = [query for slot in slots for query in self._queries[slot]]
        found = torch.zeros(len(slots), self.cols.count, dtype=torch.bool)
        for first, run in _runs(queries):
            rows = self.cols.seen(self.head.seen(run, slice(0, self.head.tk)), 1)
            for at, row in enumerate(rows, first):
                found[owners[at]] |= row
        return found

    def _strip(self, queries: list[int]) -> Tensor:
        """Whole rows (r tk), in float64 so that sums over many keys lose nothing."""
        strip = torch.zeros(len(queries), self.head.tk, dtype=torch.float64)
        for at, query in enumerate(queries):
            first, band = self._band(query)
            strip[at] = band[query - first]
        return strip

    def _band(self, query: int) -> tuple[int, Tensor]:
        """The band of rows at its fixed place that holds a query."""
        place = next(bands(slice(query, query + 1), self.head.tq, self.head.tk))
        if place.start not in self._bands:
            band = torch.zeros(place.stop - place.start, self.head.tk)
            for run in self.head.runs(place):
                band[:, run] = self.head.weights(place, run)
            self._bands[place.start] = band
            if len(self._bands) > KEPT:
                self._bands.popitem(last=False)
        self._bands.move_to_end(place.start)
        return place.start, self._bands[place.start]


def _runs(queries: list[int]) -> Iterator[tuple[int, slice]]:
    """Neighbouring queries as slices, each with its place in the list."""
    start = 0
    for at in range(1, len(queries) + 1):
        if at == len(queries) or queries[at] != queries[at - 1] + 1:
            yield start, slice(queries[start], queries[at - 1] + 1)
            start = at
