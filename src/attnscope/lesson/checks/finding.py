"""What a check says: a name, a sentence with the numbers in it, and the numbers themselves."""

from __future__ import annotations

from dataclasses import dataclass, field

Place = tuple[int, int]
"""A head of a batch: (batch, head)."""


@dataclass(frozen=True)
class Finding:
    """One mistake that the numbers look like.

    name: one of NAMES.   sentence: what was seen, with its numbers.   remedy: what to try.   sure: whether
    the numbers leave no ordinary reading beside this one.   evidence: the numbers by name; shares of 1, nats,
    or counts.   places: the heads it was seen in, as (batch, head).
    """

    name: str
    sentence: str
    remedy: str
    sure: bool
    evidence: dict[str, float] = field(default_factory=dict)
    places: tuple[Place, ...] = ()


class Found:
    """What both checkers return: their findings, none where all is well."""

    findings: tuple[Finding, ...]

    @property
    def healthy(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the findings, in order."""
        return tuple(finding.name for finding in self.findings)


NAMES = (
    "wrong_axis", "unscaled", "other_scale", "saturated", "inverted_mask", "leaking_fill", "mask_missing",
    "mask_after_softmax", "learned_sink", "sinks_do_not_fit", "not_normalised", "no_positions",
)  # fmt: skip
"""Every name that a finding can have."""
