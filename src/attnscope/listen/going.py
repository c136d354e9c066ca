"""Whether a call that was begun is still going on, by the Python stack of its thread."""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass, field
from types import FrameType


@dataclass(eq=False)
class Going:
    """A call, by the frame of its function, whose variables live as long as this is not told of its end."""

    frame: FrameType | None = field(repr=False)
    thread: int = field(default_factory=threading.get_ident)

    @property
    def on(self) -> bool:
        """Whether it has not returned, nor been left by an exception; any thread may ask."""
        if self.frame is None:
            return False
        mine = self.thread == threading.get_ident()
        at = sys._getframe() if mine else sys._current_frames().get(self.thread)
        while at is not None and at is not self.frame:
            at = at.f_back
        return at is not None

    def end(self) -> None:
        """It is over."""
        self.frame = None
