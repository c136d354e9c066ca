"""Two recordings side by side: their texts aligned, and their heads ranked by how much they differ."""

from __future__ import annotations

from attnscope.comparison.alignment import Alignment
from attnscope.comparison.compare import Comparison, HeadDifference, compare

__all__ = ["Alignment", "Comparison", "HeadDifference", "compare"]
