"""A run: one forward of the model, or one whole generate(), with all forwards that it makes."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torch import Tensor, nn

from attnscope.core.arithmetic import Arithmetic
from attnscope.listen.going import Going
from attnscope.listen.naming import Label
from attnscope.listen.reader import Reader
from attnscope.recording import NotShown, Run
from attnscope.recording.joining import Forward, Joining
from attnscope.recording.piece import Piece
from attnscope.recording.site import Site
from attnscope.recording.strips import MemoryStrip, Strip

if TYPE_CHECKING:
    from attnscope.listen.session import Session

Key = tuple[str, int]
"""A module's name, and how many of its calls came before in the same forward."""

Keep = Callable[[Site], Site]


@dataclass(eq=False)
class RunLog:
    """What happens in one run. going: its call.   whole: a generate(), whose calls are joined.   keep(site):
    puts a site that is complete where sites are kept.   pictures: whether each call is kept at once, with its
    sums and small pictures.   strip(name): makes room for a tensor that grows.
    entered: the modules that ran, in order.   cut: those of them that an exception ended.   foreign: those
    whose softmax was no grid of attention, with what it was.   evenings: the factors (hk dv) by which the
    first call of each module was certified, and so are all others.   guesses: whether rows may be guesses,
    some of which are taken back.   tokens: how many there were when it ended.   guard: held by who adds to
    it, or ends it.
    """

    run: Run
    session: Session = field(repr=False)
    going: Going
    whole: bool = False
    guard: threading.RLock = field(default_factory=threading.RLock, repr=False)
    keep: Keep = field(default=lambda site: site, repr=False)
    pictures: bool = False
    strip: Callable[[str], Strip] = field(default=lambda name: MemoryStrip(), repr=False)
    reader: Reader = field(default_factory=Reader)
    entered: dict[str, nn.Module] = field(default_factory=dict)
    cut: set[str] = field(default_factory=set)
    heard: dict[str, int | None] = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)
    layers: dict[tuple[str, str], dict[Key, int]] = field(default_factory=dict)
    foreign: dict[str, str] = field(default_factory=dict)
    arithmetics: dict[str, Arithmetic | None] = field(default_factory=dict)
    joinings: dict[Key, Joining] = field(default_factory=dict)
    forward: Forward = field(default_factory=Forward)
    evenings: dict[Key, Tensor] = field(default_factory=dict)
    guesses: bool = False
    tokens: int | None = None
    ended: bool = False

    def layer_of(self, name: str, order: int, label: Label) -> int:
        """The model's own number, else the next one, by order of first call within its kind and stack."""
        taken = self.layers.setdefault((label.kind, label.stack), {})
        following = max(taken.values(), default=-1) + 1
        return taken.setdefault((name, order), following if label.number is None else label.number)

    def take(self, piece: Piece, key: Key) -> str | None:
        """A call that was collected; why no more of its module is taken, None where it was."""
        if not self.whole:
            self.run.sites.append(self.keep(piece.site(len(self.run.sites))))
            return None
        number = len(self.joinings)
        joining = self.joinings.setdefault(key, Joining(lambda name: self.strip(f"{number}.{name}")))
        return joining.take(piece, self.forward)

    def next_forward(self) -> None:
        """One forward of a generation is over: calls are counted anew, and its masks are let go."""
        self.reader = Reader()
        self.calls.clear()
        self.forward = Forward()
        self.run.forwards += 1

    def finish(self) -> list[NotShown]:
        """The run is over: what has grown becomes sites. Gives a sentence for each layer of several grids."""
        self.ended, self.reader = True, Reader()
        said = []
        for (name, _), joining in self.joinings.items():
            short = None if self.tokens is None else joining.end_at(self.tokens - 1, guesses=self.guesses)
            why = "; ".join(filter(None, (joining.why, short)))
            if why:
                said.append(NotShown(self.heard.get(name), name, why))
        for joining in self.joinings.values():
            for segment in range(len(joining.segments)):  # each is let go before the next is put together
                grown = joining.segments.pop(0)
                self.run.sites.append(self.keep(grown.site(len(self.run.sites), segment)))
                grown.drop()
        return said
