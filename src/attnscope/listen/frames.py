"""Which module is running in this thread, and for which recording: a stack of frames, one stack a thread."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torch import nn
from torch.overrides import TorchFunctionMode

from attnscope.listen import modes
from attnscope.listen.layout import Lengths

if TYPE_CHECKING:
    from attnscope.listen.routes.sdpa import Heard
    from attnscope.listen.routes.softmax import Grid
    from attnscope.listen.runs import RunLog
    from attnscope.listen.session import Session
    from attnscope.listen.summed import Summed


@dataclass(eq=False)
class Noted:
    """What the softmax tap notes of a running module. lengths: on which it works.   made: grids that mixed
    values, reduced, or why not.   foreign: shapes of softmax that are no grid of attention.
    other_heads: the reason, where the number of heads alone does not fit.   handed: what it
    was handed itself.   pieces: what its children made of shorter sequences than that.
    """

    lengths: Lengths = field(default_factory=Lengths)
    handed: Lengths = field(default_factory=Lengths)
    pieces: list[tuple[Frame, Summed]] = field(default_factory=list)
    made: list[Summed | str] = field(default_factory=list)
    foreign: list[tuple[int, ...]] = field(default_factory=list)
    other_heads: str | None = None


@dataclass(eq=False)
class Frame:
    """A module of a recorded model that is running."""

    module: nn.Module
    name: str
    session: Session
    log: RunLog
    noted: Noted = field(default_factory=Noted)


@dataclass(eq=False)
class Thread(threading.local):
    """frames: outermost first.   generating: runs of generate() that are going on.   inside: where a route
    puts what it hears within a call it is already listening to.   grids: probabilities on their way to a
    product.
    """

    frames: list[Frame] = field(default_factory=list)
    generating: list[tuple[Session, RunLog]] = field(default_factory=list)
    grids: list[Grid] = field(default_factory=list)
    inside: list[Heard] | None = None
    mode: TorchFunctionMode | None = None

    @property
    def top(self) -> Frame | None:
        """The innermost frame, if any."""
        return self.frames[-1] if self.frames else None

    def generating_for(self, session: Session) -> RunLog | None:
        """The run of a generate() that is going on in this thread for a recording, if any."""
        return next((log for one, log in self.generating if one is session), None)

    def forget(self, depth: int) -> None:
        """Drops frames that an interrupt left behind above `depth`."""
        del self.frames[depth:]
        self.grids = [grid for grid in self.grids if grid.frame in self.frames]
        if not self.frames:
            self.inside = None
            self.drop_mode()

    def push_mode(self, mode: TorchFunctionMode) -> None:
        """Starts listening in this thread."""
        self.mode = mode
        modes.push(mode)

    def drop_mode(self) -> None:
        """Stops listening in this thread."""
        mode, self.mode = self.mode, None
        if mode is not None:
            modes.remove(mode)


here = Thread()
