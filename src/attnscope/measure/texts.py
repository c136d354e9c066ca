"""What a model is given to read: running text, random tokens that come again, and the same in another
order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from attnscope.errors import AttnscopeError, TextTooLong
from attnscope.measure.scores import TextKind
from attnscope.models import Subject

TWICE, FOUR = 64, 25
"""Random tokens of a text that has them twice, and of one that has them four times, where the context
allows.
"""

SPELLED = 20_000
"""Characters: a longer text is not kept beside the numbers it gave."""

SHUFFLED_TO = 1024
"""Tokens: of a longer text the beginning alone is measured in another order."""


@dataclass(frozen=True)
class Text:
    """ids: as the model reads them, None where a recording does not tell them.   period: after how many
    tokens the same come again.   fixed: places whose token is no ordinary one, and stays where it is when the
    others are shuffled.   spelled: the text that the model reads as these very tokens, "" where that is not
    known.
    """

    kind: TextKind
    name: str
    ids: tuple[int, ...] | None
    period: int | None = None
    fixed: tuple[int, ...] = ()
    spelled: str = ""

    def beginning(self, length: int) -> Text:
        """Its first tokens."""
        if self.ids is None or len(self.ids) <= length:
            return self
        return replace(self, ids=self.ids[:length], fixed=tuple(at for at in self.fixed if at < length))


def plain(subject: Subject, given: str | Sequence[int] | Tensor, name: str) -> Text:
    """A text as the model reads it, cut to its context. A text may be ids already. Raises TextError."""
    if isinstance(given, str):
        try:
            ids = subject.encode(given).ids
        except TextTooLong:
            given = subject.codec.fitting(given)
            ids = subject.encode(given).ids
        spelled = given if len(given) <= SPELLED else ""
    else:
        ids = [int(one) for one in given][: subject.context]
        spelled = spelling(subject, ids)
    ordinary = set(subject.codec.ordinary())
    fixed = tuple(at for at, one in enumerate(ids) if one not in ordinary)
    return Text("plain", name, tuple(ids), fixed=fixed, spelled=spelled)


def spelling(subject: Subject, ids: Sequence[int]) -> str:
    """The text that the model reads as these very tokens; "" where no text is read so, or a long one is."""
    ordinary = set(subject.codec.ordinary())
    try:
        text = b"".join(one.raw for one in subject.codec.row([at for at in ids if at in ordinary])).decode()
        read = subject.encode(text).ids
    except (AttnscopeError, UnicodeDecodeError):
        return ""
    return text if list(read) == list(ids) and len(text) <= SPELLED else ""


def twice(subject: Subject, seed: int) -> Text:
    """n random tokens and the same again, nothing in front; fewer than TWICE where the context is short."""
    n = max(1, min(TWICE, subject.context // 2))
    block = _drawn(subject, n, seed)
    ids = (*block, *block)
    name = f"random tokens twice, draw {seed}"
    return Text("twice", name, ids, period=n, spelled=spelling(subject, ids))


def four_times(subject: Subject, seed: int) -> Text:
    """A start token, then n random tokens four times; without a start token an ordinary one stands for it."""
    n = max(1, min(FOUR, (subject.context - 1) // 4))
    begin = subject.codec.beginning
    first, *block = _drawn(subject, n + 1, seed)
    fixed = (0,) if begin is not None else ()
    ids = (first if begin is None else begin, *block * 4)
    name = f"random tokens four times, draw {seed}"
    return Text("four", name, ids, period=n, fixed=fixed, spelled=spelling(subject, ids))


def shuffled(text: Text, seed: int) -> Text:
    """The tokens of a text in another order; those at fixed places stay."""
    if text.ids is None:
        return text
    free = [at for at in range(len(text.ids)) if at not in set(text.fixed)]
    order = torch.randperm(len(free), generator=_generator(seed)).tolist()
    ids = list(text.ids)
    for at, taken in zip(free, order, strict=True):
        ids[at] = text.ids[free[taken]]
    return replace(text, ids=tuple(ids))


def _drawn(subject: Subject, n: int, seed: int) -> list[int]:
    """n ordinary tokens: all different where the vocabulary has as many, else each drawn by itself."""
    pool = torch.tensor(subject.codec.ordinary())
    generator = _generator(seed)
    if len(pool) >= n:
        chosen: list[int] = pool[torch.randperm(len(pool), generator=generator)[:n]].tolist()
        return chosen
    drawn: list[int] = pool[torch.randint(len(pool), (n,), generator=generator)].tolist()
    return drawn


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed % 2**63)
