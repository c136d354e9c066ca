"""The proof that what computes on this machine equals the whole grid in float64, on calls made up for it."""

from attnscope.core.proof.calls import Call, calls
from attnscope.core.proof.judge import Figure, Proof, prove

__all__ = ["Call", "Figure", "Proof", "calls", "prove"]
