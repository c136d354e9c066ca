"""What the running modules say of the tensors inside them: the lengths they work on, the heads they have."""

from __future__ import annotations

from typing import NamedTuple

from attnscope.listen.frames import Frame, here
from attnscope.listen.layout import Lengths, head_counts


class Known(NamedTuple):
    """Lengths of the sequences at hand, and the numbers of heads that modules or config speak of."""

    lengths: Lengths
    counts: set[int]


def known_to(frame: Frame) -> Known:
    """What is known inside a frame: its own, and that of all modules around it."""
    frames = [one for one in reversed(here.frames) if one.session is frame.session]
    lengths = Lengths()
    for one in frames:
        lengths = lengths | one.noted.lengths
    config = getattr(frame.session.model, "config", None)
    return Known(lengths, head_counts([one.module for one in frames], config))
