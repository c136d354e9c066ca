"""What every route hands over: one attention call as the kernel got it, or why it cannot be shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from attnscope.shapes import Key, Out, Query, Value

if TYPE_CHECKING:
    from attnscope.core.scoring import Scoring
    from attnscope.listen.projecting import Projection
    from attnscope.listen.reading import Reading


@dataclass(frozen=True)
class Place:
    """What a route itself knows of where a call stands; None leaves it to the names of the modules.

    kind: "cross", or "self", where row i and key i are one position.   stack: "decoder" or "encoder".
    number: of the layer.
    """

    kind: str | None = None
    stack: str | None = None
    number: int | None = None


NAMED = Place()
"""Everything is left to the names."""


@dataclass(frozen=True, eq=False)
class Call:
    """One call. q (b h tq d), k (b hk tk d), v (b hk tk dv) and out (b h tq dv) as the kernel got and gave
    them.

    mask: the tensor that reached the scores, broadcasting from the right; True = may attend, or numbers
    that are added. added: a second tensor of numbers, added before the mask (T5).   causal: top-left, row i
    sees keys 0 .. i. softcap, sinks (h): of families that have them.   dropout: probability of a dropped
    weight in this call. grid: the weights (b h tq tk) that the call itself made, where it is at hand.
    autocast: the dtype to which products cast their operands here, None outside autocast.
    readings: what the route itself has read, where no tensor says it.   scoring: all that happens between q.k
    and softmax beside those, where the call was handed it: none of the other fields says anything of it then.
    place: what the route knows of where the call stands.   doubt: why out may not be what the model mixed,
    None where it is.   projection: W_O, where the route itself knows it.
    """

    module: nn.Module
    route: str
    q: Query
    k: Key
    v: Value
    out: Out
    scale: float
    mask: Tensor | None = None
    added: Tensor | None = None
    causal: bool = False
    softcap: float | None = None
    sinks: Tensor | None = None
    dropout: float = 0.0
    grid: Tensor | None = None
    autocast: torch.dtype | None = None
    readings: tuple[Reading, ...] = ()
    scoring: Scoring | None = None
    place: Place = NAMED
    doubt: str | None = None
    projection: Projection | None = None

    @property
    def first(self) -> int | None:
        """The position of row 0 among the keys, where the call itself says it."""
        if self.causal or self.place.kind == "self":
            return 0
        if self.scoring is None:
            return None
        even = 0 if self.q.shape[2] == self.k.shape[2] else None
        return even if self.scoring.offset is None else self.scoring.offset

    @property
    def eager(self) -> bool:
        """Whether the model itself went through a grid of weights, step by step."""
        return self.grid is not None or self.route.endswith("eager")


class CannotShowError(Exception):
    """Why a call gives no picture; it goes into recording.missing, and is never raised to a user."""
