"""What a recording does not show: calls that were refused, silent modules, parts in threads from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

from attnscope.listen.naming import own_number
from attnscope.listen.parts import Parts
from attnscope.listen.silent import silent, within
from attnscope.recording import NotShown

if TYPE_CHECKING:
    from attnscope.listen.runs import RunLog

RUNS_TOLD = 256
"""How many different runs are remembered as such that say nothing new."""
APART = "it ran in a thread that was started before the block, whose calls are not taken for the block's"


class Missing:
    """What is heard of a model beside the calls that are taken. Of a run that is over it holds what may be
    missing, and nothing else; whoever fills it from several threads holds a lock.

    entered: the modules that ran.   elsewhere: how often the model ran in threads from outside.   strangers:
    calls of copies of its modules.   likenesses: by module, what stood where softmax over the keys would.
    """

    def __init__(self, model: nn.Module, parts: Parts) -> None:
        self.entered: dict[str, nn.Module] = {}
        self.elsewhere = 0
        self.strangers = 0
        self.likenesses: dict[str, str] = {}
        self._model = model
        self._parts = parts
        self._silent: dict[str, NotShown] = {}
        self._refused: dict[str, NotShown] = {}
        self._apart: dict[str, None] = {}  # parts that ran in threads from outside
        self._told: set[tuple[tuple[str, ...], ...]] = set()  # runs like those before say nothing new

    def overhear(self, module: nn.Module) -> None:
        """A call that is nobody's: of the model in a thread from outside the block, or of a copy of it."""
        if module is self._model:
            self.elsewhere += 1
        elif self._parts.knows(module):
            self._apart.setdefault(self._parts.name_of(module))
        elif self._parts.like(module):
            self.strangers += 1

    def refuse(self, layer: int | None, name: str, reason: str) -> None:
        """A call, or a module, of which no picture can be given; the first reason stays."""
        self._refused.setdefault(name, NotShown(layer, name, reason))

    def fold(self, log: RunLog) -> None:
        """What a run that is over leaves: the modules that ran, and those of them that were silent."""
        for name, module in log.entered.items():
            self.entered.setdefault(name, module)
        told = (tuple(log.entered), tuple(log.heard), tuple(log.foreign), tuple(log.cut))
        if told in self._told:
            return
        if len(self._told) == RUNS_TOLD:
            self._told.clear()
        self._told.add(told)
        finished = {name: module for name, module in log.entered.items() if name not in log.cut}
        for one in silent(finished, log.heard, log.foreign):
            self._silent.setdefault(one.name, one)

    def listed(self) -> list[NotShown]:
        """All of it, in order of layers."""
        found = {**self._silent, **self._refused}
        if not self.elsewhere:  # else somebody else runs the model as well
            apart = [name for name in self._apart if name not in self.entered]
            for name in apart:
                if not any(within(name, other) for other in apart):
                    found.setdefault(name, NotShown(own_number(self._parts.modules[name]), name, APART))
        return sorted(found.values(), key=lambda one: (one.layer is None, one.layer or 0))
