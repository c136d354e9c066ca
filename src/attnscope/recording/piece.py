"""One call as it was collected, before it becomes a site or a part of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from torch import Tensor

from attnscope.core.certificate import Certificate
from attnscope.core.replay import Reach
from attnscope.core.scoring import Scoring
from attnscope.core.spans import Spans
from attnscope.core.summary import Summary
from attnscope.core.tile import Normaliser
from attnscope.core.visible import Visible
from attnscope.recording.shelf import InMemory
from attnscope.recording.site import Site


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of a call that can be taken back together, and what was found out about them alone."""

    rows: slice
    certificate: Certificate | None = field(default=None, repr=False)
    summary: Summary | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False)
class Piece:
    """tensors: those that are known of q, k, v, out, as the model holds them, of the kept heads.   keep:
    which of them to hold.   rows, columns: how many it has.

    walked(): its normaliser, and its rows in order, one part of all, where none can be guesses; they are made
    when they are asked for first.   evening: factors by which it may be certified together with other calls;
    None where it has to be by itself.   on_key(key): the weight of each
    row on key[b] of its batch, 0 where that is no key of the call, (b h tq).   offset: position of row 0
    among the call's keys; None for cross attention.   used: keys that count; those after them are unused
    places of a static cache.   facts: what the site says of itself.
    """

    tensors: Mapping[str, Tensor] = field(repr=False)
    keep: tuple[str, ...]
    rows: int
    columns: int
    scoring: Scoring = field(repr=False)
    visible: Visible = field(repr=False)
    walked: Callable[[], tuple[Normaliser, Sequence[Part]]] = field(repr=False)
    on_key: Callable[[Tensor], Tensor] = field(repr=False)
    offset: int | None
    used: int
    bit_exact: bool | None
    reach: Reach | None
    facts: Mapping[str, Any] = field(repr=False)
    evening: Tensor | None = field(default=None, repr=False)

    @property
    def normaliser(self) -> Normaliser:
        """Peak and logsum of its rows, (b h tq) each."""
        return self.walked()[0]

    @property
    def parts(self) -> Sequence[Part]:
        """Its rows, with what was found out about them."""
        return self.walked()[1]

    @property
    def past(self) -> int:
        """Keys that were there before the call: its own come after them."""
        return self.used if self.offset is None else self.offset

    @cached_property
    def spans(self) -> Spans | None:
        """What it may see as spans alone, None where that needs bits."""
        return self.visible.as_spans()

    def site(self, index: int) -> Site:
        """The site of this call alone, with copies of its tensors that no later step can change."""
        tensors = {name: self.tensors[name].detach().clone() for name in self.keep}
        certificate, summary = self.parts[0].certificate, self.parts[0].summary
        shelf = InMemory(tensors, self.scoring, self.normaliser, certificate, summary)
        return Site(
            **self.facts, index=index, tq=self.rows, tk=self.columns, offset=self.offset,
            bit_exact=self.bit_exact, reach=self.reach, shelf=shelf,
        )  # fmt: skip
