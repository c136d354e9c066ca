"""What a recording is to keep: of which layers and heads, and how much of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from attnscope.listen.call import CannotShowError

KEEPS: dict[str, tuple[str, ...]] = {
    "summary": (), "qk": ("q", "k"), "qkv": ("q", "k", "v"), "all": ("q", "k", "v", "out"),
}  # fmt: skip
"""What each value of keep= holds on to."""

Heads = Sequence[int] | Mapping[int, Sequence[int]] | None


@dataclass(frozen=True)
class Wanted:
    """What the user asked for. layers: None for all.   heads: None, numbers, or numbers by layer."""

    keep: str = "qkv"
    layers: frozenset[int] | None = None
    heads: Heads = None

    def heads_of(self, layer: int, count: int) -> tuple[int, ...] | None:
        """The heads to keep of a layer: None for all, () for none. Raises CannotShowError for a head that
        is not there.
        """
        if self.layers is not None and layer not in self.layers:
            return ()
        if self.heads is None:
            return None
        chosen = self.heads.get(layer, ()) if isinstance(self.heads, Mapping) else self.heads
        heads = tuple(sorted({int(head) for head in chosen}))
        if any(not 0 <= head < count for head in heads):
            raise CannotShowError(
                f"heads {', '.join(map(str, heads))} were asked for, and it has heads 0 to {count - 1}"
            )
        return heads
