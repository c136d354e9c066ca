"""What a head is called, by stated rules: a score, what it is held against, and how sure the texts make it.

A rule holds where the lower end of the score's interval reaches `least`, and lies above the uniform head; a
rule about tokens also wants it above the same cells with the tokens shuffled. So one text alone gives no
class. A head may have several, and none is an answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """A score of one head. value: the mean over texts.   uniform: of the uniform head on the same texts.
    shuffled: at the same cells with the tokens in another order.   spread: standard deviation over texts.
    low, high: the bootstrap interval of the mean.   texts: of each text, in order.   reason: why there is no
    value. Numbers are NaN where they are undefined.
    """

    value: float = math.nan
    uniform: float = math.nan
    shuffled: float = math.nan
    spread: float = math.nan
    low: float = math.nan
    high: float = math.nan
    texts: tuple[float, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Rule:
    """name: of the class.   glyph: its mark on the page.   score: what decides.   least: what the lower end
    of its interval must reach; with `of_uniform`, as a share of the uniform head's value.   by_tokens: it
    must lie above the shuffled value too.
    """

    name: str
    glyph: str
    score: str
    least: float
    says: str
    by_tokens: bool = False
    of_uniform: bool = False

    def holds(self, scores: Mapping[str, Measured]) -> bool:
        """Whether a head with these scores is of the class; a comparison with NaN is not met."""
        found = scores[self.score]
        if self.of_uniform:
            return found.low >= self.least * found.uniform
        above = found.low > found.uniform and (not self.by_tokens or found.low > found.shuffled)
        return above and found.low >= self.least


RULES = (
    Rule("previous token", "prev", "previous_token", 0.4, "looks at the token before"),
    Rule("induction", "next", "induction_stripe", 0.3,
         "looks at what followed the same token the first time", by_tokens=True),
    Rule("duplicate token", "same", "duplicate_token", 0.3, "looks at the same token the first time",
         by_tokens=True),
    Rule("retrieval", "word", "retrieval", 0.1, "stands on what the model is copying", by_tokens=True),
    Rule("own token", "self", "self_token", 0.4, "looks at itself"),
    Rule("learned sink", "sink", "learned_sink", 0.3, "gives much to no token at all"),
    Rule("first token", "first", "sink", 0.3, "rests on the first token"),
    Rule("local", "near", "local", 0.7, "looks at what stands near"),
    Rule("broad", "broad", "entropy", 0.8, "spreads its weight nearly evenly", of_uniform=True),
)  # fmt: skip

NO_CLASS = "no class"


def classes_of(scores: Mapping[str, Measured]) -> tuple[str, ...]:
    """The classes of a head, in the order of the rules; () is no class."""
    return tuple(rule.name for rule in RULES if rule.holds(scores))
