"""Where the tensors of a site lie: in memory, or in a file that is opened when something is first asked of
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor

from attnscope.core.certificate import Certificate
from attnscope.core.fold import Summary
from attnscope.core.scoring import Scoring
from attnscope.core.tile import Normaliser
from attnscope.recording.calls import Calls
from attnscope.recording.mixes import OLDER, Lengths


class Shelf(Protocol):
    """What a site asks of its store; None is "not kept"."""

    @property
    def names(self) -> frozenset[str]:
        """The names of the tensors that are kept, told without reading any."""

    def tensor(self, name: str) -> Tensor | None:
        """q, k, v or out, as the model handed it over."""

    @property
    def scoring(self) -> Scoring:
        """What happens between q.k and softmax."""

    @property
    def normaliser(self) -> Normaliser:
        """(peak, logsum) of every row."""

    @property
    def certificate(self) -> Certificate | None:
        """The verdict on every head, where out was at hand."""

    @property
    def summary(self) -> Summary | None:
        """The summary made at the call, where one was kept."""

    def summed(self, *names: str) -> Mapping[str, Any] | None:
        """Some fields of the summary by their names, told without reading the others; None where no summary
        was kept.
        """

    @property
    def device(self) -> torch.device:
        """Where its tensors lie, told without reading any."""

    @property
    def calls(self) -> Calls | None:
        """The calls of a joined site, None where it is one call."""

    @property
    def lengths(self) -> Lengths:
        """How long each key's value is, or why that is not known."""

    @property
    def way_on(self) -> tuple[str | None, str | None]:
        """`through` and `why` of the lengths, told without reading them."""


@dataclass(frozen=True, eq=False)
class InMemory:
    """The shelf of a live recording."""

    tensors: dict[str, Tensor] = field(repr=False)
    scoring: Scoring
    normaliser: Normaliser = field(repr=False)
    certificate: Certificate | None = field(default=None, repr=False)
    summary: Summary | None = field(default=None, repr=False)
    calls: Calls | None = field(default=None, repr=False)
    lengths: Lengths = OLDER

    @property
    def names(self) -> frozenset[str]:
        """Those of q, k, v and out that are kept."""
        return frozenset(self.tensors)

    def tensor(self, name: str) -> Tensor | None:
        """q, k, v or out, or None."""
        return self.tensors.get(name)

    def summed(self, *names: str) -> Mapping[str, Any] | None:
        """Some fields of the summary by their names."""
        return None if self.summary is None else {name: getattr(self.summary, name) for name in names}

    @property
    def device(self) -> torch.device:
        """Where its tensors lie."""
        return self.normaliser.peak.device

    @property
    def way_on(self) -> tuple[str | None, str | None]:
        """`through` and `why` of the lengths."""
        return self.lengths.through, self.lengths.why
