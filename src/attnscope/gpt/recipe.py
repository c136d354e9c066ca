"""How a model is trained: the numbers of a run, and what the learning rate does over it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["muon", "adamw"]


@dataclass(frozen=True)
class Recipe:
    """steps: how many updates; batch: blocks of context length in each. rate: AdamW's; matrix_rate: Muon's.

    decay: of matrices, as a share of the rate. warmup: steps from 0 to the full rate; cooldown: the share of
    the run at its end in which the rate falls to 0 in a straight line. measure_every: steps between
    validation losses; save_every: between checkpoints.
    """

    steps: int
    batch: int
    optimiser: Kind
    rate: float
    matrix_rate: float = 0.0
    decay: float = 0.1
    momentum: float = 0.95
    warmup: int = 50
    cooldown: float = 0.6
    measure_every: int = 250
    save_every: int = 100

    def share(self, step: int) -> float:
        """The share of the full learning rate at step number `step`, from 0 to 1."""
        rising = (step + 1) / self.warmup if self.warmup else 1.0
        falling = (self.steps - step) / (self.cooldown * self.steps) if self.cooldown else 1.0
        return min(1.0, rising, falling)

    def momentum_at(self, step: int) -> float:
        """Muon's momentum, which rises from 0.85 over the first 300 steps."""
        return 0.85 + (self.momentum - 0.85) * min(1.0, step / 300)
