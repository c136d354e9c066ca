"""Which module is running in this thread, and for which recording: a stack of frames, one stack a thread."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torch import nn
from torch.overrides import TorchFunctionMode

from attnscope.listen import modes
from attnscope.listen.going import Going
from attnscope.listen.layout import Lengths
from attnscope.listen.memories import Memories

if TYPE_CHECKING:
    from attnscope.listen.folds import Fold
    from attnscope.listen.following import Grid
    from attnscope.listen.projecting import Output
    from attnscope.listen.routes.ours import Asked
    from attnscope.listen.routes.sdpa import Heard
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
    """A module of a recorded model that is running. going: its call.   outermost: with it a forward of the
    run begins and ends.   handling: the exception that was being handled around it, if any.
    """

    module: nn.Module
    name: str
    session: Session
    log: RunLog
    going: Going
    outermost: bool
    handling: BaseException | None
    noted: Noted = field(default_factory=Noted)


@dataclass(frozen=True, eq=False)
class Generation:
    """A generate() that is going on. depth: how many frames it was called under."""

    module: nn.Module
    session: Session
    log: RunLog
    depth: int


@dataclass(eq=False)
class Thread(threading.local):
    """frames: outermost first.   generations: that are going on, outermost first.   inside: where a route
    puts what it hears within a call it is already listening to.   grids: probabilities on their way to a
    product.   folds: memories in which an axis was folded out of several.   products: memories of products of
    which softmax may be taken.   output: of the last call, on its way to W_O.
    """

    frames: list[Frame] = field(default_factory=list)
    generations: list[Generation] = field(default_factory=list)
    grids: list[Grid] = field(default_factory=list)
    folds: Memories[tuple[Fold, ...]] = field(default_factory=Memories)
    products: Memories[tuple[int, ...]] = field(default_factory=Memories)
    inside: list[Heard | Asked] | None = None
    output: Output | None = None
    mode: TorchFunctionMode | None = None

    @property
    def top(self) -> Frame | None:
        """The innermost frame that is still going on, if any."""
        if self.frames and not self.frames[-1].going.on:
            self.forget()
        return self.frames[-1] if self.frames else None

    def log_of(self, session: Session) -> RunLog | None:
        """The run of a recording that is going on in this thread: its innermost generate(), else its
        outermost forward.
        """
        generation = self.generating(session)
        if generation is not None:
            return generation.log
        return next((frame.log for frame in self.frames if frame.session is session), None)

    @property
    def follows(self) -> bool:
        """Whether anything is followed from call to call."""
        return bool(self.grids or self.folds or self.products)

    def generating(self, session: Session) -> Generation | None:
        """The innermost generate() that is going on in this thread for a recording, if any."""
        return next((one for one in reversed(self.generations) if one.session is session), None)

    def enter(self, frame: Frame, mode: TorchFunctionMode) -> None:
        """A module starts; with the first, listening does, by `mode`."""
        if not self.frames:
            running[threading.current_thread()] = frame.session
            if self.mode is None:
                self.push_mode(mode)
        self.frames.append(frame)

    def leave(self) -> Frame:
        """The innermost module is over; with the last, listening is."""
        return self._drop(self.frames[-1])

    def forget(self, session: Session | None = None) -> None:
        """Drops frames that are over without their hook (an interrupt, Ctrl-C, passes by it), and all of a
        recording that is left.
        """
        for frame in [one for one in reversed(self.frames) if one.session is session or not one.going.on]:
            self._drop(frame)
            self.grids = [grid for grid in self.grids if grid.frame is not frame]
            frame.log.cut.add(frame.name)
            if frame.outermost:
                frame.session.forward_over(frame.log)
        self._fall_silent()

    def push_mode(self, mode: TorchFunctionMode) -> None:
        """Starts listening in this thread."""
        self.mode = mode
        modes.push(mode)

    def drop_mode(self) -> None:
        """Stops listening in this thread."""
        if self.mode is not None and modes.remove(self.mode):
            self.mode = None

    def _drop(self, frame: Frame) -> Frame:
        frame.going.end()
        self.frames.remove(frame)
        self._fall_silent()
        return frame

    def _fall_silent(self) -> None:
        """Without frames nothing is listened to; a mode that is hearing a call goes with the next chance."""
        if self.frames:
            return
        self.inside = self.output = None
        self.folds.clear()
        self.products.clear()
        self.drop_mode()
        if self.mode is None:
            running.pop(threading.current_thread(), None)


running: dict[threading.Thread, Session] = {}
"""The threads that listen, each with the recording of its outermost frame."""
here = Thread()
