"""One call as it was collected, before it becomes a site or a part of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from attnscope.core.certificate import Certificate
from attnscope.core.replay import Reach
from attnscope.core.scoring import Bound, Scoring
from attnscope.core.summary import Summary
from attnscope.core.tile import Normaliser
from attnscope.recording.shelf import InMemory
from attnscope.recording.site import Site


@dataclass(frozen=True, eq=False)
class Piece:
    """tensors: q, k, v, out of the kept heads, as the model holds them.   keep: which of them to hold.

    offset: position of row 0 among the call's keys; None for cross attention.   used: keys that count; those
    after them are unused places of a static cache.   summaries: of all rows, in one or several, where they
    were asked for.   facts: what the site says of itself.
    """

    tensors: Mapping[str, Tensor] = field(repr=False)
    keep: tuple[str, ...]
    bound: Bound = field(repr=False)
    normaliser: Normaliser = field(repr=False)
    certificate: Certificate | None = field(repr=False)
    summaries: Sequence[Summary] = field(repr=False)
    offset: int | None
    used: int
    bit_exact: bool | None
    reach: Reach | None
    facts: Mapping[str, Any] = field(repr=False)

    @property
    def scoring(self) -> Scoring:
        """What happened between q.k and softmax."""
        return self.bound.scoring

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self.bound.shape.tq

    @property
    def past(self) -> int:
        """Keys that were there before the call: its own come after them."""
        return self.used if self.offset is None else self.offset

    def site(self, index: int) -> Site:
        """The site of this call alone, with copies of its tensors that no later step can change."""
        tensors = {name: self.tensors[name].detach().clone() for name in self.keep}
        summary = self.summaries[0] if self.summaries else None
        shelf = InMemory(tensors, self.scoring, self.normaliser, self.certificate, summary)
        return Site(
            **self.facts, index=index, tq=self.rows, tk=self.bound.shape.tk, offset=self.offset,
            bit_exact=self.bit_exact, reach=self.reach, shelf=shelf,
        )  # fmt: skip
