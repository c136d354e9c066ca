"""A run: one forward of the model, or one whole generate(), with all forwards that it makes."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from torch import Tensor, nn

from attnscope.core.arithmetic import Arithmetic
from attnscope.listen.going import Going
from attnscope.listen.naming import Label
from attnscope.listen.projecting import NONE, Found, Output, lengths_along
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


@dataclass(frozen=True, eq=False)
class Waiting:
    """A call of which it is not known yet what takes its output. v (b hk tk dv): its values."""

    key: Key
    output: Output
    v: Tensor = field(repr=False)


@dataclass(eq=False)
class RunLog:
    """What happens in one run. going: its call.   whole: a generate(), whose calls are joined.   keep(site):
    puts a site that is complete where sites are kept.   pictures: whether each call is kept at once, with its
    sums and small pictures.   strip(name): makes room for a tensor that grows.
    entered: the modules that ran, in order.   cut: those of them that an exception ended.   foreign: those
    whose softmax was no grid of attention, with what it was.   evenings: the factors (hk dv) by which the
    first call of each module was certified, and so are all others.   projections: W_O of each module of a
    generation.   waiting: the last call, which is kept where it is known what takes its output.   guesses:
    whether rows may be guesses, some of which are taken back.   tokens: how many there were when it ended.
    guard: held by who adds to it, or ends it.
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
    projections: dict[Key, Found] = field(default_factory=dict)
    waiting: Waiting | None = None
    guesses: bool = False
    tokens: int | None = None
    ended: bool = False

    def layer_of(self, name: str, order: int, label: Label) -> int:
        """The model's own number, else the next one, by order of first call within its kind and stack."""
        taken = self.layers.setdefault((label.kind, label.stack), {})
        following = max(taken.values(), default=-1) + 1
        return taken.setdefault((name, order), following if label.number is None else label.number)

    def take(self, piece: Piece, key: Key) -> str | None:
        """A call that was collected; why no more of its module is taken, None where it was. A site waits to
        be kept until `settle`.
        """
        if not self.whole:
            self.run.sites.append(piece.site(len(self.run.sites)))
            return None
        number = len(self.joinings)
        joining = self.joinings.setdefault(key, Joining(lambda name: self.strip(f"{number}.{name}")))
        return joining.take(piece, self.forward)

    def settle(self) -> None:
        """What takes the output of the last call is known, as far as it will be: its site is kept. Raises
        what keeping does; the site is not in the run then.
        """
        waiting, self.waiting = self.waiting, None
        if waiting is None:
            return
        if self.whole:
            self.projections.setdefault(waiting.key, waiting.output.found)
            return
        site = self.run.sites.pop()
        values = site.shelf.tensor("v")
        site = _measured(site, waiting.output.found, waiting.v if values is None else values)
        self.run.sites.append(self.keep(site))

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
        for key, joining in self.joinings.items():
            for segment in range(len(joining.segments)):  # each is let go before the next is put together
                grown = joining.segments.pop(0)
                site = grown.site(len(self.run.sites), segment)
                site = _measured(site, self.projections.get(key, NONE), site.shelf.tensor("v"))
                self.run.sites.append(self.keep(site))
                grown.drop()
        return said


def _measured(site: Site, found: Found, v: Tensor | None) -> Site:
    """The site with the lengths of its values v (b hk tk dv) through what takes its output."""
    numbers = tuple(range(site.heads)) if site.kept is None else site.kept
    return replace(site, shelf=replace(site.shelf, lengths=lengths_along(found, v, numbers)))  # type: ignore[type-var]
