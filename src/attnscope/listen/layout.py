"""Whether a tensor that softmax was given is a grid of attention: (batch, heads, queries, keys), in lengths
that the module is known to work on.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import mul
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from attnscope.listen.call import CannotShowError

if TYPE_CHECKING:
    from attnscope.listen.folds import Fold

HEADS = re.compile(r"(^|_)n?_?heads?$")
"""How modules and configs name their number of heads: num_heads, n_head, nhead, num_attention_heads ..."""


class Layout(NamedTuple):
    """The sizes of a grid of attention. heads_first: in an axis of (texts * heads) all texts of head 0 come
    first, else all heads of text 0.
    """

    b: int
    h: int
    tq: int
    tk: int
    heads_first: bool = False

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """(b, h, tq, tk)."""
        return self[:4]

    def opened(self, x: Tensor) -> Tensor:
        """A tensor (b * h, ..) as (b, h, ..)."""
        if self.heads_first:
            return x.reshape(self.h, self.b, *x.shape[1:]).transpose(0, 1)
        return x.reshape(self.b, self.h, *x.shape[1:])


class Handed(NamedTuple):
    """The shape of a tensor that a module was handed. floating: it holds no whole numbers."""

    shape: tuple[int, ...]
    floating: bool


def shapes_in(values: Iterable[Any]) -> list[Handed]:
    """The shapes of the tensors among these values, nested ones left out. No mode hears that they are asked
    for: in a step of a generation, half of all that a mode hears would be this.
    """
    with torch._C.DisableTorchFunction():
        tensors = [value for value in values if isinstance(value, Tensor) and not value.is_nested]
        return [Handed(tuple(x.shape), x.is_floating_point()) for x in tensors]


@dataclass(eq=False)
class Lengths:
    """What is known of the positions that a running module works on, from the tensors it was handed.

    given: (batch, length) of each.   turned: the same where the first axis is the length.   grown: lengths
    that a cache, or an earlier run, has given its keys.
    """

    given: set[tuple[int, int]] = field(default_factory=set)
    turned: set[tuple[int, int]] = field(default_factory=set)
    grown: set[int] = field(default_factory=set)

    def see(self, shapes: Iterable[Handed]) -> None:
        """Takes note of tensors (b, t, width), (b, heads, t, width), images, ids (b, t), or (t, width)."""
        for shape, floating in shapes:
            if len(shape) == 2:
                self.given.add((1, shape[0]) if floating else (shape[0], shape[1]))
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

    @property
    def batches(self) -> set[int]:
        """The numbers of texts."""
        return {b for b, _ in self.given | self.turned}

    def __or__(self, other: Lengths) -> Lengths:
        return Lengths(self.given | other.given, self.turned | other.turned, self.grown | other.grown)


def layout_of(
    shape: Sequence[int], lengths: Lengths, counts: set[int], fold: Fold | None = None
) -> Layout | None:
    """The layout of a grid (b, h, tq, tk) or (b * h, tq, tk), None where it is none.

    counts: the numbers of heads that module and config speak of; with no number anywhere, the second of four
    axes is taken for the heads.   fold: how the first of three axes was made, as far as it is known.

    Raises CannotShowError where the first of three axes may be opened in more ways than one.
    """
    if len(shape) not in (3, 4) or 0 in shape:
        return None
    *lead, tq, tk = shape
    if len(shape) == 4:
        fits = lead[1] in counts | {1} or not counts
        found = [(lead[0], lead[1])] if fits and _known(lead[0], tq, tk, lengths) else []
        return Layout(*found[0], tq, tk) if found else None
    if fold is not None and fold.of_width:  # one text of several
        of_a_text = lead[0] in counts or not counts
        return Layout(1, lead[0], tq, tk) if of_a_text and _known(None, tq, tk, lengths) else None
    pairs = [(b, lead[0] // b) for b in lengths.batches if b and lead[0] % b == 0]
    pairs = [(b, h) for b, h in pairs if _known(b, tq, tk, lengths) and (h in counts | {1} or not counts)]
    if fold is not None and fold.taken and lead[0] in counts and (lead[0], 1) in pairs:
        pairs.append((1, lead[0]))
    return _opened(sorted(pairs), tq, tk, fold, named=bool(counts)) if pairs else None


def _opened(
    pairs: Sequence[tuple[int, int]], tq: int, tk: int, fold: Fold | None, *, named: bool
) -> Layout | None:
    """The one way in which an axis of b * h can be opened, of those that lengths and numbers of heads allow.

    named: a number of heads is known.
    """
    found: set[Layout] = set()
    for b, h in pairs:
        if 1 in (b, h):
            found |= {Layout(b, h, tq, tk)} if len(pairs) == 1 else set()
        elif named and fold is not None:
            firsts, lasts = accumulate(fold.sizes, mul), accumulate(reversed(fold.sizes), mul)
            found |= {Layout(b, h, tq, tk)} if b in firsts else set()
            found |= {Layout(b, h, tq, tk, heads_first=True)} if b in lasts else set()
    if len(found) == 1:
        return found.pop()
    ways = [f"{b} text{'s' * (b > 1)} of {h} head{'s' * (h > 1)}" for b, h in pairs]
    told = f"are {ways[0]} folded into one axis, and which of the two comes first cannot be told"
    if len(pairs) > 1:
        told = f"may be {' or '.join(ways)}, and which of these cannot be told"
    raise CannotShowError(
        f"its {math.prod(pairs[0])} attentions {told}. Record another number of texts, or one alone"
        + ("" if named else "; a num_heads on the module helps too")
    )


def lies_by_feature(x: Tensor) -> bool:
    """Whether rows of (.., rows, columns) lie side by side in memory, as the features of a position do."""
    return x.dim() > 1 and 0 < x.stride(-2) < x.stride(-1)


def of_features(which: str, shape: Sequence[int]) -> str:
    """The reason for tensors of which the rows may be features."""
    alike = "" if shape[-2] != shape[-1] else ", as many positions as features; record another length"
    return (
        f"its {which} are {tuple(shape)}, and lie in memory as if their rows were features and not positions "
        f"(attention between channels){alike}"
    )


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


def _known(b: int | None, tq: int, tk: int, lengths: Lengths) -> bool:
    """Whether so many texts, None for any number, are known to have these lengths."""
    return any(
        tq in {t for texts, t in pairs if b in (texts, None)} and tk in {t for _, t in pairs} | lengths.grown
        for pairs in (lengths.given, lengths.turned)
    )


def _numbers(owner: Any) -> set[int]:
    found: set[int] = set()
    for name, value in getattr(owner, "__dict__", {}).items():
        if HEADS.search(name):
            values = value if isinstance(value, list | tuple) else [value]
            found |= {one for one in values if isinstance(one, int) and not isinstance(one, bool) and one > 0}
    return found
