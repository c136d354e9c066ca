"""Whether a tensor that softmax was given is a grid of attention: (batch, heads, queries, keys), in lengths
that the module is known to work on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from torch import Tensor, nn

HEADS = re.compile(r"(^|_)n?_?heads?$")
"""How modules and configs name their number of heads: num_heads, n_head, nhead, num_attention_heads ..."""


class Layout(NamedTuple):
    """The sizes of a grid of attention."""

    b: int
    h: int
    tq: int
    tk: int


@dataclass(eq=False)
class Lengths:
    """What is known of the positions that a running module works on, from the tensors it was handed.

    given: (batch, length) of each.   turned: the same where the first axis is the length.   grown: lengths
    that a cache, or an earlier run, has given its keys.
    """

    given: set[tuple[int, int]] = field(default_factory=set)
    turned: set[tuple[int, int]] = field(default_factory=set)
    grown: set[int] = field(default_factory=set)

    def see(self, values: Iterable[Any]) -> None:
        """Takes note of tensors (b, t, width), (b, heads, t, width), images, ids (b, t), or (t, width)."""
        for value in values:
            if not isinstance(value, Tensor) or value.is_nested:
                continue
            shape = tuple(value.shape)
            if len(shape) == 2:
                self.given.add((1, shape[0]) if value.is_floating_point() else (shape[0], shape[1]))
            elif len(shape) == 3:
                self.given.add((shape[0], shape[1]))
                self.turned.add((shape[1], shape[0]))
            elif len(shape) == 4:
                b, one, two, three = shape
                self.given |= {(b, one), (b, two), (b, two * three), (b, one * two)}

    def grow(self, length: int, parts: Iterable[int]) -> None:
        """A tensor of this length was put together from parts; it counts where one of them was known."""
        known = {t for _, t in self.given | self.turned} | self.grown
        if known.intersection(parts):
            self.grown.add(length)

    def longer(self, b: int, tq: int, tk: int) -> int | None:
        """The length of a longer sequence of this batch, where neither queries nor keys have one of these
        lengths; None where there is none.
        """
        known = {t for batch, t in self.given if batch == b}
        longest = max(known, default=0)
        return longest if longest > max(tq, tk) and not known & {tq, tk} else None

    def __or__(self, other: Lengths) -> Lengths:
        return Lengths(self.given | other.given, self.turned | other.turned, self.grown | other.grown)


def layout_of(shape: Sequence[int], lengths: Lengths, counts: set[int]) -> Layout | None:
    """The layout of a grid (b, h, tq, tk) or (b * h, tq, tk), None where it is none.

    counts: the numbers of heads that module and config speak of. A single head needs no number; with no
    number anywhere, the second of four axes is taken for the heads.
    """
    if len(shape) not in (3, 4) or 0 in shape:
        return None
    *lead, tq, tk = shape
    batches = {b for b, _ in lengths.given | lengths.turned}
    if len(shape) == 4:
        found = [(lead[0], lead[1])] if lead[1] in counts | {1} or not counts else []
    else:
        found = [(b, lead[0] // b) for b in batches if b and lead[0] % b == 0]
        found = sorted((pair for pair in found if pair[1] in counts | {1}), key=lambda pair: -pair[1])
    for b, h in found:
        if _known(b, tq, tk, lengths.given, lengths.grown) or _known(
            b, tq, tk, lengths.turned, lengths.grown
        ):
            return Layout(b, h, tq, tk)
    return None


def of_each_position(shape: Sequence[int], lengths: Lengths) -> bool:
    """Whether a tensor (b, t, n) holds something of each position: a router, a gate, a vocabulary."""
    return len(shape) == 3 and (shape[0], shape[1]) in lengths.given | lengths.turned


def head_counts(modules: Iterable[nn.Module], config: Any) -> set[int]:
    """The numbers of heads that the innermost of the modules speaks of, from the inside out; else those of
    the model's config.
    """
    for module in modules:
        found = _numbers(module) | _numbers(getattr(module, "config", None))
        if found:
            return found
    return _numbers(config)


def _known(b: int, tq: int, tk: int, pairs: set[tuple[int, int]], grown: set[int]) -> bool:
    return (b, tq) in pairs and tk in {t for _, t in pairs} | grown


def _numbers(owner: Any) -> set[int]:
    found: set[int] = set()
    for name, value in getattr(owner, "__dict__", {}).items():
        if HEADS.search(name):
            values = value if isinstance(value, list | tuple) else [value]
            found |= {one for one in values if isinstance(one, int) and not isinstance(one, bool) and one > 0}
    return found
